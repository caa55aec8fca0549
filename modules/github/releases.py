"""Releases and their notes."""

from typing import Annotated

from pydantic import Field

from modules.github.release_assets import NO_RELEASE, ReleaseAsset, ReleaseId
from modules.github.shared import rest_client
from modules.github.shared.parameters import REPO, Id, Owner, Ref, Repo
from modules.github.shared.result_models import Confirmation
from modules.github.shared.text_pages import PAGE_CHARACTERS, cut_page, parse_position
from modules.kit import Context, ToolError, tool
from modules.kit.parameters import (
    ADD_HINTS,
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    ShortText,
    limit_length,
)
from modules.kit.results import Flag, Line, ListPage, Missable, ResultModel, Text, Url, Word, read_each
from modules.kit.text_cleaning import clean_text

MAX_NOTES = 125_000
"""Characters of a release's notes: GitHub's own limit."""

Notes = Annotated[
    OptionalParameter[Annotated[str, limit_length(maximum=MAX_NOTES)]], Field(description="Notes, Markdown")
]
Target = Annotated[OptionalParameter[Ref], Field(description="Branch or SHA for a new tag")]
ReleaseTitle = Annotated[OptionalParameter[ShortText], Field(description="Title")]
Prerelease = Annotated[OptionalParameter[bool], Field(description="Not for production")]


class ListedRelease(ResultModel):
    id: Missable[int] = None
    tag_name: Line
    name: Word = ""
    published_at: Word = ""
    draft: Flag = False
    prerelease: Flag = False


class Release(ListedRelease):
    longest = {"body": MAX_NOTES}  # noqa: RUF012
    markdown_fields = frozenset({"body"})

    html_url: Url
    assets: Annotated[list[ReleaseAsset], read_each(ReleaseAsset), Field(exclude_if=lambda assets: not assets)] = []  # noqa: RUF012
    body: Text = ""
    truncated: Flag = False
    nextCursor: Word = ""  # noqa: N815


class Releases(ListPage):
    releases: list[ListedRelease]


class SavedRelease(ResultModel):
    id: Missable[int] = None
    tag_name: Line
    html_url: Url


@tool(hints=READ_HINTS, scopes=[REPO])
async def list_releases(
    context: Context, owner: Owner, repo: Repo, per_page: PerPage = 30, cursor: CursorText = None
) -> Releases:
    """Releases, newest first."""
    address = rest_client.build_repository_path(owner, repo, "/releases")
    page = await rest_client.fetch_page(context, ListedRelease, address, cursor=cursor, per_page=per_page)
    return Releases(releases=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[REPO])
async def get_latest_release(context: Context, owner: Owner, repo: Repo, cursor: CursorText = None) -> Release:
    """The newest published release that is no draft or prerelease."""
    missing = "the repository has no published release, does not exist, or the connected account may not see it"
    return await _fetch_release(
        context, rest_client.build_repository_path(owner, repo, "/releases/latest"), missing, cursor
    )


@tool(hints=READ_HINTS, scopes=[REPO])
async def get_release(
    context: Context,
    owner: Owner,
    repo: Repo,
    tag: Annotated[OptionalParameter[Ref], Field(description="Its tag")] = None,
    release_id: Annotated[OptionalParameter[Id], Field(description="Or its id")] = None,
    cursor: CursorText = None,
) -> Release:
    """A release with its notes and assets, by tag or id: else the latest."""
    if tag is not None and release_id is not None:
        raise ToolError("give either tag or release_id")
    if tag is not None:
        address = f"{rest_client.build_repository_path(owner, repo)}/releases/tags/{rest_client.encode_segments(tag)}"
    else:
        address = rest_client.build_repository_path(owner, repo, "/releases/{}", release_id or "latest")
    return await _fetch_release(context, address, "no such release; a draft is found by its id only", cursor)


async def _fetch_release(context: Context, address: str, missing: str, cursor: str | None) -> Release:
    """Fetch a release with the page of its notes that `cursor` names."""
    position = parse_position(cursor)
    release = await rest_client.fetch_one(context, Release, address, missing=missing)
    body = release.body
    if not position.offset and len(body) <= PAGE_CHARACTERS and clean_text(body) == body:
        return release  # most notes: the model of a page, and a copy of this one, cost as much as reading it
    page = cut_page(body, position, "the release's body")
    notes = {"body": page.text, "truncated": page.truncated, "nextCursor": page.nextCursor}
    return release.model_copy(update=notes)


@tool(hints=ADD_HINTS, scopes=[REPO])
async def create_release(
    context: Context,
    owner: Owner,
    repo: Repo,
    tag_name: Annotated[Ref, Field(description="Tag, made where it is new")],
    target_commitish: Target = None,
    name: ReleaseTitle = None,
    body: Notes = None,
    draft: Annotated[bool, Field(description="Only for maintainers")] = False,
    prerelease: Prerelease = None,
    generate_release_notes: Annotated[bool, Field(description="Add GitHub's notes to body")] = False,
) -> SavedRelease:
    """Publish a release, with its tag."""
    fields = {
        "tag_name": tag_name,
        "target_commitish": target_commitish,
        "name": name,
        "body": body,
        "draft": draft,
        "prerelease": prerelease,
        "generate_release_notes": generate_release_notes or None,
    }
    address = rest_client.build_repository_path(owner, repo, "/releases")
    return await rest_client.fetch_one(context, SavedRelease, address, method="POST", json=fields)


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def update_release(
    context: Context,
    owner: Owner,
    repo: Repo,
    release_id: ReleaseId,
    tag_name: Annotated[OptionalParameter[Ref], Field(description="Tag")] = None,
    name: ReleaseTitle = None,
    body: Notes = None,
    draft: Annotated[OptionalParameter[bool], Field(description="False publishes it")] = None,
    prerelease: Prerelease = None,
) -> SavedRelease:
    """Change a release: only what is given."""
    fields = {"tag_name": tag_name, "name": name, "body": body, "draft": draft, "prerelease": prerelease}
    rest_client.require_change(fields)
    address = rest_client.build_repository_path(owner, repo, "/releases/{}", release_id)
    return await rest_client.fetch_one(context, SavedRelease, address, method="PATCH", json=fields, missing=NO_RELEASE)


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def delete_release(context: Context, owner: Owner, repo: Repo, release_id: ReleaseId) -> Confirmation:
    """Delete a release and its assets; its tag stays."""
    address = rest_client.build_repository_path(owner, repo, "/releases/{}", release_id)
    return await rest_client.fetch_confirmation(context, "DELETE", address, missing=NO_RELEASE)


TOOLS = (
    list_releases,
    get_latest_release,
    get_release,
    create_release,
    update_release,
    delete_release,
)
