"""Which fields there are, and which of them a new issue takes."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import Field, model_validator

from modules.jira import rest_client
from modules.jira.field_values import format_value
from modules.jira.fields import fetch_fields
from modules.jira.parameters import READ_WORK, ProjectKey
from modules.kit import Context, ToolError, build_path, tool
from modules.kit.parameters import READ_HINTS, CursorText, OptionalParameter, PerPage, ShortText
from modules.kit.results import Count, Flag, Line, ResultModel, ResultPage, Word
from modules.kit.text_cleaning import clean_line

MAX_VALUES = 50


def _format_type(raw: Any) -> Any:
    """Add a field's type in a word, such as ``list of option``."""
    if not isinstance(raw, dict):
        return raw
    found = cast("dict[str, Any]", raw)
    schema = cast("Mapping[str, Any]", found.get("schema") or {})
    kind = str(schema.get("type") or "")
    return {**found, "type": f"list of {schema.get('items')}" if kind == "array" else kind}


class JiraField(ResultModel):
    id: Line
    name: Word = ""
    type: Word = ""
    custom: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        return _format_type(raw)


class JiraFields(ResultPage):
    fields: list[JiraField]
    total: Count = 0


class JiraIssueType(ResultModel):
    id: Line
    name: Word = ""
    description: Word = ""
    subtask: Flag = False


class CreateField(ResultModel):
    """A field of a new issue. `more` values are allowed than those that are listed."""

    id: Line
    name: Word = ""
    type: Word = ""
    required: Flag = False
    allowed: Annotated[list[str], Field(exclude_if=lambda values: not values)] = []  # noqa: RUF012
    more: Count = 0

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        found = cast("dict[str, Any]", _format_type(raw))
        values = found.get("allowedValues")
        allowed = cast("list[Any]", values) if isinstance(values, list) else []
        shown = [clean_line(str(format_value(one))) for one in allowed[:MAX_VALUES]]
        needed = bool(found.get("required")) and not found.get("hasDefaultValue")
        more = max(len(allowed) - MAX_VALUES, 0)
        identity = found.get("fieldId") or found.get("key")
        return {**found, "id": identity, "required": needed, "allowed": shown, "more": more}


class CreateFields(ResultPage):
    """Types of issues, or the fields of one."""

    types: Annotated[list[JiraIssueType], Field(exclude_if=lambda values: not values)] = []  # noqa: RUF012
    fields: Annotated[list[CreateField], Field(exclude_if=lambda values: not values)] = []  # noqa: RUF012
    total: Count = 0


@tool(hints=READ_HINTS, scopes=[READ_WORK])
async def list_fields(
    context: Context,
    query: Annotated[OptionalParameter[ShortText], Field(description="Part of a name or id")] = None,
    per_page: PerPage = 50,
    cursor: CursorText = None,
) -> JiraFields:
    """Fields of the site with their ids, custom ones first."""
    start = rest_client.parse_start(cursor)
    wanted = (query or "").casefold()
    fields = [one for one in await fetch_fields(context) if wanted in f"{one.get('name')} {one.get('id')}".casefold()]
    fields.sort(key=lambda one: (not one.get("custom"), str(one.get("name")).casefold()))
    end = start + per_page
    following = rest_client.build_start_cursor(end) if end < len(fields) else ""
    shown = [JiraField.model_validate(one) for one in fields[start:end]]
    return JiraFields(fields=shown, nextCursor=following, total=len(fields))


@tool(hints=READ_HINTS, scopes=[READ_WORK])
async def get_create_fields(
    context: Context,
    project: ProjectKey,
    type: Annotated[OptionalParameter[ShortText], Field(description="Issue type: name or id")] = None,
    per_page: PerPage = 50,
    cursor: CursorText = None,
) -> CreateFields:
    """What a new issue needs: without type, a project's issue types; with it, the fields of that type."""
    address = build_path("/rest/api/3/issue/createmeta/{}/issuetypes", project)
    if not type:
        listed = await rest_client.fetch_page(context, address, rows="issueTypes", cursor=cursor, per_page=per_page)
        return CreateFields(types=await listed.read(JiraIssueType), nextCursor=listed.next, total=listed.total)
    identity = type if type.isdigit() else await _find_type(context, address, type)
    address = build_path("/rest/api/3/issue/createmeta/{}/issuetypes/{}", project, identity)
    listed = await rest_client.fetch_page(context, address, rows="fields", cursor=cursor, per_page=per_page)
    return CreateFields(fields=await listed.read(CreateField), nextCursor=listed.next, total=listed.total)


async def _find_type(context: Context, address: str, name: str) -> str:
    listed = await rest_client.fetch_page(context, address, rows="issueTypes", cursor=None, per_page=100)
    types = await listed.read(JiraIssueType)
    for one in types:
        if one.name.casefold() == name.strip().casefold():
            return one.id
    raise ToolError(f"type: the project has no such issue type; it has: {', '.join(one.name for one in types)[:1000]}")


TOOLS = (list_fields, get_create_fields)
