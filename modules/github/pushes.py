"""Several files in one commit, through git's own objects (https://docs.github.com/en/rest/git): blobs, a tree and a
commit, none of which anybody sees until the branch points at them. So making them again does no harm, and the one
change is that of the branch.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from modules.github.files import Message
from modules.github.shared import rest_client
from modules.github.shared.parameters import REPO, WORKFLOW, FilePath, Owner, Ref, Repo, Sha
from modules.kit import OUTCOME_UNKNOWN, Context, Execution, ToolError, VendorProblem, tool
from modules.kit.parameters import ACTION_HINTS, OptionalParameter, limit_items
from modules.kit.results import Identifier, Line, ResultModel, read_at, read_object

MAX_FILES = 100
MAX_TOTAL_CHARACTERS = 3_000_000
NORMAL_FILE, EXECUTABLE_FILE = "100644", "100755"


class PushedFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    path: FilePath
    content: OptionalParameter[str] = None
    content_base64: OptionalParameter[str] = None
    delete: bool = False
    executable: bool = False


class PushResult(ResultModel):
    branch: Line
    commit: Line
    files: int


class _Object(ResultModel):
    sha: Identifier


class _BranchTip(ResultModel):
    sha: Annotated[Identifier, read_at("object", "sha")]


class _GitCommit(ResultModel):
    tree: Annotated[Line, read_at("tree", "sha")]


class _Target(NamedTuple):
    """The repository's path and the branch to change."""

    repository: str
    branch: str


@tool(hints=ACTION_HINTS, scopes=[REPO, WORKFLOW], execution=Execution.ASYNC)
async def push_files(
    context: Context,
    owner: Owner,
    repo: Repo,
    branch: Annotated[Ref, Field(description="Existing branch")],
    message: Message,
    files: Annotated[
        list[PushedFile],
        limit_items(1, MAX_FILES),
        Field(description="Each with whole new content, content_base64 or delete; 3M characters together"),
    ],
    expected_head: Annotated[OptionalParameter[Sha], Field(description="Only if the branch is still there")] = None,
) -> PushResult:
    """Write and delete several files in one commit: all or nothing."""
    _check_files(files)
    target = _Target(rest_client.build_repository_path(owner, repo), branch)
    tip = await _fetch_tip(context, target)
    if expected_head and tip != expected_head:
        raise ToolError(f"expected_head: {branch} is at {tip} now; read what has changed, nothing was written")
    commit = ""
    try:
        commit = await _make_commit(context, target, tip, message, files)
        await _move_branch(context, target, commit)
    except VendorProblem as problem:
        raise _explain_failure(problem, branch, tip, commit) from None
    return PushResult(branch=branch, commit=commit, files=len(files))


def _check_files(files: Sequence[PushedFile]) -> None:
    """Refuse files that GitHub would refuse after some of them were written.

    Raises:
        ToolError: with the place in `files`.
    """
    seen: set[str] = set()
    for number, file in enumerate(files):
        if sum((file.content is not None, file.content_base64 is not None, file.delete)) != 1:
            raise ToolError(f"files[{number}]: give one of content, content_base64 and delete")
        if file.path in seen:
            raise ToolError(f"files[{number}].path: {file.path} is there twice")
        seen.add(file.path)
        try:
            base64.b64decode(file.content_base64 or "", validate=True)
        except (ValueError, binascii.Error):
            raise ToolError(f"files[{number}].content_base64 is not base64") from None
    if sum(len(file.content or file.content_base64 or "") for file in files) > MAX_TOTAL_CHARACTERS:
        raise ToolError(f"files: all together may have {MAX_TOTAL_CHARACTERS:,} characters; push in several commits")


async def _fetch_tip(context: Context, target: _Target) -> str:
    address = f"{target.repository}/git/ref/heads/{rest_client.encode_segments(target.branch)}"
    missing = "no such repository or branch: create the branch first"
    answer = await rest_client.send_request(context, "GET", address, missing=missing)
    sha = read_object(answer, _BranchTip).sha
    if not sha:
        raise answer.build_unreadable_problem()
    return sha


async def _make_commit(context: Context, target: _Target, tip: str, message: str, files: Sequence[PushedFile]) -> str:
    """Make a commit that no branch points at, and return its SHA."""
    answer = await rest_client.send_request(context, "GET", f"{target.repository}/git/commits/{tip}")
    before = read_object(answer, _GitCommit)
    if not before.tree:  # without it, all other files would be deleted
        raise answer.build_unreadable_problem()
    entries: list[dict[str, Any]] = []
    for done, file in enumerate(files):
        entries.append(await _build_entry(context, target, file))
        await context.report_progress(done + 1, len(files))
    tree = {"base_tree": before.tree, "tree": entries}
    made = await _make_object(context, target, "trees", tree)
    return await _make_object(context, target, "commits", {"message": message, "tree": made, "parents": [tip]})


async def _build_entry(context: Context, target: _Target, file: PushedFile) -> dict[str, Any]:
    """Build a file's entry of the tree. Text goes into it as it is, and GitHub makes the blob; bytes need a blob."""
    entry = {"path": file.path, "mode": EXECUTABLE_FILE if file.executable else NORMAL_FILE, "type": "blob"}
    if file.delete:
        return {**entry, "sha": None}
    if file.content_base64 is None:
        return {**entry, "content": file.content}
    blob = {"content": file.content_base64, "encoding": "base64"}
    return {**entry, "sha": await _make_object(context, target, "blobs", blob)}


async def _make_object(context: Context, target: _Target, kind: str, fields: Mapping[str, Any]) -> str:
    answer = await rest_client.send_request(
        context, "POST", f"{target.repository}/git/{kind}", json=fields, repeatable=True
    )
    sha = read_object(answer, _Object).sha
    if not sha:
        raise answer.build_unreadable_problem()
    return sha


async def _move_branch(context: Context, target: _Target, commit: str) -> None:
    address = f"{target.repository}/git/refs/heads/{rest_client.encode_segments(target.branch)}"
    body = {"sha": commit, "force": False}
    answer = await rest_client.send_request(context, "PATCH", address, json=body)
    if read_object(answer, _BranchTip).sha != commit:
        raise answer.build_unreadable_problem()


def _explain_failure(problem: VendorProblem, branch: str, tip: str, commit: str) -> VendorProblem:
    """Say what was written, and how to undo it. `tip` is the branch's before; `commit` is "" where none was made."""
    text = problem.text
    if problem.unknown:
        text = (
            f"{text.removesuffix(f'; {OUTCOME_UNKNOWN}')}; {branch} was at {tip}, and is at {commit} if the change was "
            "made: a commit with the files as they were before undoes it"
        )
    elif commit:
        text += f"; {branch} is unchanged: commit {commit} with the files belongs to no branch, and nobody sees it"
    else:
        text += f"; {branch} is unchanged, and nothing was written"
    return VendorProblem(
        problem.kind,
        text,
        retry=problem.retry,
        retry_after=problem.retry_after,
        answer=problem.answer,
        unknown=problem.unknown,
    )


TOOLS = (push_files,)
