"""Labels of a repository and of its issues, and milestones."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from modules.github import rest_client
from modules.github.parameters import REPO, Number, Owner, Repo
from modules.github.result_models import Confirmation, Names
from modules.kit import Context, tool
from modules.kit.parameters import (
    ADD_HINTS,
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    limit_length,
)
from modules.kit.results import Count, Line, ListPage, Missable, ResultModel, Word, read_part

_COLOR = re.compile(r"#?([0-9a-fA-F]{6})")


def _check_color(text: str) -> str:
    found = _COLOR.fullmatch(text)
    if not found:
        raise ValueError("is not a color: six hexadecimal digits, such as d73a4a")
    return found[1].lower()


LabelName = Annotated[str, limit_length(1, 50)]
LabelColor = Annotated[
    OptionalParameter[Annotated[str, AfterValidator(_check_color)]], Field(description="Such as d73a4a")
]
LabelDescription = Annotated[
    OptionalParameter[Annotated[str, limit_length(maximum=100)]], Field(description="At most 100 characters")
]


class Label(ResultModel):
    name: Line
    color: Line
    description: Word = ""


class Labels(ListPage):
    labels: list[Label]


class IssueLabels(ResultModel):
    """All that the issue has now."""

    labels: Names = ()


class Milestone(ResultModel):
    number: Missable[int] = None
    title: Line
    state: Line
    description: Word = ""
    due_on: Word = ""
    open_issues: Count = 0
    closed_issues: Count = 0


class Milestones(ListPage):
    milestones: list[Milestone]


@tool(hints=READ_HINTS, scopes=[REPO])
async def list_labels(
    context: Context, owner: Owner, repo: Repo, per_page: PerPage = 100, cursor: CursorText = None
) -> Labels:
    """Labels that a repository has."""
    address = rest_client.build_repository_path(owner, repo, "/labels")
    page = await rest_client.fetch_page(context, Label, address, cursor=cursor, per_page=per_page)
    return Labels(labels=page.rows, **page.fields)


@tool(hints=ADD_HINTS, scopes=[REPO])
async def create_label(
    context: Context,
    owner: Owner,
    repo: Repo,
    name: Annotated[LabelName, Field(description="Name")],
    color: LabelColor = None,
    description: LabelDescription = None,
) -> Label:
    """Add a label to a repository."""
    fields = {"name": name, "color": color, "description": description}
    address = rest_client.build_repository_path(owner, repo, "/labels")
    return await rest_client.fetch_one(context, Label, address, method="POST", json=fields)


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def update_label(
    context: Context,
    owner: Owner,
    repo: Repo,
    name: Annotated[LabelName, Field(description="Name")],
    new_name: Annotated[OptionalParameter[LabelName], Field(description="New name")] = None,
    color: LabelColor = None,
    description: LabelDescription = None,
) -> Label:
    """Rename or recolor a label, on all its issues."""
    fields = {"new_name": new_name, "color": color, "description": description}
    rest_client.require_change(fields)
    address = rest_client.build_repository_path(owner, repo, "/labels/{}", name)
    return await rest_client.fetch_one(context, Label, address, method="PATCH", json=fields, missing="no such label")


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def delete_label(
    context: Context, owner: Owner, repo: Repo, name: Annotated[LabelName, Field(description="Name")]
) -> Confirmation:
    """Delete a label from a repository and all its issues."""
    address = rest_client.build_repository_path(owner, repo, "/labels/{}", name)
    await rest_client.send_request(context, "DELETE", address, missing="no such label; it may be deleted already")
    return Confirmation()


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def add_issue_labels(
    context: Context,
    owner: Owner,
    repo: Repo,
    issue_number: Annotated[Number, Field(description="Issue or pull request")],
    labels: Annotated[list[LabelName], limit_length(1, 100), Field(description="Added to those it has")],
) -> IssueLabels:
    """Add labels to an issue or pull request; new ones are made."""
    address = rest_client.build_repository_path(owner, repo, "/issues/{}/labels", issue_number)
    answer = await rest_client.send_request(context, "POST", address, json={"labels": labels})
    return read_part(answer, IssueLabels, {"labels": answer.json()})


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def remove_issue_label(
    context: Context,
    owner: Owner,
    repo: Repo,
    issue_number: Annotated[Number, Field(description="Issue or pull request")],
    name: Annotated[LabelName, Field(description="Label")],
) -> IssueLabels:
    """Take a label off an issue or pull request."""
    address = rest_client.build_repository_path(owner, repo, "/issues/{}/labels/{}", issue_number, name)
    missing = "no such issue, or it does not have this label"
    answer = await rest_client.send_request(context, "DELETE", address, missing=missing)
    return read_part(answer, IssueLabels, {"labels": answer.json()})


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
    return Milestones(milestones=page.rows, **page.fields)


TOOLS = (
    list_labels,
    create_label,
    update_label,
    delete_label,
    add_issue_labels,
    remove_issue_label,
    list_milestones,
)
