"""Repositories and what is in them."""

from typing import Annotated, Any, Literal

from pydantic import Field

from modules.github.shared import rest_client
from modules.github.shared.parameters import REPO, Owner, Path, Ref, Repo
from modules.github.shared.text_pages import check_version, parse_position
from modules.kit import Context, ToolError, VendorAnswer, tool
from modules.kit.cursors import encode_cursor
from modules.kit.parameters import (
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    limit_length,
)
from modules.kit.results import (
    Flag,
    Identifier,
    Line,
    ListPage,
    Name,
    OptionalIdentifier,
    ResultModel,
    Word,
    read_object,
    read_rows,
)

Affiliation = Literal["owner", "collaborator", "organization_member"]
PAGE_PATHS = 1000
_MARKS = {"120000": "symlink", "160000": "submodule"}


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


class _TreeEntry(ResultModel):
    path: Name
    mode: Line = ""
    type: Line = ""
    sha: OptionalIdentifier = ""


class _Tree(ResultModel):
    sha: Identifier
    truncated: Flag = False


class RepositoryTree(ListPage):
    """`shas` are of the files in `paths`, in their order. `truncated`: GitHub left some out; ask for a folder."""

    sha: Identifier
    paths: list[str]
    shas: Annotated[list[str], Field(exclude_if=lambda shas: not shas)] = []  # noqa: RUF012
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
async def get_repository_tree(
    context: Context,
    owner: Owner,
    repo: Repo,
    ref: Annotated[Ref, Field(description="Branch, tag or SHA")] = "HEAD",
    path: Annotated[Path, Field(description="Folder; default all")] = "",
    recursive: Annotated[bool, Field(description="With folders inside")] = True,
    with_shas: Annotated[bool, Field(description="Also the SHA of each")] = False,
    cursor: CursorText = None,
) -> RepositoryTree:
    """Paths of files, below a folder. Folders end with /."""
    position = parse_position(cursor)
    sha = ref
    for name in path.split("/") if path else ():
        sha = await _find_folder(context, owner, repo, sha, name)
    answer = await _fetch_tree(context, owner, repo, sha, recursive=recursive)
    tree, entries = read_object(answer, _Tree), _list_entries(answer)
    check_version(position, "the tree", tree.sha)
    end = position.offset + PAGE_PATHS
    read = await read_rows(answer, _TreeEntry, entries[position.offset : end])
    listed = [(text, entry.sha) for entry in read.rows if (text := _format_entry(entry, recursive=recursive))]
    return RepositoryTree(
        sha=tree.sha,
        paths=[path for path, _ in listed],
        shas=[sha for _, sha in listed] if with_shas else [],
        truncated=tree.truncated,
        unreadable=read.unreadable,
        nextCursor=encode_cursor([end, tree.sha]) if len(entries) > end else "",
    )


async def _fetch_tree(context: Context, owner: str, repo: str, ref: str, *, recursive: bool) -> VendorAnswer:
    address = f"{rest_client.build_repository_path(owner, repo)}/git/trees/{rest_client.encode_segments(ref)}"
    # Any value makes it recursive, "false" too.
    query = {"recursive": 1 if recursive else None}
    missing = "no such repository, or it has no branch, tag or commit of that name"
    return await rest_client.send_request(context, "GET", address, query=query, missing=missing)


def _list_entries(answer: VendorAnswer) -> list[Any]:
    return answer.read_part(list[Any], answer.read(dict[str, Any]).get("tree"))


async def _find_folder(context: Context, owner: str, repo: str, ref: str, name: str) -> str:
    """Find the SHA of a folder by its name in the folder above.

    Raises:
        ToolError: there is no such folder.
    """
    answer = await _fetch_tree(context, owner, repo, ref, recursive=False)
    read = await read_rows(answer, _TreeEntry, _list_entries(answer))
    found = next((entry.sha for entry in read.rows if entry.path == name and entry.type == "tree"), "")
    if not found:
        raise ToolError(f"path: there is no folder {name}; names are case-sensitive")
    return found


def _format_entry(entry: _TreeEntry, *, recursive: bool) -> str:
    """Format an entry; "" for a folder whose files are listed anyway."""
    if entry.type == "tree":
        return "" if recursive else f"{entry.path}/"
    mark = _MARKS.get(entry.mode, "")
    return f"{entry.path} ({mark})" if mark else entry.path


TOOLS = (list_repositories, get_repository_tree)
