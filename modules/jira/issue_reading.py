"""Finding and reading issues, and what was changed in them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, cast

from pydantic import BeforeValidator, Field

from modules.jira import rest_client
from modules.jira.field_values import (
    Moment,
    Named,
    Person,
    format_value,
    format_whole_value,
    get_mapping,
    list_mappings,
)
from modules.jira.fields import resolve_names
from modules.jira.parameters import READ_WORK, IssueKey, Jql
from modules.kit import Context, VendorAnswer, VendorProblem, build_path, run_in_turns, tool
from modules.kit.markup.adf_formatting import format_adf
from modules.kit.parameters import READ_HINTS, CursorText, OptionalParameter, PerPage, limit_items, limit_length
from modules.kit.results import (
    PAGE_CHARACTERS,
    Count,
    CountedPage,
    Flag,
    Identifier,
    ListPage,
    OptionalIdentifier,
    ResultModel,
    Text,
    Word,
    read_at,
    read_each,
    read_part,
)
from modules.kit.text_cleaning import clean_line, clean_text

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


def name_issue(value: Any) -> str:
    """Name an issue by key, summary and status; "" for what is none."""
    issue = get_mapping(value)
    fields = get_mapping(issue.get("fields"))
    status = get_mapping(fields.get("status")).get("name")
    state = f" [{status}]" if status else ""
    return clean_line(f"{issue.get('key')} {fields.get('summary') or ''}{state}") if issue else ""


def _format_links(value: Any) -> list[str]:
    return [_format_link(one) for one in list_mappings(value)]


def _name_issues(value: Any) -> list[str]:
    return [name_issue(one) for one in list_mappings(value)]


def _format_link(link: Mapping[str, Any]) -> str:
    kind = get_mapping(link.get("type"))
    direction = "outward" if link.get("outwardIssue") else "inward"
    name = name_issue(link.get(f"{direction}Issue")) or "?"
    return f"{clean_line(str(kind.get(direction) or kind.get('name')))} {name}"


def _list_labels(value: Any) -> list[str]:
    return [clean_line(one) for one in cast("list[Any]", value) if isinstance(one, str)] if value else []


class IssueRow(ResultModel):
    key: Identifier
    type: Annotated[Named, read_at("fields", "issuetype")] = ""
    summary: Annotated[Word, read_at("fields", "summary")] = ""
    status: Annotated[Named, read_at("fields", "status")] = ""
    priority: Annotated[Named, read_at("fields", "priority")] = ""
    assignee: Annotated[Person, read_at("fields", "assignee")] = ""
    due: Annotated[Word, read_at("fields", "duedate")] = ""
    updated: Annotated[Moment, read_at("fields", "updated")] = ""
    labels: Annotated[Lines, BeforeValidator(_list_labels), read_at("fields", "labels")] = []  # noqa: RUF012
    parent: Annotated[Word, BeforeValidator(name_issue), read_at("fields", "parent")] = ""
    # Those that a tool chooses. As Jira sends them, they are in `raw`.
    fields: Annotated[Values, read_at("shown_fields")] = {}  # noqa: RUF012
    raw: Annotated[dict[str, Any], read_at("fields"), Field(exclude=True)] = {}  # noqa: RUF012


class FoundJiraIssues(ListPage):
    """`about` is roughly how many there are in all; it is missing where this is all, or Jira does not say."""

    issues: list[IssueRow]
    about: Count = 0


class JiraAttachment(ResultModel):
    id: Identifier
    filename: Word = ""
    size: Count = 0
    mimeType: Word = ""  # noqa: N815


class JiraIssue(IssueRow):
    """`fields` has what else is not empty, by name. `next_offset` leads to the rest of a long description."""

    id: OptionalIdentifier = ""
    reporter: Annotated[Person, read_at("fields", "reporter")] = ""
    created: Annotated[Moment, read_at("fields", "created")] = ""
    description: Text = ""
    next_offset: Count = 0
    links: Annotated[Lines, BeforeValidator(_format_links), read_at("fields", "issuelinks")] = []  # noqa: RUF012
    subtasks: Annotated[Lines, BeforeValidator(_name_issues), read_at("fields", "subtasks")] = []  # noqa: RUF012
    attachments: Annotated[
        list[JiraAttachment],
        read_each(JiraAttachment),
        read_at("fields", "attachment"),
        Field(exclude_if=lambda values: not values),
    ] = []  # noqa: RUF012


_SHOWN = 150
"""Characters of a changed value."""


def _format_changes(value: Any) -> list[str]:
    return [clean_line(_format_change(one, _SHOWN)) for one in list_mappings(value)]


def _format_whole_changes(value: Any) -> list[str]:
    return [clean_text(_format_change(one, PAGE_CHARACTERS)) for one in list_mappings(value)]


def _format_change(item: Mapping[str, Any], shown: int) -> str:
    return f"{item.get('field')}: {' → '.join(text[:shown] or '(empty)' for text in _get_values(item))}"


def _is_any_cut(value: Any) -> bool:
    return any(len(text) > _SHOWN for one in list_mappings(value) for text in _get_values(one))


def _get_values(item: Mapping[str, Any]) -> list[str]:
    return [str(item.get(name) or "") for name in ("fromString", "toString")]


class JiraChange(ResultModel):
    created: Moment = ""
    author: Person = ""
    changes: Annotated[list[str], BeforeValidator(_format_changes), read_at("items")]
    truncated: Annotated[Flag, BeforeValidator(_is_any_cut), read_at("items")] = False


class _WholeJiraChange(JiraChange):
    changes: Annotated[list[str], BeforeValidator(_format_whole_changes), read_at("items")]
    truncated: Flag = False


class JiraChanges(CountedPage):
    """`truncated` changes are whole with whole_values, where they still are: on a smaller page."""

    changes: list[JiraChange]


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
    named = await resolve_names(context, fields or ())
    body = {"jql": jql, "fields": list(dict.fromkeys([*ROW_FIELDS, *named.values()]))}
    page = await rest_client.search(context, IssueRow, "/rest/api/3/search/jql", body, cursor=cursor, per_page=per_page)
    rows = [_show_fields(one, named) for one in page.rows] if named else page.rows
    about = await _count(context, jql) if page.fields["nextCursor"] and not cursor else 0
    return FoundJiraIssues(issues=rows, about=about, **page.fields)


def _show_fields(row: IssueRow, named: Mapping[str, str]) -> IssueRow:
    shown = {name: format_value(row.raw.get(identity)) for name, identity in named.items()}
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
    field: Annotated[
        OptionalParameter[Annotated[str, limit_length(1, 255)]], Field(description="Only this, whole: name or id")
    ] = None,
    offset: Annotated[int, Field(ge=0, le=10**7, description="Last next_offset: goes on in the text")] = 0,
) -> JiraIssue:
    """An issue with all its fields, long ones cut at an ellipsis; the description as Markdown; without its comments."""
    if field:
        return await _read_field(context, issue, field, offset)
    query = {"fields": "*all,-comment,-worklog", "expand": "names"}
    found, fields, answer = await _fetch_issue(context, issue, query)
    whole = await run_in_turns(format_adf, fields.get("description"), size=len(answer.body))
    end = offset + DESCRIPTION_CHARACTERS
    text: dict[str, Any] = {"description": whole[offset:end], "next_offset": end if end < len(whole) else 0}
    if offset:
        read = read_part(answer, JiraIssue, {**found, **text})
        return read.model_copy(update={"links": [], "subtasks": [], "attachments": []})
    others = _format_others(fields, get_mapping(found.get("names")))
    return read_part(answer, JiraIssue, {**found, **text, "shown_fields": others})


async def _read_field(context: Context, issue: str, field: str, offset: int) -> JiraIssue:
    identity = (await resolve_names(context, [field]))[field]
    query = {"fields": identity, "expand": "names"}
    found, fields, answer = await _fetch_issue(context, issue, query)
    whole = await run_in_turns(format_whole_value, fields.get(identity), size=len(answer.body))
    end = offset + DESCRIPTION_CHARACTERS
    shown = {"shown_fields": {field: whole[offset:end]}, "next_offset": end if end < len(whole) else 0}
    return read_part(answer, JiraIssue, {**found, **shown})


class _FetchedIssue(NamedTuple):
    """An issue as Jira sends it."""

    raw: Mapping[str, Any]
    fields: Mapping[str, Any]
    answer: VendorAnswer


async def _fetch_issue(context: Context, issue: str, query: Mapping[str, Any]) -> _FetchedIssue:
    answer = await rest_client.send_request(context, "GET", build_path("/rest/api/3/issue/{}", issue), query=query)
    raw = get_mapping(answer.json())
    return _FetchedIssue(raw, get_mapping(raw.get("fields")), answer)


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


@tool(hints=READ_HINTS, scopes=[READ_WORK])
async def get_changelog(
    context: Context,
    issue: IssueKey,
    whole_values: Annotated[bool, Field(description="Do not cut values")] = False,
    per_page: PerPage = 50,
    cursor: CursorText = None,
) -> JiraChanges:
    """List what was changed in an issue, when and by whom, oldest first."""
    address = build_path("/rest/api/3/issue/{}/changelog", issue)
    shape = _WholeJiraChange if whole_values else JiraChange
    page = await rest_client.fetch_page(context, shape, address, rows="values", cursor=cursor, per_page=per_page)
    return JiraChanges(changes=_fit_changes(page.rows), **page.fields)


def _fit_changes(rows: Sequence[JiraChange]) -> list[JiraChange]:
    """The changes with what all may take together."""
    left = PAGE_CHARACTERS
    shown: list[JiraChange] = []
    for row in rows:
        size = sum(map(len, row.changes))
        if size > left:
            share = left // len(row.changes)
            row = row.model_copy(update={"changes": [one[:share] for one in row.changes], "truncated": True})
        left = max(left - size, 0)
        shown.append(row)
    return shown


TOOLS = (search_issues, get_issue, get_changelog)
