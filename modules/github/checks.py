"""Checks of a commit: its check runs, and the statuses that other services set."""

import asyncio
from collections import Counter
from typing import Annotated, Any

from pydantic import Field

from modules.github.shared import rest_client
from modules.github.shared.parameters import REPO, Owner, Ref, Repo
from modules.kit import Context, ToolError, tool
from modules.kit.parameters import READ_HINTS, CursorText, OptionalParameter, PerPage, Positive
from modules.kit.results import Identifier, Line, ListPage, Missable, OptionalUrl, ResultModel, Word, read_at, read_part


class CheckRun(ResultModel):
    """`id` is the job's where `app` is github-actions."""

    id: Missable[int] = None
    name: Line
    status: Line
    conclusion: Word = ""
    app: Annotated[Word, read_at("app", "slug")] = ""
    title: Annotated[Word, read_at("output", "title")] = ""
    details_url: OptionalUrl = ""


class CommitStatus(ResultModel):
    context: Line
    state: Line
    description: Word = ""
    target_url: OptionalUrl = ""


class Checks(ListPage):
    """`counts` are of this page: how many checks and statuses have which outcome."""

    sha: Identifier
    total_count: int
    counts: dict[str, int]
    check_runs: Annotated[list[CheckRun], Field(exclude_if=lambda runs: not runs)] = []  # noqa: RUF012
    statuses: Annotated[list[CommitStatus], Field(exclude_if=lambda statuses: not statuses)] = []  # noqa: RUF012


class _CheckedCommit(ResultModel):
    sha: Identifier
    state: Line  # not shown: it is "pending" where no service sets any


class _PullRequestHead(ResultModel):
    sha: Annotated[Identifier, read_at("head", "sha")]


@tool(hints=READ_HINTS, scopes=[REPO])
async def get_checks(
    context: Context,
    owner: Owner,
    repo: Repo,
    ref: Annotated[Ref, Field(description="SHA, branch or tag")] = "HEAD",
    pull_number: Annotated[OptionalParameter[Positive], Field(description="Or a pull request")] = None,
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> Checks:
    """Check runs and statuses of a commit or of a pull request's head."""
    if pull_number is not None:
        if ref != "HEAD":
            raise ToolError("give either ref or pull_number")
        address = rest_client.build_repository_path(owner, repo, "/pulls/{}", pull_number)
        ref = (await rest_client.fetch_one(context, _PullRequestHead, address)).sha
    commit = f"{rest_client.build_repository_path(owner, repo)}/commits/{rest_client.encode_segments(ref)}"
    paging: dict[str, Any] = {"cursor": cursor, "per_page": per_page, "name": commit}
    runs, statuses = await asyncio.gather(
        rest_client.fetch_page(context, CheckRun, f"{commit}/check-runs", field="check_runs", **paging),
        rest_client.fetch_page(context, CommitStatus, f"{commit}/status", field="statuses", **paging),
    )
    outcomes = [run.conclusion or run.status for run in runs.rows] + [status.state for status in statuses.rows]
    return Checks(
        sha=read_part(statuses.answer, _CheckedCommit, statuses.document).sha,
        total_count=(runs.fields["total"] or 0) + (statuses.fields["total"] or 0),
        counts=dict(Counter(outcomes)),
        check_runs=runs.rows,
        statuses=statuses.rows,
        nextCursor=runs.fields["nextCursor"] or statuses.fields["nextCursor"],
        incomplete=runs.fields["incomplete"] or statuses.fields["incomplete"],
        unreadable=runs.fields["unreadable"] + statuses.fields["unreadable"],
    )


TOOLS = (get_checks,)
