"""Repositories, their commits, branches and releases."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import Field, model_validator

from modules.github import rest_client
from modules.github.parameters import REPO, Owner, Path, Ref, Repo
from modules.github.result_models import FilePatch
from modules.kit import Context, ToolError, tool
from modules.kit.parameters import (
    ADD_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    ShortText,
    Timestamp,
    format_timestamp,
    limit_length,
)
from modules.kit.results import Flag, Line, ListPage, ResultModel, Word, fit_texts, read_at, read_part

Affiliation = Literal["owner", "collaborator", "organization_member"]
_SHA_LENGTHS = (40, 64)


class Repository(ResultModel):
    full_name: Line
    private: bool
    description: Word = ""
    default_branch: Word = ""
    language: Word = ""
    archived: Flag = False
    fork: Flag = False
    pushed_at: Word = ""


class Repositories(ListPage):
    repositories: list[Repository]


class ListedCommit(ResultModel):
    longest = {"message": 500}  # noqa: RUF012

    sha: Line
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
    longest = {"message": 20_000}  # noqa: RUF012


class Commits(ListPage):
    commits: list[ListedCommit]


class CommitDetail(ListPage):
    commit: Commit
    files: list[FilePatch]


class Branch(ResultModel):
    name: Line
    sha: Annotated[Line, read_at("commit", "sha")]
    protected: Flag = False


class Branches(ListPage):
    branches: list[Branch]


class NewBranch(ResultModel):
    ref: Line
    sha: Annotated[Line, read_at("object", "sha")]


class Release(ResultModel):
    longest = {"body": 20_000}  # noqa: RUF012
    markdown_fields = frozenset({"body"})

    tag_name: Line
    name: Word = ""
    body: str
    published_at: Word = ""
    prerelease: Flag = False
    html_url: Line
    truncated: Flag = False


@tool(hints=READ_HINTS, scopes=[REPO])
async def list_repositories(
    context: Context,
    visibility: Annotated[Literal["all", "public", "private"], Field(description="Which")] = "all",
    affiliation: Annotated[
        OptionalParameter[Annotated[list[Affiliation], limit_length(maximum=3)]], Field(description="Your part")
    ] = None,
    sort: Annotated[Literal["created", "updated", "pushed", "full_name"], Field(description="Order")] = "pushed",
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> Repositories:
    """Repositories of the connected account."""
    query = {"visibility": visibility, "affiliation": ",".join(affiliation) if affiliation else None, "sort": sort}
    page = await rest_client.fetch_page(
        context, Repository, "/user/repos", query=query, cursor=cursor, per_page=per_page
    )
    return Repositories(repositories=page.rows, **page.fields)


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
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> CommitDetail:
    """One commit with its files and patches."""
    address = f"{rest_client.build_repository_path(owner, repo)}/commits/{rest_client.encode_segments(ref)}"
    page = await rest_client.fetch_page(context, FilePatch, address, field="files", cursor=cursor, per_page=per_page)
    commit = read_part(page.answer, Commit, page.document)
    return CommitDetail(commit=commit, files=fit_texts(page.rows, "patch"), **page.fields)


@tool(hints=READ_HINTS, scopes=[REPO])
async def list_branches(
    context: Context,
    owner: Owner,
    repo: Repo,
    protected: Annotated[OptionalParameter[bool], Field(description="Only protected, or only others")] = None,
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> Branches:
    """Branches with their newest commits."""
    address = rest_client.build_repository_path(owner, repo) + "/branches"
    query = {"protected": protected}
    page = await rest_client.fetch_page(context, Branch, address, query=query, cursor=cursor, per_page=per_page)
    return Branches(branches=page.rows, **page.fields)


@tool(hints=ADD_HINTS, scopes=[REPO])
async def create_branch(
    context: Context,
    owner: Owner,
    repo: Repo,
    branch: Annotated[Ref, Field(description="New name")],
    from_ref: Annotated[Ref, Field(description="Branch, tag or SHA to start at")] = "HEAD",
) -> NewBranch:
    """Create a branch, of the default branch if nothing else is said."""
    sha = await _resolve_sha(context, owner, repo, from_ref)
    body = {"ref": f"refs/heads/{branch}", "sha": sha}
    return await rest_client.fetch_one(
        context, NewBranch, rest_client.build_repository_path(owner, repo) + "/git/refs", method="POST", json=body
    )


@tool(hints=READ_HINTS, scopes=[REPO])
async def get_latest_release(context: Context, owner: Owner, repo: Repo) -> Release:
    """The newest published release that is no draft or prerelease."""
    missing = "the repository has no published release, does not exist, or the connected account may not see it"
    return await rest_client.fetch_one(
        context, Release, rest_client.build_repository_path(owner, repo) + "/releases/latest", missing=missing
    )


async def _resolve_sha(context: Context, owner: str, repo: str, ref: str) -> str:
    """Resolve the commit that a branch, tag or SHA stands for; this media type answers with nothing else."""
    address = f"{rest_client.build_repository_path(owner, repo)}/commits/{rest_client.encode_segments(ref)}"
    missing = "no such repository, or it has no branch, tag or commit of that name"
    answer = await rest_client.send_request(
        context, "GET", address, headers={"Accept": "application/vnd.github.sha"}, missing=missing
    )
    sha = answer.body.decode("ascii", "replace").strip()
    if len(sha) not in _SHA_LENGTHS:
        raise ToolError("GitHub did not say which commit that is; give a SHA or a branch")
    return sha


TOOLS = (list_repositories, list_commits, get_commit, list_branches, create_branch, get_latest_release)
