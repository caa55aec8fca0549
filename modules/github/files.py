"""Files and folders of a repository."""

import base64
import binascii
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, cast

from pydantic import Field

from modules.github.shared import rest_client
from modules.github.shared.encodings import UTF_8, decode_text
from modules.github.shared.parameters import REPO, WORKFLOW, FilePath, Owner, Path, Ref, Repo, Sha
from modules.github.shared.text_pages import Position, check_version, cut_page, parse_position
from modules.kit import Context, ToolError, VendorAnswer, VendorProblem, tool
from modules.kit.cursors import encode_cursor
from modules.kit.parameters import ACTION_HINTS, READ_HINTS, CursorText, OptionalParameter, limit_length
from modules.kit.result_texts import TextResult
from modules.kit.results import (
    Count,
    Flag,
    Line,
    ListPage,
    Name,
    OptionalIdentifier,
    OptionalUrl,
    ResultModel,
    Text,
    Word,
    read_at,
    read_part,
    read_rows,
)

RAW = {"Accept": "application/vnd.github.raw+json"}
"""The media type for the bytes of a file up to 100 MB."""
PAGE_ENTRIES = 500
MAX_ENCODED_LENGTH = (
    2_000_000  # characters of base64 with line breaks: 1 MB, the most of which GitHub sends the content
)
MISSING = "no such repository, branch or path, or the connected account may not see it: look at the folder above"
GITHUB_MAX_ENTRIES = 1000  # GitHub leaves out the rest of a folder without a word

Message = Annotated[str, limit_length(1, 10_000), Field(description="Commit message")]
Branch = Annotated[OptionalParameter[Ref], Field(description="If not the default")]


class FolderEntry(ResultModel):
    name: Name
    type: Line
    size: Count = 0


class _ContentsHead(ListPage):
    type: Line
    path: Name = ""
    sha: OptionalIdentifier = ""
    size: int = 0
    target: Word = ""
    url: Annotated[OptionalUrl, read_at("html_url")] = ""


class Contents(TextResult, _ContentsHead):
    """`text` is a file's content less `hidden` invisible characters; a file that is binary or too large has none."""

    text_field = "text"

    text: Text = ""
    encoding: Word = ""
    hidden: Count = 0
    binary: Flag = False
    too_large: Flag = False
    truncated: Flag = False
    entries: Annotated[list[FolderEntry], Field(exclude_if=lambda entries: not entries)] = []  # noqa: RUF012


class VendorFile(NamedTuple):
    """A file and its bytes; None where they are more than is read of one answer."""

    path: str
    size: int
    content: bytes | None


class FileCommit(ResultModel):
    commit: Annotated[Line, read_at("commit", "sha")]
    sha: Annotated[OptionalIdentifier, read_at("content", "sha")] = ""


@tool(hints=READ_HINTS, scopes=[REPO], keywords="open, source code, readme")
async def get_file_contents(
    context: Context,
    owner: Owner,
    repo: Repo,
    path: Annotated[Path, Field(description="File or folder")] = "",
    ref: Annotated[OptionalParameter[Ref], Field(description="Branch, tag or SHA")] = None,
    with_url: Annotated[bool, Field(description="Also the address of its page")] = False,
    cursor: CursorText = None,
) -> Contents:
    """A text file, or what is in a folder."""
    position = parse_position(cursor)
    address = build_address(owner, repo, path)
    answer = await rest_client.send_request(context, "GET", address, query={"ref": ref}, missing=MISSING)
    raw = answer.json()
    if isinstance(raw, list):
        return await _build_folder_page(answer, path, cast("list[Any]", raw), position.offset)
    head = _read_head(answer, raw)
    if not with_url:
        head = head.model_copy(update={"url": ""})
    if head.type != "file":
        return Contents(**_get_fields(head))
    check_version(position, "the file", head.sha)
    return _build_file_page(head, await _read_content(context, answer, raw, address, ref), position)


@tool(hints=ACTION_HINTS, scopes=[REPO, WORKFLOW], keywords="save, write, edit")
async def create_or_update_file(
    context: Context,
    owner: Owner,
    repo: Repo,
    path: Annotated[FilePath, Field(description="File")],
    message: Message,
    content: Annotated[str, limit_length(maximum=1_000_000), Field(description="Whole new text, 1M characters")],
    branch: Branch = None,
    sha: Annotated[OptionalParameter[Sha], Field(description="The file's, to replace it")] = None,
) -> FileCommit:
    """Commit one text file, new or replaced."""
    encoded = base64.b64encode(content.encode()).decode()
    body = {"message": message, "content": encoded, "branch": branch, "sha": sha}
    return await rest_client.fetch_one(context, FileCommit, build_address(owner, repo, path), method="PUT", json=body)


@tool(hints=ACTION_HINTS, scopes=[REPO, WORKFLOW])
async def delete_file(
    context: Context,
    owner: Owner,
    repo: Repo,
    path: Annotated[FilePath, Field(description="File")],
    message: Message,
    sha: Annotated[Sha, Field(description="The file's")],
    branch: Branch = None,
) -> FileCommit:
    """Commit the removal of a file."""
    body = {"message": message, "sha": sha, "branch": branch}
    return await rest_client.fetch_one(
        context, FileCommit, build_address(owner, repo, path), method="DELETE", json=body
    )


async def fetch_file(context: Context, address: str, *, missing: str = MISSING) -> VendorFile:
    """Fetch a file whole.

    Raises:
        ToolError: it is no file, or GitHub refused it.
    """
    answer = await rest_client.send_request(context, "GET", address, missing=missing)
    raw = answer.json()
    if isinstance(raw, list):
        raise ToolError("path is a folder: name a file in it")
    head = _read_head(answer, raw)
    if head.type != "file":
        raise ToolError("path is a link or a submodule: name a file")
    return VendorFile(head.path, head.size, await _read_content(context, answer, raw, address, None))


def build_address(owner: str, repo: str, path: str) -> str:
    """Build the address of a file or folder; "" is the root."""
    return (
        f"{rest_client.build_repository_path(owner, repo)}/contents/{rest_client.encode_segments(path) if path else ''}"
    )


def _read_head(answer: VendorAnswer, raw: Any) -> _ContentsHead:
    head = read_part(answer, _ContentsHead, raw)
    if not head.type:
        raise answer.build_unreadable_problem()
    return head


async def _read_content(
    context: Context, answer: VendorAnswer, raw: Mapping[str, Any], address: str, ref: str | None
) -> bytes | None:
    """Read the bytes of the file in an answer, or fetch them where GitHub left them out."""
    content = _decode_content(answer, raw)
    return await _fetch_raw(context, address, ref, _read_head(answer, raw).size) if content is None else content


def _build_file_page(head: _ContentsHead, content: bytes | None, position: Position) -> Contents:
    """Build the page of a file's text that begins at `position`; `content` is None where it is too large."""
    text = None if content is None else decode_text(content)
    if text is None:
        return Contents(**_get_fields(head), binary=content is not None, too_large=content is None)
    page = cut_page(text.text, position, "the file", version=head.sha)
    encoding = "" if text.encoding == UTF_8 else text.encoding
    return Contents.model_validate({**_get_fields(head), **page.__dict__, "encoding": encoding})


def _get_fields(head: _ContentsHead) -> dict[str, Any]:
    """Return the fields of a head as a model that is read from GitHub's JSON takes them."""
    return {**head.__dict__, "html_url": head.url}


def _decode_content(answer: VendorAnswer, raw: Mapping[str, Any]) -> bytes | None:
    """Decode the file's bytes; None where GitHub left them out, as it does above 1 MB."""
    if raw.get("encoding") != "base64":
        return None
    try:
        return base64.b64decode(raw["content"]) if len(raw["content"]) <= MAX_ENCODED_LENGTH else None
    except (KeyError, TypeError, ValueError, binascii.Error):
        raise answer.build_unreadable_problem() from None


async def _fetch_raw(context: Context, address: str, ref: str | None, size: int) -> bytes | None:
    """Fetch the `size` bytes of a file above 1 MB; None where they are more than is read of one answer.

    Raises:
        VendorProblem: GitHub refused it, or the answer is not this file.
    """
    try:
        answer = await rest_client.send_request(context, "GET", address, query={"ref": ref}, headers=RAW)
    except VendorProblem as problem:
        if problem.kind == "too_large":
            return None
        raise
    if len(answer.body) != size:
        raise answer.build_unreadable_problem()
    return answer.body


async def _build_folder_page(answer: VendorAnswer, path: str, raw: list[Any], start: int) -> Contents:
    end = start + PAGE_ENTRIES
    is_truncated = len(raw) > end
    read = await read_rows(answer, FolderEntry, raw[start:end])
    return Contents(
        type="dir",
        path=path,
        entries=read.rows,
        unreadable=read.unreadable,
        truncated=is_truncated or len(raw) >= GITHUB_MAX_ENTRIES,
        nextCursor=encode_cursor([end, ""]) if is_truncated else "",
    )


TOOLS = (get_file_contents, create_or_update_file, delete_file)
