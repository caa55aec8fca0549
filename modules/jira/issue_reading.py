"""Finding and reading issues, and what was changed in them."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import Field, model_validator

from modules.jira import rest_client
from modules.jira.field_values import Moment, Named, Person, format_value
from modules.jira.fields import resolve_names
from modules.jira.parameters import READ_WORK, IssueKey, Jql
from modules.kit import Context, VendorProblem, build_path, tool
from modules.kit.markup.adf_formatting import format_adf_in_turns
from modules.kit.parameters import READ_HINTS, CursorText, OptionalParameter, PerPage, limit_items
from modules.kit.results import Count, Flag, Line, ResultModel, ResultPage, Text, Word
from modules.kit.text_cleaning import clean_line

ROW_FIELDS = ("summary", "issuetype", "status", "priority", "assignee", "updated", "duedate", "labels", "parent")
DESCRIPTION_CHARACTERS = 20_000
_TOLD_APART = frozenset({*ROW_FIELDS, "description", "issuelinks", "subtasks", "attachment", "created", "reporter"})
_NEVER_SHOWN = frozenset(
    {"comment", "worklog", "project", "statuscategory", "statuscategorychangedate", "lastViewed", "watches", "votes",
     "aggregateprogress", "progress", "workratio", "issuerestriction", "creator", "aggregatetimespent",
     "aggregatetimeoriginalestimate", "aggregatetimeestimate", "timespent", "timeoriginalestimate", "timeestimate",
     "thumbnail"}
)  # fmt: skip

Values = Annotated[dict[str, Any], Field(exclude_if=lambda values: not values)]
Lines = Annotated[list[str], Field(exclude_if=lambda values: not values)]


def _read_fields(raw: Any) -> Any:
    """An issue's fields beside its key, as the models name them."""
    if not isinstance(raw, dict):
        return raw
    issue = cast("dict[str, Any]", raw)
    fields = cast("dict[str, Any]", issue["fields"]) if isinstance(issue.get("fields"), dict) else {}
    parent = fields.get("parent")
    labels = fields.get("labels")
    return {
        **issue,
        **{name: fields.get(name) for name in ("summary", "status", "priority", "assignee", "updated", "created")},
        "reporter": fields.get("reporter"),
        "type": fields.get("issuetype"),
        "due": fields.get("duedate"),
        "labels": [clean_line(str(one)) for one in cast("list[Any]", labels)] if isinstance(labels, list) else [],
        "parent": _name_issue(parent) if isinstance(parent, Mapping) else "",
    }


def _name_issue(issue: Any) -> str:
    found: Mapping[str, Any] = issue
    fields: Mapping[str, Any] = found.get("fields") or {}
    status: Mapping[str, Any] = fields.get("status") or {}
    state = f" [{status['name']}]" if status.get("name") else ""
    return clean_line(f"{found.get('key')} {fields.get('summary') or ''}{state}")


class IssueRow(ResultModel):
    key: Line
    type: Named = ""
    summary: Word = ""
    status: Named = ""
    priority: Named = ""
    assignee: Person = ""
    due: Word = ""
    updated: Moment = ""
    labels: Lines = []  # noqa: RUF012
    parent: Word = ""
    fields: Values = {}  # noqa: RUF012

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        return _read_fields(raw)


class FoundJiraIssues(ResultPage):
    """`about` is roughly how many there are in all; it is missing where this is all, or Jira does not say."""

    issues: list[IssueRow]
    about: Count = 0


class JiraAttachment(ResultModel):
    id: Line
    filename: Word = ""
    size: Count = 0
    mimeType: Word = ""  # noqa: N815


class JiraIssue(IssueRow):
    """`fields` has what else is not empty, by name. `next_offset` leads to the rest of a long description."""

    id: Word = ""
    reporter: Person = ""
    created: Moment = ""
    description: Text = ""
    next_offset: Count = 0
    links: Lines = []  # noqa: RUF012
    subtasks: Lines = []  # noqa: RUF012
    attachments: Annotated[list[JiraAttachment], Field(exclude_if=lambda values: not values)] = []  # noqa: RUF012


class JiraChange(ResultModel):
    created: Moment = ""
    author: Person = ""
    changes: list[str]
    truncated: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        found = cast("dict[str, Any]", raw)
        shown = [_format_change(one) for one in _list_objects(found.get("items"))]
        return {**found, "changes": [text for text, _ in shown], "truncated": any(is_cut for _, is_cut in shown)}


def _format_change(item: dict[str, Any]) -> tuple[str, bool]:
    before, after = (str(item.get(name) or "") for name in ("fromString", "toString"))
    text = f"{item.get('field')}: {before[:150] or '(empty)'} → {after[:150] or '(empty)'}"
    return clean_line(text), len(before) > 150 or len(after) > 150


class JiraChanges(ResultPage):
    changes: list[JiraChange]
    total: Count = 0


@tool(hints=READ_HINTS, scopes=[READ_WORK])
async def search_issues(
    context: Context,
    jql: Annotated[
        Jql, Field(description="With a restriction: project = ABC AND status != Done ORDER BY updated DESC")
    ],
    fields: Annotated[
        OptionalParameter[Annotated[list[str], limit_items(1, 30)]], Field(description="Further ones, by name or id")
    ] = None,
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> FoundJiraIssues:
    """Search issues with JQL."""
    token = rest_client.parse_token(cursor)
    named = await resolve_names(context, fields or ())
    body: dict[str, Any] = {
        "jql": jql,
        "maxResults": per_page,
        "fields": list(dict.fromkeys([*ROW_FIELDS, *named.values()])),
    }
    if token:
        body["nextPageToken"] = token
    answer = await rest_client.send_request(context, "POST", "/rest/api/3/search/jql", json=body, repeatable=True)
    found = answer.read(dict[str, Any])
    following = rest_client.build_token_cursor(None if found.get("isLast") is True else found.get("nextPageToken"))
    rows = await rest_client.Listed(answer, answer.read_part(list[Any], found.get("issues")), "", 0).read(IssueRow)
    if named:
        raw = cast("list[dict[str, Any]]", found["issues"])
        rows = [_add_fields(row, one.get("fields") or {}, named) for row, one in zip(rows, raw, strict=True)]
    else:  # what was read as `fields` are Jira's own, which the row has already
        rows = [row.model_copy(update={"fields": {}}) for row in rows]
    about = await _count(context, jql) if following and not token else 0
    return FoundJiraIssues(issues=rows, nextCursor=following, about=about)


def _add_fields(row: IssueRow, fields: Mapping[str, Any], named: Mapping[str, str]) -> IssueRow:
    shown = {name: format_value(fields.get(identity)) for name, identity in named.items()}
    return row.model_copy(update={"fields": {name: value for name, value in shown.items() if value is not None}})


async def _count(context: Context, jql: str) -> int:
    try:
        answer = await rest_client.send_request(
            context, "POST", "/rest/api/3/search/approximate-count", json={"jql": jql}, repeatable=True
        )
        count = answer.read(dict[str, Any]).get("count")
    except VendorProblem:
        return 0  # the page is worth more than the number
    return count if isinstance(count, int) else 0


@tool(hints=READ_HINTS, scopes=[READ_WORK])
async def get_issue(
    context: Context,
    issue: IssueKey,
    offset: Annotated[int, Field(ge=0, le=10**7, description="Last next_offset: goes on in the description")] = 0,
) -> JiraIssue:
    """An issue with all its fields; the description as Markdown; without its comments."""
    query = {"fields": "*all,-comment,-worklog", "expand": "names"}
    raw, answer = await rest_client.fetch_object(context, build_path("/rest/api/3/issue/{}", issue), query=query)
    found = answer.read_part(JiraIssue, {name: value for name, value in raw.items() if name != "names"})
    fields: dict[str, Any] = raw.get("fields") or {}
    whole = await format_adf_in_turns(fields.get("description"))
    end = offset + DESCRIPTION_CHARACTERS
    update: dict[str, Any] = {"description": whole[offset:end], "next_offset": end if end < len(whole) else 0}
    if not offset:
        update["fields"] = _format_others(fields, raw.get("names") or {})
        update["links"] = [_format_link(one) for one in _list_objects(fields.get("issuelinks"))]
        update["subtasks"] = [_name_issue(one) for one in _list_objects(fields.get("subtasks"))]
        attached = _list_objects(fields.get("attachment"))
        update["attachments"] = [answer.read_part(JiraAttachment, one) for one in attached]
    return found.model_copy(update=update)


def _list_objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in cast("list[Any]", value) if isinstance(one, dict)] if isinstance(value, list) else []


def _format_others(fields: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are not told apart, by name; by name and id where two share a name."""
    shown: dict[str, Any] = {}
    for identity, value in fields.items():
        if identity in _TOLD_APART or identity in _NEVER_SHOWN or value is None:
            continue
        formatted = format_value(value)
        if formatted in (None, "", []) or _is_rank(formatted):
            continue
        name = clean_line(str(names.get(identity) or identity))
        shown[name if name not in shown else f"{name} ({identity})"] = formatted
    return shown


def _is_rank(value: Any) -> bool:
    return isinstance(value, str) and value[1:2] == "|" and value.endswith(":")


def _format_link(link: dict[str, Any]) -> str:
    kind: Mapping[str, Any] = link.get("type") or {}
    direction = "outward" if link.get("outwardIssue") else "inward"
    other = link.get(f"{direction}Issue")
    return f"{clean_line(str(kind.get(direction) or kind.get('name')))} {_name_issue(other) if other else '?'}"


@tool(hints=READ_HINTS, scopes=[READ_WORK])
async def get_changelog(
    context: Context, issue: IssueKey, per_page: PerPage = 50, cursor: CursorText = None
) -> JiraChanges:
    """What was changed in an issue, when and by whom, oldest first."""
    address = build_path("/rest/api/3/issue/{}/changelog", issue)
    listed = await rest_client.fetch_page(context, address, rows="values", cursor=cursor, per_page=per_page)
    return JiraChanges(changes=await listed.read(JiraChange), nextCursor=listed.next, total=listed.total)


TOOLS = (search_issues, get_issue, get_changelog)
