"""Branches and tags."""

from typing import Annotated

from pydantic import Field

from modules.github.shared import rest_client
from modules.github.shared.parameters import REPO, Owner, Ref, Repo
from modules.github.shared.result_models import Confirmation
from modules.kit import Context, ToolError, tool
from modules.kit.parameters import ADD_HINTS, CHANGE_HINTS, READ_HINTS, CursorText, OptionalParameter, PerPage
from modules.kit.results import Flag, Identifier, Line, ListPage, ResultModel, read_at

_SHA_LENGTHS = (40, 64)


class Branch(ResultModel):
    name: Line
    sha: Annotated[Identifier, read_at("commit", "sha")]
    protected: Flag = False


class Branches(ListPage):
    branches: list[Branch]


class Tag(ResultModel):
    name: Line
    sha: Annotated[Identifier, read_at("commit", "sha")]


class Tags(ListPage):
    tags: list[Tag]


class NewBranch(ResultModel):
    ref: Line
    sha: Annotated[Identifier, read_at("object", "sha")]


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
    """Create a branch, from the default branch if from_ref is left out."""
    sha = await _resolve_sha(context, owner, repo, from_ref)
    body = {"ref": f"refs/heads/{branch}", "sha": sha}
    return await rest_client.fetch_one(
        context, NewBranch, rest_client.build_repository_path(owner, repo) + "/git/refs", method="POST", json=body
    )


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def delete_branch(
    context: Context, owner: Owner, repo: Repo, branch: Annotated[Ref, Field(description="Name")]
) -> Confirmation:
    """Delete a branch. Open pull requests from it are closed."""
    address = f"{rest_client.build_repository_path(owner, repo)}/git/refs/heads/{rest_client.encode_segments(branch)}"
    return await rest_client.fetch_confirmation(context, "DELETE", address)


@tool(hints=READ_HINTS, scopes=[REPO])
async def list_tags(
    context: Context, owner: Owner, repo: Repo, per_page: PerPage = 30, cursor: CursorText = None
) -> Tags:
    """Tags with their commits."""
    address = rest_client.build_repository_path(owner, repo, "/tags")
    page = await rest_client.fetch_page(context, Tag, address, cursor=cursor, per_page=per_page)
    return Tags(tags=page.rows, **page.fields)


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


TOOLS = (list_branches, create_branch, delete_branch, list_tags)
