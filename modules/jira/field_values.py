"""Values of an issue's fields, as a model reads and writes them. People are ``Name (accountId)``, texts Markdown."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field

from modules.jira.parameters import check_day
from modules.kit import ToolError
from modules.kit.markup.adf_formatting import format_adf
from modules.kit.markup.adf_parsing import parse_adf
from modules.kit.results import Identifier, ResultModel, Word
from modules.kit.text_cleaning import clean_line, clean_text

MAX_VALUE = 2_000
"""Characters of one value among others."""
MAX_WHOLE_VALUE = 10**7
"""Of one that is read alone, part by part: more than Jira keeps."""
MAX_MEMBERS = 100
"""Of a list among other values."""
MAX_DEPTH = 3
"""Of lists in lists; below, JSON says it."""
_TEXT_TYPES = ("textarea", "description", "environment")
_JIRA_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{1,6}(?:Z|[+-][0-9]{2}:?[0-9]{2})", re.ASCII
)
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,15}(?:Z|[+-][0-9]{2}:?[0-9]{2})")
_ID = re.compile(r"id:[0-9]{1,18}")


class RemovedFromIssue(ResultModel):
    id: Identifier
    deleted: Annotated[bool, Field(description="Always true")] = True


def get_mapping(value: Any) -> Mapping[str, Any]:
    """Return an object of Jira's JSON; an empty one for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def list_mappings(value: Any) -> list[dict[str, Any]]:
    """List the objects in a list of Jira's JSON; what is none is left out."""
    return [one for one in cast("list[Any]", value) if isinstance(one, dict)] if isinstance(value, list) else []


def format_person(value: Any) -> Any:
    """Format a person as ``Name (accountId)``."""
    if not isinstance(value, Mapping):
        return value or ""
    person = cast("Mapping[str, Any]", value)
    identity = person.get("accountId") or ""
    name = clean_line(str(person.get("displayName") or "")) or "unknown"
    return f"{name} ({identity})" if identity else name


def format_named(value: Any) -> Any:
    """Format an object that has a name as the name."""
    return cast("Mapping[str, Any]", value).get("name") or "" if isinstance(value, Mapping) else value


def format_moment(value: Any) -> Any:
    """Format a moment of Jira's, such as ``2026-01-31T12:00:00.000+0100``, with a zone that others read, too."""
    if not isinstance(value, str) or not _JIRA_MOMENT.fullmatch(value):
        return value
    try:
        return datetime.fromisoformat(value).isoformat(timespec="seconds")
    except ValueError:
        return value


Person = Annotated[Word, BeforeValidator(format_person)]
Named = Annotated[Word, BeforeValidator(format_named)]
Moment = Annotated[Word, BeforeValidator(format_moment)]


def format_value(value: Any, depth: int = 0, limit: int = MAX_VALUE) -> Any:
    """Format a field's value: a text, number, boolean or list; None for an empty one. What is longer than `limit`
    characters, or than a list of :data:`MAX_MEMBERS`, ends with an ellipsis."""
    if isinstance(value, str):
        return _cut(clean_text(str(format_moment(value))), limit)
    if isinstance(value, list):
        members = cast("list[Any]", value)
        if depth == MAX_DEPTH:
            return _dump(members, limit)
        most = MAX_MEMBERS if limit == MAX_VALUE else len(members)
        made = [format_value(one, depth + 1, limit) for one in members[:most]]
        return [one for one in (*made, "…" if len(members) > most else None) if one is not None] or None
    if not isinstance(value, dict):
        return value
    return _format_object(cast("dict[str, Any]", value), depth, limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _dump(value: Any, limit: int) -> str | None:
    """A value of a field that only an application knows, as its JSON; None for what says nothing."""
    text = clean_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return None if text in ("{}", "[]", '{"errors":{},"isEmpty":true}') else _cut(text, limit)


def format_whole_value(value: Any) -> str:
    """Format a field's value as a text of any length; "" for an empty one."""
    if isinstance(value, dict) and cast("dict[str, Any]", value).get("type") == "doc":
        return format_adf(value)
    if isinstance(value, str):
        return clean_text(value)
    shown = format_value(value, limit=MAX_WHOLE_VALUE)
    return "" if shown is None else json.dumps(shown, ensure_ascii=False) if not isinstance(shown, str) else shown


def _format_object(value: dict[str, Any], depth: int, limit: int) -> Any:
    if value.get("type") == "doc":
        return format_value(format_adf(value), depth, limit) or None
    if "accountId" in value:
        return format_person(value)
    if "value" in value and not isinstance(value["value"], dict):
        child = value.get("child")
        below = format_value(child, depth + 1, limit) if isinstance(child, dict) and depth < MAX_DEPTH else None
        shown = clean_line(str(value["value"]))
        return f"{shown} / {below}" if below else shown
    for name in ("name", "key", "displayName", "title"):
        if isinstance(value.get(name), str):
            return clean_line(value[name])
    return _dump(value, limit)


def make_value(name: str, value: Any, schema: Mapping[str, Any]) -> Any:
    """Make what a request needs of a value, by the schema of its field (``type``, ``items``, ``system``, ``custom``).

    Raises:
        ToolError: the value is not of the field's type.
    """
    if value is None:
        return None
    kind = str(schema.get("type") or "any")
    if kind == "array":
        values = cast("list[Any]", value) if isinstance(value, list) else [value]
        return [make_value(name, one, {"type": schema.get("items")}) for one in values]
    custom = str(schema.get("custom") or schema.get("system") or "").rpartition(":")[2]
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    if kind == "string":
        _demand(isinstance(value, str), name, "a text")
        return parse_adf(value) if custom in _TEXT_TYPES else value
    made = _MAKERS.get(kind)
    return made(name, value) if made else value


def _demand(holds: bool, name: str, what: str) -> None:
    if not holds:
        raise ToolError(f"fields: {name[:60]} takes {what}")


def _make_number(name: str, value: Any) -> Any:
    _demand(isinstance(value, (int, float)) and not isinstance(value, bool), name, "a number")
    return value


def _make_day(name: str, value: Any) -> Any:
    try:
        return check_day(str(value))
    except ValueError:
        raise ToolError(f"fields: {name[:60]} takes a day that exists, such as 2026-01-31") from None


def _make_moment(name: str, value: Any) -> Any:
    text = str(value)
    _demand(_MOMENT.fullmatch(text) is not None, name, "a time with its zone, such as 2026-01-31T12:00:00+01:00")
    try:
        return format_started(datetime.fromisoformat(text))
    except ValueError:
        raise ToolError(f"fields: {name[:60]} takes a time that exists") from None


def format_started(moment: datetime) -> str:
    """Format a moment with its zone in the one form that Jira takes."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}" + moment.strftime("%z")


def _make_option(_name: str, value: Any) -> Any:
    text = str(value)
    return {"id": text[3:]} if _ID.fullmatch(text) else {"value": text}


def _make_cascade(_name: str, value: Any) -> Any:
    first, _, second = str(value).partition(" / ")
    return {"value": first, **({"child": {"value": second}} if second else {})}


def _make_named(_name: str, value: Any) -> Any:
    text = str(value)
    return {"id": text[3:]} if _ID.fullmatch(text) else {"name": text}


_MAKERS: Mapping[str, Callable[[str, Any], Any]] = {
    "number": _make_number,
    "date": _make_day,
    "datetime": _make_moment,
    "option": _make_option,
    "option-with-child": _make_cascade,
    "user": lambda _, value: {"accountId": str(value)},
    "group": _make_named,
    "priority": _make_named,
    "resolution": _make_named,
    "version": _make_named,
    "component": _make_named,
    "issuetype": _make_named,
    "securitylevel": _make_named,
    "project": lambda _, value: {"key": str(value)},
    "issuelink": lambda _, value: {"key": str(value)},
}
