"""Files of releases. GitHub takes them at a host of their own, and gives them by links to a file store
(https://docs.github.com/en/rest/releases/assets)."""

import base64
import binascii
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from modules.github.shared import rest_client
from modules.github.shared.encodings import decode_text
from modules.github.shared.parameters import REPO, Id, Owner, Repo
from modules.github.shared.result_models import Confirmation
from modules.github.shared.text_pages import check_version, cut_page, parse_position
from modules.kit import Context, RawBody, ToolError, tool
from modules.kit.parameters import (
    ADD_HINTS,
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    ShortText,
    Title,
    limit_length,
)
from modules.kit.results import Count, Flag, Line, ListPage, Missable, Name, ResultModel, Text, Url, Word, read_object
from modules.kit.vendor import MAX_DOWNLOAD_BYTES

MAX_TEXT = 1_000_000
MAX_BASE64 = 3_000_000
"""Characters of a file to upload: what a call to this product may hold."""
FIRST_BYTES = 64 * 1024
"""Bytes by which a binary file shows that it is one, before the whole is fetched."""
NO_RELEASE = "no such release; it may be deleted already"
NO_ASSET = "no such file of a release; it may be deleted"

ReleaseId = Annotated[Id, Field(description="The release's id")]
AssetId = Annotated[Id, Field(description="The file's id")]


def _drop_usual(state: Any) -> Any:
    return "" if state == "uploaded" else state


class ReleaseAsset(ResultModel):
    """`state` is told where the upload did not end well."""

    id: Missable[int] = None
    name: Name
    label: Word = ""
    size: Count = 0
    content_type: Word = ""
    state: Annotated[Word, BeforeValidator(_drop_usual)] = ""
    download_count: Count = 0


class ReleaseAssets(ListPage):
    assets: list[ReleaseAsset]


class SavedAsset(ReleaseAsset):
    browser_download_url: Url


class AssetContents(ReleaseAsset):
    """`text` if the file is one. `binary` and `too_large` say why there is none; a person finds the file at
    `browser_download_url`."""

    size: int = 0
    browser_download_url: Url
    binary: Flag = False
    too_large: Flag = False
    text: Text = ""
    hidden: Count = 0
    truncated: Flag = False
    nextCursor: Word = ""  # noqa: N815


class _AssetVersion(ReleaseAsset):
    updated_at: Line
    digest: Word = ""


@tool(hints=READ_HINTS, scopes=[REPO])
async def list_release_assets(
    context: Context, owner: Owner, repo: Repo, release_id: ReleaseId, per_page: PerPage = 30, cursor: CursorText = None
) -> ReleaseAssets:
    """Files of a release."""
    address = rest_client.build_repository_path(owner, repo, "/releases/{}/assets", release_id)
    page = await rest_client.fetch_page(
        context, ReleaseAsset, address, cursor=cursor, per_page=per_page, missing=NO_RELEASE
    )
    return ReleaseAssets(assets=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[REPO])
async def get_release_asset(
    context: Context, owner: Owner, repo: Repo, asset_id: AssetId, cursor: CursorText = None
) -> AssetContents:
    """One file of a release, with its text if it is one."""
    position = parse_position(cursor)
    address = rest_client.build_repository_path(owner, repo, "/releases/assets/{}", asset_id)
    answer = await rest_client.send_request(context, "GET", address, missing=NO_ASSET)
    head, version = read_object(answer, AssetContents), read_object(answer, _AssetVersion)
    changes = version.digest or version.updated_at
    check_version(position, "the file", changes)
    content = await _fetch_content(context, address, head.size)
    if content is None:
        return head.model_copy(update={"too_large": True})
    decoded = decode_text(content)
    if decoded is None:
        return head.model_copy(update={"binary": True})
    page = cut_page(decoded.text, position, "the file", version=changes)
    return head.model_copy(update=page.__dict__)


async def _fetch_content(context: Context, address: str, size: int) -> bytes | None:
    """Fetch a file, or the beginning of one that is binary; None where it is too large to be read."""
    options: dict[str, Any] = {"headers": {"Accept": "application/octet-stream"}, "missing": NO_ASSET}
    part = await rest_client.fetch_file_part(context, address, limit=FIRST_BYTES, **options)
    if part.next_offset is None or b"\0" in part.content:
        return part.content
    if size > MAX_DOWNLOAD_BYTES:
        return None
    whole = await rest_client.fetch_file_part(context, address, limit=MAX_DOWNLOAD_BYTES, **options)
    return whole.content if whole.next_offset is None else None


@tool(hints=ADD_HINTS, scopes=[REPO])
async def upload_release_asset(
    context: Context,
    owner: Owner,
    repo: Repo,
    release_id: ReleaseId,
    name: Annotated[Title, Field(description="File name")],
    text: Annotated[
        OptionalParameter[Annotated[str, limit_length(1, MAX_TEXT)]],
        Field(description="Content, 1M characters"),
    ] = None,
    content_base64: Annotated[
        OptionalParameter[Annotated[str, limit_length(1, MAX_BASE64)]],
        Field(description="Or as base64, 3M characters"),
    ] = None,
    content_type: Annotated[OptionalParameter[Title], Field(description="Media type")] = None,
    label: Annotated[OptionalParameter[ShortText], Field(description="Shown instead of name")] = None,
) -> SavedAsset:
    """Add a file to a release. GitHub may change odd characters of its name."""
    media_type = content_type or ("application/octet-stream" if text is None else "text/plain; charset=utf-8")
    body = RawBody(_decode_content(text, content_base64), media_type)
    address = rest_client.build_repository_path(owner, repo, "/releases/{}/assets", release_id)
    return await rest_client.fetch_one(
        context, SavedAsset, address, method="POST", query={"name": name, "label": label}, body=body,
        host=rest_client.UPLOADS, missing=NO_RELEASE,
    )  # fmt: skip


def _decode_content(text: str | None, content_base64: str | None) -> bytes:
    if (text is None) == (content_base64 is None):
        raise ToolError("give either text or content_base64")
    if text is not None:
        return text.encode()
    try:
        content = base64.b64decode("".join((content_base64 or "").split()), validate=True)
    except binascii.Error:
        raise ToolError("content_base64 is no base64") from None
    if not content:
        raise ToolError("content_base64 is empty: GitHub takes no file without content")
    return content


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def update_release_asset(
    context: Context,
    owner: Owner,
    repo: Repo,
    asset_id: AssetId,
    name: Annotated[OptionalParameter[Title], Field(description="File name")] = None,
    label: Annotated[OptionalParameter[ShortText], Field(description="Shown instead of name")] = None,
) -> SavedAsset:
    """Rename a file of a release."""
    fields = {"name": name, "label": label}
    rest_client.require_change(fields)
    address = rest_client.build_repository_path(owner, repo, "/releases/assets/{}", asset_id)
    return await rest_client.fetch_one(context, SavedAsset, address, method="PATCH", json=fields, missing=NO_ASSET)


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def delete_release_asset(context: Context, owner: Owner, repo: Repo, asset_id: AssetId) -> Confirmation:
    """Delete a file of a release."""
    address = rest_client.build_repository_path(owner, repo, "/releases/assets/{}", asset_id)
    return await rest_client.fetch_confirmation(context, "DELETE", address, missing=NO_ASSET)


TOOLS = (
    list_release_assets,
    get_release_asset,
    upload_release_asset,
    update_release_asset,
    delete_release_asset,
)
