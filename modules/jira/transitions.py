"""The workflow of an issue: which steps are open to it, and taking one."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field

from modules.jira import rest_client
from modules.jira.field_values import Named, format_value, get_mapping, list_mappings, make_value
from modules.jira.fields import find_field
from modules.jira.parameters import INTERNAL_NOTE, READ_WORK, WRITE_WORK, FieldValues, IssueKey, Markdown
from modules.kit import Context, ToolError, VendorAnswer, build_path, run_in_turns, tool
from modules.kit.markup.adf_parsing import parse_adf
from modules.kit.parameters import ACTION_HINTS, READ_HINTS, OptionalParameter, limit_length
from modules.kit.results import Count, Identifier, ResultModel, Word, read_at, read_rows
from modules.kit.text_cleaning import clean_line

Row = dict[str, Any]


def list_fields(value: Any) -> list[Row]:
    """List the fields of a transition, each with its `id`."""
    return [{**get_mapping(field), "id": name} for name, field in get_mapping(value).items()]


def describe_field(field: Mapping[str, Any]) -> str:
    """Describe a field in a line: its name, and what it allows."""
    allowed = format_value(field.get("allowedValues"))
    values = [str(one) for one in cast("list[Any]", allowed)[:30]] if isinstance(allowed, list) else []
    shown = f": {', '.join(values)}" if values else ""
    return clean_line(f"{field.get('name') or field.get('key')}{shown}")


def _is_needed(field: Mapping[str, Any]) -> bool:
    return bool(field.get("required")) and not field.get("hasDefaultValue")


def _list_required(value: Any) -> list[str]:
    return [describe_field(field) for field in list_fields(value) if _is_needed(field)]


class JiraTransition(ResultModel):
    """A step; `to` is the status after it. `required` are fields that it needs, with what they allow."""

    id: Identifier
    name: Word = ""
    to: Named = ""
    required: Annotated[
        list[str], BeforeValidator(_list_required), read_at("fields"), Field(exclude_if=lambda values: not values)
    ] = []  # noqa: RUF012


class JiraTransitions(ResultModel):
    transitions: list[JiraTransition]
    unreadable: Count = 0


class MovedIssue(ResultModel):
    key: Identifier
    status: Word = ""


@tool(hints=READ_HINTS, scopes=[READ_WORK])
async def list_transitions(context: Context, issue: IssueKey) -> JiraTransitions:
    """Steps of the workflow that are open to an issue now."""
    found, answer = await _fetch_steps(context, issue)
    read = await read_rows(answer, JiraTransition, found)
    return JiraTransitions(transitions=read.rows, unreadable=read.unreadable)


async def _fetch_steps(context: Context, issue: str) -> tuple[list[Any], VendorAnswer]:
    address = build_path("/rest/api/3/issue/{}/transitions", issue)
    raw, answer = await rest_client.fetch_object(context, address, query={"expand": "transitions.fields"})
    return answer.read_part(list[Any], raw.get("transitions")), answer


@tool(
    hints=ACTION_HINTS,
    scopes=[READ_WORK, WRITE_WORK],
    keywords="close, done, complete, resolve, reopen, start, in progress; 完了, 着手",
)
async def transition_issue(
    context: Context,
    issue: IssueKey,
    to: Annotated[str, limit_length(1, 200), Field(description="Transition or status, or the transition's id")],
    fields: FieldValues = None,
    comment: Annotated[OptionalParameter[Markdown], Field(description="Markdown")] = None,
    internal: Annotated[bool, Field(description="Comment not for customers")] = False,
) -> MovedIssue:
    """Move an issue to another status."""
    if internal and not comment:
        raise ToolError("internal is said of a comment: give one, or leave it out")
    found, _ = await _fetch_steps(context, issue)
    step = _find_step([one for one in list_mappings(found) if one.get("id")], to)
    values = _make_fields(step, fields or {})
    body: Row = {"transition": {"id": str(step["id"])}}
    if values:
        body["fields"] = values
    if comment:
        note: Row = {"properties": INTERNAL_NOTE} if internal else {}
        document = await run_in_turns(parse_adf, comment, size=len(comment))
        body["update"] = {"comment": [{"add": {"body": document, **note}}]}
    await rest_client.send_change(context, "POST", build_path("/rest/api/3/issue/{}/transitions", issue), json=body)
    return MovedIssue(key=issue, status=_get_status(step))


def _get_status(step: Mapping[str, Any]) -> str:
    return str(get_mapping(step.get("to")).get("name") or "")


def _get_id(step: Mapping[str, Any]) -> str:
    return str(step.get("id"))


def _get_name(step: Mapping[str, Any]) -> str:
    return str(step.get("name"))


def _find_step(steps: Sequence[Row], to: str) -> Row:
    wanted = to.strip().casefold()
    for get_name in (_get_id, _get_name, _get_status):
        found = [one for one in steps if get_name(one).casefold() == wanted]
        if len(found) == 1:
            return found[0]
        if found:
            raise ToolError(f"to: several transitions fit, give the id of one: {_list_steps(found)}")
    open_steps = _list_steps(steps) or "none"
    raise ToolError(f"to: no such transition is open to the issue now; open are: {open_steps}")


def _list_steps(steps: Sequence[Row]) -> str:
    names = [f"{one.get('name')} (id {one.get('id')}, to {_get_status(one)})" for one in steps[:30]]
    return ", ".join(map(clean_line, names))


def _make_fields(step: Row, values: Mapping[str, Any]) -> Row:
    known = list_fields(step.get("fields"))
    made: Row = {}
    for name, value in values.items():
        field = find_field(known, name)
        made[str(field["id"])] = make_value(name, value, get_mapping(field.get("schema")))
    missing = [describe_field(field) for field in known if _is_needed(field) and field["id"] not in made]
    if missing:
        raise ToolError(f"fields: the transition needs {'; '.join(missing)}")
    return made


TOOLS = (list_transitions, transition_issue)
