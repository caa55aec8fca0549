"""Milestones of a repository."""

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from modules.github.shared import rest_client
from modules.github.shared.parameters import REPO, Number, Owner, Repo
from modules.github.shared.result_models import Confirmation
from modules.kit import Context, tool
from modules.kit.parameters import (
    ADD_HINTS,
    CHANGE_HINTS,
    READ_HINTS,
    CalendarDate,
    CursorText,
    OptionalParameter,
    PerPage,
    Title,
    limit_length,
)
from modules.kit.results import Count, Flag, Line, ListPage, Missable, ResultModel, Text, Word, fit_texts

MAX_DESCRIPTION = 20_000
NO_MILESTONE = "no such milestone; it may be deleted"

MilestoneNumber = Annotated[Number, Field(description="The milestone's number")]
Description = Annotated[
    OptionalParameter[Annotated[str, limit_length(maximum=MAX_DESCRIPTION)]], Field(description="Markdown")
]
DueDate = Annotated[OptionalParameter[CalendarDate], Field(description="Due on")]
State = Literal["open", "closed"]


def _keep_date(moment: Any) -> Any:
    """Keep the date of a moment: GitHub keeps no time with it."""
    return moment[:10] if isinstance(moment, str) else moment


class Milestone(ResultModel):
    longest = {"description": MAX_DESCRIPTION}  # noqa: RUF012
    markdown_fields = frozenset({"description"})

    number: Missable[int] = None
    title: Line
    state: Line
    description: Text = ""
    due_on: Annotated[Word, BeforeValidator(_keep_date)] = ""
    open_issues: Count = 0
    closed_issues: Count = 0
    truncated: Flag = False


class Milestones(ListPage):
    milestones: list[Milestone]


@tool(hints=READ_HINTS, scopes=[REPO])
async def list_milestones(
    context: Context,
    owner: Owner,
    repo: Repo,
    state: Annotated[Literal["open", "closed", "all"], Field(description="State")] = "open",
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> Milestones:
    """Milestones with how many issues they have."""
    address = rest_client.build_repository_path(owner, repo, "/milestones")
    page = await rest_client.fetch_page(
        context, Milestone, address, query={"state": state}, cursor=cursor, per_page=per_page
    )
    return Milestones(milestones=fit_texts(page.rows, "description"), **page.fields)


@tool(hints=ADD_HINTS, scopes=[REPO])
async def create_milestone(
    context: Context,
    owner: Owner,
    repo: Repo,
    title: Annotated[Title, Field(description="Title")],
    description: Description = None,
    due_on: DueDate = None,
) -> Milestone:
    """Add a milestone to a repository."""
    fields = {"title": title, "description": description, "due_on": _format_date(due_on)}
    address = rest_client.build_repository_path(owner, repo, "/milestones")
    return await rest_client.fetch_one(context, Milestone, address, method="POST", json=fields)


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def update_milestone(
    context: Context,
    owner: Owner,
    repo: Repo,
    milestone_number: MilestoneNumber,
    title: Annotated[OptionalParameter[Title], Field(description="Title")] = None,
    description: Description = None,
    due_on: DueDate = None,
    state: Annotated[OptionalParameter[State], Field(description="State")] = None,
) -> Milestone:
    """Change, close or reopen a milestone: only what is given."""
    fields = {"title": title, "description": description, "due_on": _format_date(due_on), "state": state}
    rest_client.require_change(fields)
    address = rest_client.build_repository_path(owner, repo, "/milestones/{}", milestone_number)
    return await rest_client.fetch_one(context, Milestone, address, method="PATCH", json=fields, missing=NO_MILESTONE)


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def delete_milestone(
    context: Context, owner: Owner, repo: Repo, milestone_number: MilestoneNumber
) -> Confirmation:
    """Delete a milestone; its issues stay."""
    address = rest_client.build_repository_path(owner, repo, "/milestones/{}", milestone_number)
    return await rest_client.fetch_confirmation(context, "DELETE", address, missing=NO_MILESTONE)


def _format_date(day: date | None) -> str | None:
    """Format noon of a day in UTC: the same day in California, by whose time GitHub keeps it."""
    return day and f"{day.isoformat()}T12:00:00Z"


TOOLS = (list_milestones, create_milestone, update_milestone, delete_milestone)
