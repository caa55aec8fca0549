"""Commits, their files, and changes as diffs."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import Field, model_validator

from modules.github.shared import rest_client
from modules.github.shared.parameters import REPO, Owner, Path, Ref, Repo
from modules.github.shared.result_models import FilePatch, drop_patch
from modules.kit import Context, tool
from modules.kit.parameters import (
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    ShortText,
    Timestamp,
    format_timestamp,
)
from modules.kit.results import Flag, Identifier, ListPage, ResultModel, Word, fit_texts, read_at, read_part


class ListedCommit(ResultModel):
    longest = {"message": 500}  # noqa: RUF012

    sha: Identifier
    message: str
    author: Annotated[Word, read_at("commit", "author", "name")] = ""
    login: Annotated[Word, read_at("author", "login")] = ""
    date: Annotated[Word, read_at("commit", "author", "date")] = ""
    truncated: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _cut(cls, raw: Any) -> Any:
        inner = cast("Any", raw).get("commit") if isinstance(raw, Mapping) else None
        message = cast("Any", inner).get("message") if isinstance(inner, Mapping) else None
        return super()._cut({**raw, "message": message}) if isinstance(raw, Mapping) else raw  # pyright: ignore


class Commit(ListedCommit):
    longest = {"message": 100_000}  # noqa: RUF012


class Commits(ListPage):
    commits: list[ListedCommit]


class CommitDetail(ListPage):
    commit: Commit
    files: Annotated[list[FilePatch], Field(exclude_if=lambda files: not files)] = []  # noqa: RUF012


@tool(hints=READ_HINTS, scopes=[REPO])
async def list_commits(
    context: Context,
    owner: Owner,
    repo: Repo,
    sha: Annotated[OptionalParameter[Ref], Field(description="Branch, tag or SHA")] = None,
    path: Annotated[OptionalParameter[Path], Field(description="Only of this file")] = None,
    author: Annotated[OptionalParameter[ShortText], Field(description="Login or email")] = None,
    since: Annotated[Timestamp, Field(description="From")] = None,
    until: Annotated[Timestamp, Field(description="To")] = None,
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> Commits:
    """Commits, newest first."""
    query = {
        "sha": sha,
        "path": path,
        "author": author,
        "since": format_timestamp(since),
        "until": format_timestamp(until),
    }
    address = rest_client.build_repository_path(owner, repo) + "/commits"
    page = await rest_client.fetch_page(context, ListedCommit, address, query=query, cursor=cursor, per_page=per_page)
    return Commits(commits=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[REPO])
async def get_commit(
    context: Context,
    owner: Owner,
    repo: Repo,
    ref: Annotated[Ref, Field(description="SHA, branch or tag")],
    detail: Annotated[Literal["none", "stats", "patch"], Field(description="Of its files")] = "stats",
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> CommitDetail:
    """One commit, with its files and how many lines of each changed."""
    address = f"{rest_client.build_repository_path(owner, repo)}/commits/{rest_client.encode_segments(ref)}"
    page = await rest_client.fetch_page(
        context, FilePatch, address, field="files", cursor=cursor, per_page=1 if detail == "none" else per_page
    )
    commit = read_part(page.answer, Commit, page.document)
    if detail == "none":
        return CommitDetail(commit=commit)
    shown = fit_texts(page.rows, "patch") if detail == "patch" else [drop_patch(file) for file in page.rows]
    return CommitDetail(commit=commit, files=shown, **page.fields)


TOOLS = (list_commits, get_commit)
