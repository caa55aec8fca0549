"""Changes as unified diffs."""

import re
from typing import Annotated

from pydantic import Field

from modules.github import rest_client
from modules.github.parameters import REPO, FilePath, Owner, Ref, Repo
from modules.github.text_pages import TextPage, cut_page, parse_position
from modules.kit import Context, ToolError, build_path, tool
from modules.kit.parameters import READ_HINTS, CursorText, OptionalParameter, Positive

DIFF = {"Accept": "application/vnd.github.diff"}
_NEXT_FILE = re.compile(r"(?m)^(?=diff --git )")


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
    answer = await rest_client.send_request(context, "GET", address, headers=DIFF)
    diff = answer.body.decode("utf-8", "replace")
    if diff and not diff.startswith("diff --git "):
        raise answer.build_unreadable_problem()
    return cut_page(diff if path is None else _extract_file(diff, path), position, "the diff")


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
    names = {name for side in ("a", "b") for name in (f"{side}/{path}", _quote_name(f"{side}/{path}"))}
    for part in _NEXT_FILE.split(diff):
        header = part.partition("\n")[0].removeprefix("diff --git ")
        if any(header.startswith(f"{name} ") or header.endswith(f" {name}") for name in names):
            return part
    raise ToolError("path: the diff has no such file; names are case-sensitive")


def _quote_name(name: str) -> str:
    """Quote a name as git does where it has characters beyond printable ASCII (git-config, core.quotePath)."""
    return '"' + "".join(_escape_byte(byte) for byte in name.encode()) + '"'


def _escape_byte(byte: int) -> str:
    if byte in b'"\\':
        return f"\\{byte:c}"
    return f"{byte:c}" if 0x20 <= byte < 0x7F else f"\\{byte:03o}"


TOOLS = (get_diff,)
