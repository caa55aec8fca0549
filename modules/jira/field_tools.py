"""Which fields there are, and which of them a new issue takes."""

from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from modules.jira import rest_client
from modules.jira.field_values import format_value, get_mapping
from modules.jira.fields import fetch_fields
from modules.jira.parameters import READ_WORK, ProjectKey
from modules.kit import Context, ToolError, build_path, tool
from modules.kit.paging import parse_cursor
from modules.kit.parameters import READ_HINTS, CursorText, OptionalParameter, PerPage, ShortText
from modules.kit.results import Count, CountedPage, Flag, Identifier, ReadRows, ResultModel, Word, read_at, read_rows
from modules.kit.text_cleaning import clean_line
from modules.kit.whole_lists import WHOLE, cut_page

MAX_VALUES = 50


def _format_type(value: Any) -> str:
    """Format a field's type in a word, such as ``list of option``."""
    schema = get_mapping(value)
    kind = str(schema.get("type") or "")
    return f"list of {schema.get('items')}" if kind == "array" else kind


def _list_allowed(value: Any) -> list[str]:
    allowed = cast("list[Any]", value) if isinstance(value, list) else []
    return [clean_line(str(format_value(one))) for one in allowed[:MAX_VALUES]]


def _count_more(value: Any) -> int:
    return max(len(cast("list[Any]", value)) - MAX_VALUES, 0) if isinstance(value, list) else 0


FieldType = Annotated[Word, BeforeValidator(_format_type), read_at("schema")]


class JiraField(ResultModel):
    id: Identifier
    name: Word = ""
    type: FieldType = ""
    custom: Flag = False


class JiraFields(CountedPage):
    fields: list[JiraField]


class JiraIssueType(ResultModel):
    id: Identifier
    name: Word = ""
    description: Word = ""
    subtask: Flag = False


class CreateField(ResultModel):
    """A field of a new issue. `more` values are allowed than those that are listed."""

    id: Annotated[Identifier, read_at("fieldId")]
    name: Word = ""
    type: FieldType = ""
    has_default: Annotated[Flag, read_at("hasDefaultValue"), Field(exclude=True)] = False
    required: Flag = False
    allowed: Annotated[
        list[str],
        BeforeValidator(_list_allowed),
        read_at("allowedValues"),
        Field(exclude_if=lambda values: not values),
    ] = []  # noqa: RUF012
    more: Annotated[Count, BeforeValidator(_count_more), read_at("allowedValues")] = 0

    @field_validator("required")
    @classmethod
    def _take_default(cls, required: bool, info: ValidationInfo) -> bool:
        return required and not info.data.get("has_default")


class CreateFields(CountedPage):
    """Types of issues, or the fields of one."""

    types: Annotated[list[JiraIssueType], Field(exclude_if=lambda values: not values)] = []  # noqa: RUF012
    fields: Annotated[list[CreateField], Field(exclude_if=lambda values: not values)] = []  # noqa: RUF012


@tool(hints=READ_HINTS, scopes=[READ_WORK])
async def list_fields(
    context: Context,
    query: Annotated[OptionalParameter[ShortText], Field(description="Part of a name or id")] = None,
    per_page: PerPage = 50,
    cursor: CursorText = None,
) -> JiraFields:
    """Fields of the site with their ids, custom ones first."""
    wanted = (query or "").casefold()
    asked = parse_cursor(cursor, WHOLE, f"fields {wanted}", per_page)
    answer = await fetch_fields(context)
    read = await read_rows(answer, JiraField, answer.read(list[Any]))
    rows = [one for one in read.rows if wanted in f"{one.name} {one.id}".casefold()]
    rows.sort(key=lambda one: (not one.custom, one.name.casefold()))
    page = cut_page(asked, ReadRows(rows, read.unreadable))
    return JiraFields(fields=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ_WORK])
async def get_create_fields(
    context: Context,
    project: ProjectKey,
    type: Annotated[OptionalParameter[ShortText], Field(description="Issue type: name or id")] = None,
    per_page: PerPage = 50,
    cursor: CursorText = None,
) -> CreateFields:
    """List what a new issue needs: without type, a project's issue types; with it, the fields of that type."""
    address = build_path("/rest/api/3/issue/createmeta/{}/issuetypes", project)
    if not type:
        types = await rest_client.fetch_page(
            context, JiraIssueType, address, rows="issueTypes", cursor=cursor, per_page=per_page
        )
        return CreateFields(types=types.rows, **types.fields)
    identity = type if type.isdigit() else await _find_type(context, address, type)
    address = build_path("/rest/api/3/issue/createmeta/{}/issuetypes/{}", project, identity)
    page = await rest_client.fetch_page(context, CreateField, address, rows="fields", cursor=cursor, per_page=per_page)
    return CreateFields(fields=page.rows, **page.fields)


async def _find_type(context: Context, address: str, name: str) -> str:
    page = await rest_client.fetch_page(context, JiraIssueType, address, rows="issueTypes", cursor=None, per_page=100)
    for one in page.rows:
        if one.name.casefold() == name.strip().casefold():
            return one.id
    raise ToolError(
        f"type: the project has no such issue type; it has: {', '.join(one.name for one in page.rows)[:1000]}"
    )


TOOLS = (list_fields, get_create_fields)
