"""Changes as unified diffs."""

from typing import Annotated, NamedTuple

from pydantic import Field

from modules.github.shared import rest_client
from modules.github.shared.parameters import REPO, FilePath, Owner, Ref, Repo
from modules.github.shared.text_pages import TextPage, compute_version, cut_page, parse_position
from modules.kit import Context, ToolError, build_path, tool
from modules.kit.parameters import READ_HINTS, CursorText, OptionalParameter, Positive

DIFF = {"Accept": "application/vnd.github.diff"}
BEGINNING = "diff --git "
"""Of each file's part; the lines of a file never begin so, as each has a sign before it."""
MAX_FILES = 20_000
"""Of a diff that are looked at: more than GitHub ever puts into one."""


class VendorDiff(NamedTuple):
    """A diff, and the bytes that it came as."""

    text: str
    body: bytes


@tool(hints=READ_HINTS, scopes=[REPO])
async def get_diff(
    context: Context,
    owner: Owner,
    repo: Repo,
    pull_number: Annotated[OptionalParameter[Positive], Field(description="Of a pull request")] = None,
    ref: Annotated[OptionalParameter[Ref], Field(description="Or of this commit")] = None,
    base: Annotated[OptionalParameter[Ref], Field(description="From this to ref")] = None,
    path: Annotated[OptionalParameter[FilePath], Field(description="Only this file")] = None,
    cursor: CursorText = None,
) -> TextPage:
    """Unified diff of a pull request, a commit, or between two refs."""
    position = parse_position(cursor)
    address = _build_address(owner, repo, pull_number, ref, base)
    diff = await fetch_diff(context, address)
    part = diff.text if path is None else _extract_file(diff.text, path)
    return cut_page(part, position, "the diff", version=compute_version(diff.body))


async def fetch_diff(context: Context, address: str) -> VendorDiff:
    """Fetch a diff whole, not cleaned.

    Raises:
        VendorProblem: GitHub refused it, or the answer is no diff.
    """
    answer = await rest_client.send_request(context, "GET", address, headers=DIFF)
    diff = answer.body.decode("utf-8", "replace")
    if diff and not diff.startswith(BEGINNING):
        raise answer.build_unreadable_problem()
    return VendorDiff(diff, answer.body)


def _build_address(owner: str, repo: str, pull_number: int | None, ref: str | None, base: str | None) -> str:
    if (pull_number is None) == (ref is None):
        raise ToolError("give either pull_number or ref")
    if pull_number is not None:
        if base is not None:
            raise ToolError("base: a pull request has its own; leave base out, or give ref instead of pull_number")
        return rest_client.build_repository_path(owner, repo, "/pulls/{}", pull_number)
    repository = rest_client.build_repository_path(owner, repo)
    if base is not None:
        return repository + build_path("/compare/{}", f"{base}...{ref}")
    return f"{repository}/commits/{rest_client.encode_segments(ref or '')}"


def _extract_file(diff: str, path: str) -> str:
    """Extract the part of a diff that is about one file, under its old or its new name.

    Raises:
        ToolError: there is none.
    """
    beginnings = tuple(f"{BEGINNING}{name} " for name in (f"a/{path}", _quote_name(f"a/{path}")))
    endings = tuple(f" {name}" for name in (f"b/{path}", _quote_name(f"b/{path}")))
    start = 0
    for _ in range(MAX_FILES):
        header = diff[start : diff.find("\n", start)]
        following = diff.find(f"\n{BEGINNING}", start) + 1
        if header.startswith(beginnings) or header.endswith(endings):
            return diff[start:following] if following else diff[start:]
        if not following:
            break
        start = following
    raise ToolError("path: the diff has no such file; names are case-sensitive")


def _quote_name(name: str) -> str:
    """Quote a name as git does where it has characters beyond printable ASCII (git-config, core.quotePath)."""
    return '"' + "".join(_escape_byte(byte) for byte in name.encode()) + '"'


def _escape_byte(byte: int) -> str:
    if byte in b'"\\':
        return f"\\{byte:c}"
    return f"{byte:c}" if 0x20 <= byte < 0x7F else f"\\{byte:03o}"


TOOLS = (get_diff,)
