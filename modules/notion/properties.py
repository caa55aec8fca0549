"""Values of properties: what Notion answers as plain values, and plain values as it takes them
(https://developers.notion.com/reference/page-property-values)."""

import re
from collections.abc import Mapping
from typing import Any, cast

from modules.kit import ToolError
from modules.kit.text_cleaning import clean_line, clean_text, clean_url
from modules.notion.dates import check_date, parse_date_text
from modules.notion.rich_text import format_rich_text, parse_rich_text

_MAX_VALUES = 100
_NAMED = re.compile(r".* \(([0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12})\)", re.DOTALL)
"""What has a name beside its id, as values are shown."""
_NEVER_SET = frozenset(
    {"formula", "rollup", "created_time", "created_by", "last_edited_time", "last_edited_by", "unique_id", "button"}
)


def read_properties(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Read a page's properties as plain values by name; empty ones are left out."""
    found = {clean_line(name): read_property(value) for name, value in properties.items()}
    return {name: value for name, value in found.items() if value not in (None, "", [])}


def find_title(properties: Mapping[str, Any]) -> str:
    """Find the title among a page's properties."""
    titles = [read_property(value) for value in properties.values() if _get_type(value) == "title"]
    return clean_line(titles[0]) if titles and isinstance(titles[0], str) else ""


def _get_type(value: Any) -> str:
    return str(cast("Mapping[str, Any]", value).get("type")) if isinstance(value, Mapping) else ""


def read_property(value: Any) -> Any:
    """Read one property's value: a text, a number, a boolean or a list; None for one that is not as documented."""
    try:
        return _read_documented(value)
    except (AttributeError, TypeError, LookupError, ValueError):
        return None


def _read_documented(value: Mapping[str, Any]) -> Any:
    kind = _get_type(value)
    content: Any = value.get(kind)
    if content is None:
        return None
    match kind:
        case "title" | "rich_text":
            return format_rich_text(_list_members(content))
        case "select" | "status" | "place":
            return clean_line(str(content.get("name") or ""))
        case "multi_select":
            return [clean_line(str(one.get("name"))) for one in content]
        case "date":
            return format_date(content)
        case "people":
            return [format_person(one) for one in _list_members(content)]
        case "created_by" | "last_edited_by":
            return format_person(content)
        case "relation":
            ids = [str(one.get("id")) for one in _list_members(content)]
            return [*ids, "…"] if value.get("has_more") else ids
        case "files":
            return [_format_file(one) for one in content]
        case "formula" | "rollup":
            return _read_computed(content)
        case "unique_id":
            return f"{content['prefix']}-{content['number']}" if content.get("prefix") else content.get("number")
        case "verification":
            return content.get("state")
        case "button":
            return None
        case "url" if isinstance(content, str):
            return clean_url(content)
        case "string" if isinstance(content, str):  # of a formula
            return clean_text(content)
        case _:
            return clean_line(content) if isinstance(content, str) else content


def _list_members(content: Any) -> list[dict[str, Any]]:
    """A page has lists of these, the answer about one property its members one by one."""
    return cast("Any", content if isinstance(content, list) else [content])


def _read_computed(content: Mapping[str, Any]) -> Any:
    if content.get("type") == "array":
        return [read_property(one) for one in content.get("array") or ()]
    return read_property(content)


def _format_file(file: Mapping[str, Any]) -> str:
    source = cast("Mapping[str, Any]", file.get("external") or file.get("file") or {})
    return f"{clean_line(str(file.get('name')))}: {clean_url(str(source.get('url') or ''))}"


def format_person(person: Mapping[str, Any]) -> str:
    """Format a person with name and id."""
    return format_named(str(person.get("id") or ""), clean_line(str(person.get("name") or "")))


def format_named(identity: str, name: str) -> str:
    """Format an id with the name beside it, which a value that is given back may have."""
    return f"{name} ({identity})" if name else identity


def format_date(date: Mapping[str, Any]) -> str:
    """Format a date or a span as ``start`` or ``start/end``, with the zone behind it where there is one."""
    span = f"{date.get('start')}/{date['end']}" if date.get("end") else str(date.get("start"))
    return f"{span} {date['time_zone']}" if date.get("time_zone") else span


def make_properties(values: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    """Make the properties of a request out of plain values; `types` are those of the properties by name.

    Raises:
        ToolError: there is no such property, or its value does not fit; the text names it.
    """
    made: dict[str, Any] = {}
    for name, value in values.items():
        if name not in types:
            known = ", ".join(sorted(types)[:30])
            raise ToolError(f"there is no property {name[:100]!r}; there are {known}")
        made[name] = {types[name]: make_value(name, types[name], value)}
    return made


def make_value(name: str, kind: str, value: Any) -> Any:
    """Make the value of one property of a request.

    Raises:
        ToolError: it does not fit the property's type.
    """
    if kind in _NEVER_SET:
        raise ToolError(f"{name!r} is a {kind}, which Notion sets itself")
    plain: Any = value
    if isinstance(plain, dict) and kind in plain:
        documented: object = cast("dict[str, Any]", plain)[kind]
        if kind == "date" and isinstance(documented, dict):
            return check_date(repr(name), cast("dict[str, Any]", documented))
        return documented
    match kind, cast("object", plain):
        case (("title" | "rich_text"), str() | None):
            return parse_rich_text(value or "")
        case (("select" | "status"), str() | None):
            return {"name": value} if value else None
        case "date", str() | None:
            return parse_date_text(repr(name), value) if value else None
        case "checkbox", bool():
            return value
        case "number", int() | float() | None if not isinstance(value, bool):
            return value
        case (("url" | "email" | "phone_number"), str() | None):
            return value or None
        case (("multi_select" | "people" | "relation" | "files"), list() | None):
            return [_make_member(name, kind, one) for one in _check_count(name, cast("list[Any]", value or []))]
        case _:
            raise ToolError(f"{name!r} is a {kind}: give {_FORMS.get(kind, 'what Notion documents, as an object')}")


def _check_count(name: str, values: list[Any]) -> list[Any]:
    if len(values) > _MAX_VALUES:
        raise ToolError(f"{name!r} has {len(values)} values, and Notion takes {_MAX_VALUES} at once")
    return values


_FORMS = {
    "title": "a text", "rich_text": "a text", "select": "the name of an option", "status": "the name of an option",
    "date": "a date such as 2026-01-31, a time with its zone, or start/end", "checkbox": "true or false",
    "number": "a number", "url": "an address", "email": "an address", "phone_number": "a text",
    "multi_select": "a list of names of options", "people": "a list of ids of users",
    "relation": "a list of ids of pages", "files": "a list of addresses",
}  # fmt: skip


def _make_member(name: str, kind: str, member: Any) -> dict[str, Any]:
    if not isinstance(member, str) or not member:
        raise ToolError(f"{name!r} is a {kind}: give {_FORMS[kind]}")
    match kind:
        case "multi_select":
            return {"name": member}
        case "files":
            return {"name": member.rsplit("/", 1)[-1][:100] or "file", "external": {"url": member}}
        case _:
            named = _NAMED.fullmatch(member)
            return {"id": named[1] if named else member}
