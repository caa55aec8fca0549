"""The arguments of get_module_schema, checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from gateway.sieve.tool_search import MAX_QUERY_LENGTH

MAX_MODULES = 20
MAX_TOOLS = 100
MAX_NAME_LENGTH = 64
MAX_CURSOR_DIGITS = 7


class SchemaDetail(StrEnum):
    """How much is said of a tool: its schema, its name and what it does, its name."""

    FULL = "full"
    BRIEF = "brief"
    NAMES = "names"


_DETAILS = frozenset(detail.value for detail in SchemaDetail)


class InvalidSchemaRequest(Exception):
    """The request has the wrong form; the text says what was expected."""


@dataclass(frozen=True, slots=True)
class SchemaRequest:
    """`tools` is empty for all tools; `have` maps a module to the digest that the caller has; `query` is None where
    nothing is searched; `position` is where the page begins."""

    modules: tuple[str, ...]
    tools: tuple[str, ...]
    known_digests: Mapping[str, Any]
    query: str | None
    detail: SchemaDetail | None
    position: int


def parse_schema_request(params: Mapping[str, Any]) -> SchemaRequest:
    """Parse the arguments.

    Raises:
        InvalidSchemaRequest: as the name says.
    """
    modules = _parse_names(params.get("module"), "module", MAX_MODULES)
    tools = _parse_names(params.get("tools"), "tools", MAX_TOOLS)
    query = _parse_query(params.get("query"))
    if query is not None and tools:
        raise InvalidSchemaRequest("query searches, tools names: send one of them")
    return SchemaRequest(
        modules,
        tools,
        _parse_known_digests(params.get("have"), modules),
        query,
        _parse_detail(params.get("detail")),
        _parse_cursor(params.get("cursor")),
    )


def _parse_names(value: Any, field: str, limit: int) -> tuple[str, ...]:
    names: list[Any] = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(value, str | list | None) or not all(isinstance(name, str) for name in names):
        raise InvalidSchemaRequest(f"{field} must be a name or a list of names")
    if len(names) > limit or any(len(name) > MAX_NAME_LENGTH for name in names):
        raise InvalidSchemaRequest(f"{field} takes at most {limit} names of at most {MAX_NAME_LENGTH} characters")
    return tuple(dict.fromkeys(names))


def _parse_known_digests(value: Any, modules: tuple[str, ...]) -> Mapping[str, Any]:
    if value is None:
        return {}
    if isinstance(value, str):
        return dict.fromkeys(modules, value)
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    raise InvalidSchemaRequest("have must be the digest that you got, or an object {module: digest}")


def _parse_query(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and 0 < len(value) <= MAX_QUERY_LENGTH):
        return value
    raise InvalidSchemaRequest(f"query must be a text of 1 to {MAX_QUERY_LENGTH} characters")


def _parse_detail(value: Any) -> SchemaDetail | None:
    if value is None:
        return None
    if isinstance(value, str) and value in _DETAILS:
        return SchemaDetail(value)
    raise InvalidSchemaRequest("detail must be full, brief or names")


def _parse_cursor(value: Any) -> int:
    if value is None:
        return 0
    text = str(value) if type(value) is int else value
    if isinstance(text, str) and len(text) <= MAX_CURSOR_DIGITS and text.isascii() and text.isdigit():
        return int(text)
    raise InvalidSchemaRequest("cursor must be the next_cursor of the answer before, with the same other arguments")
