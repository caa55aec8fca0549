"""Labels of a repository and of its issues."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from modules.github.shared import rest_client
from modules.github.shared.parameters import ENSURE_HINTS, REPO, Number, Owner, Repo
from modules.github.shared.result_models import Confirmation, extract_names
from modules.kit import Context, ToolError, VendorAnswer, VendorProblem, tool
from modules.kit.parameters import (
    ADD_HINTS,
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    limit_items,
    limit_length,
)
from modules.kit.partial_results import PartialResult, change_each
from modules.kit.results import Line, ListPage, ResultModel, Word, read_part

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

    labels: Annotated[tuple[Line, ...], BeforeValidator(extract_names)] = ()


class _NumberedLabels(IssueLabels):
    number: int


class LabeledIssue(ResultModel):
    number: int
    labels: tuple[Line, ...]


class LabeledIssues(PartialResult):
    issues: list[LabeledIssue]


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
    return await rest_client.fetch_confirmation(
        context, "DELETE", address, missing="no such label; it may be deleted already"
    )


@tool(hints=ENSURE_HINTS, scopes=[REPO])
async def add_issue_labels(
    context: Context,
    owner: Owner,
    repo: Repo,
    issue_number: Annotated[Number, Field(description="Issue or pull request")],
    labels: Annotated[list[LabelName], limit_items(1), Field(description="Added to those it has")],
) -> IssueLabels:
    """Add labels to an issue or pull request; new ones are made."""
    address = rest_client.build_repository_path(owner, repo, "/issues/{}/labels", issue_number)
    answer = await rest_client.send_request(context, "POST", address, json={"labels": labels})
    return _read_added_labels(answer)


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
    return _read_labels(await rest_client.send_request(context, "DELETE", address, missing=missing))


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def change_issue_labels(
    context: Context,
    owner: Owner,
    repo: Repo,
    issue_numbers: Annotated[list[Number], limit_items(1, 50), Field(description="At most 50")],
    add: Annotated[OptionalParameter[Annotated[list[LabelName], limit_items()]], Field(description="Labels")] = None,
    remove: Annotated[OptionalParameter[Annotated[list[LabelName], limit_items()]], Field(description="Labels")] = None,
) -> LabeledIssues:
    """Add and remove labels of several issues or pull requests; tells which of them failed."""
    if not add and not remove:
        raise ToolError("there is nothing to change: give add, remove, or both")

    async def change(number: int) -> LabeledIssue:
        labels = await _change_labels(context, owner, repo, number, add or [], remove or [])
        return LabeledIssue(number=number, labels=labels)

    done = await change_each(context, issue_numbers, change)
    return LabeledIssues(issues=done.results, **done.fields)


async def _change_labels(
    context: Context, owner: str, repo: str, number: int, add: list[str], remove: list[str]
) -> tuple[str, ...]:
    """Remove first, then add: a label in both is there afterwards. One that the issue does not have is removed."""
    for name in remove:
        address = rest_client.build_repository_path(owner, repo, "/issues/{}/labels/{}", number, name)
        try:
            await rest_client.send_request(context, "DELETE", address)
        except VendorProblem as problem:
            if problem.kind != "not_found":
                raise
    address, missing = rest_client.build_repository_path(owner, repo, "/issues/{}", number), "no such issue"
    if not add:
        return (await rest_client.fetch_one(context, _NumberedLabels, address, missing=missing)).labels
    answer = await rest_client.send_request(context, "POST", f"{address}/labels", json={"labels": add}, missing=missing)
    return _read_added_labels(answer).labels


def _read_added_labels(answer: VendorAnswer) -> IssueLabels:
    """Read the labels of an issue that has got some, and so has at least these."""
    found = _read_labels(answer)
    if not found.labels:
        raise answer.build_unreadable_problem()
    return found


def _read_labels(answer: VendorAnswer) -> IssueLabels:
    """Read the labels of an issue; that there are none left is an answer too."""
    labels = answer.read(list[Any])
    return read_part(answer, IssueLabels, {"labels": labels}) if labels else IssueLabels()


TOOLS = (
    list_labels,
    create_label,
    update_label,
    delete_label,
    add_issue_labels,
    remove_issue_label,
    change_issue_labels,
)
