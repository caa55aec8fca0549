"""Paths into a JSON value: the part of JSONPath (RFC 9535) that names values, without filters and descendants.

``$.issues[0].fields["due date"]``, a negative index, a slice ``[10:20]``, all by ``[*]``. The ``$`` may be left out,
and so may the dot behind it.
"""

import re
from collections.abc import Iterator
from typing import Any, cast

import orjson

from modules.kit import ToolError

MAX_PATH_LENGTH = 500

_NAME = r"[^\s.\[\]\"'*]+"
_SEGMENT = re.compile(
    rf"\.?(?P<name>{_NAME})|\.?(?P<all>\[\*\]|\*)|\[(?P<index>-?[0-9]{{1,9}})\]"
    rf"|\[(?P<start>-?[0-9]{{0,9}}):(?P<stop>-?[0-9]{{0,9}})\]"
    rf"|\[(?P<double>\"(?:[^\"\\]|\\.)*\")\]|\[(?P<single>'[^'\\]*')\]"
)
_PLAIN_NAME = re.compile(_NAME)
_MAX_NAMES = 12

Segment = str | int | slice
Path = tuple[Segment, ...]
_ALL = slice(None)


def parse_path(text: str) -> Path:
    """Parse a path; the empty one, and ``$``, is the whole value.

    Raises:
        ToolError: it is none; the text says how one is written.
    """
    rest = text.strip().removeprefix("$")
    segments: list[Segment] = []
    at = 0
    while at < len(rest):
        match = _SEGMENT.match(rest, at)
        # A name without a dot may only be the first one.
        if match is None or (match["name"] is not None and at > 0 and not match[0].startswith(".")):
            raise ToolError(
                f"not a path: {text[:80]!r}; write issues[0].fields.summary, issues[10:20] or issues[*].key"
            )
        segments.append(_read_segment(match))
        at = match.end()
    return tuple(segments)


def select(value: Any, path: Path) -> Any:
    """Select the value at a path. With a slice or ``*`` in it, the list of all values that it leads to; those that have
    no such value are passed over.

    Raises:
        ToolError: it leads nowhere; the text says what is there instead.
    """
    if any(isinstance(segment, slice) for segment in path):
        return list(_select_all(value, path))
    for depth, segment in enumerate(path):
        try:
            value = _descend(value, segment)
        except LookupError:
            raise ToolError(_explain_missing(value, path, depth)) from None
    return value


def select_or_none(value: Any, path: Path) -> Any:
    """Select as :func:`select` does, but None where the path leads nowhere."""
    try:
        return select(value, path)
    except ToolError:
        return None


def format_path(path: Path) -> str:
    """Format a path of names and indexes as it is parsed; the whole value is ``$``."""
    text = "".join(_format_segment(segment) for segment in path)
    return text.removeprefix(".") or "$"


def _format_segment(segment: Segment) -> str:
    if isinstance(segment, str):
        return f".{segment}" if _PLAIN_NAME.fullmatch(segment) else f"[{orjson.dumps(segment).decode()}]"
    if isinstance(segment, int):
        return f"[{segment}]"
    start, stop = ("" if one is None else one for one in (segment.start, segment.stop))
    return "[*]" if segment == _ALL else f"[{start}:{stop}]"


def _read_segment(match: re.Match[str]) -> Segment:
    found = match.groupdict()
    if found["name"] is not None:
        return found["name"]
    if found["all"] is not None:
        return _ALL
    if found["index"] is not None:
        return int(found["index"])
    if found["double"] is not None:
        try:
            return orjson.loads(found["double"])
        except orjson.JSONDecodeError:
            return found["double"][1:-1]
    if found["single"] is not None:
        return found["single"][1:-1]
    start, stop = (int(text) if text not in ("", "-") else None for text in (found["start"], found["stop"]))
    return slice(start, stop)


def _select_all(value: Any, path: Path) -> Iterator[Any]:
    if not path:
        yield value
        return
    segment, rest = path[0], path[1:]
    if isinstance(segment, slice):
        for one in _list_children(value)[segment]:
            yield from _select_all(one, rest)
        return
    try:
        value = _descend(value, segment)
    except LookupError:
        return
    yield from _select_all(value, rest)


def _list_children(value: Any) -> list[Any]:
    if isinstance(value, list):
        return cast("list[Any]", value)
    return list(cast("dict[str, Any]", value).values()) if isinstance(value, dict) else []


def _descend(value: Any, segment: Segment) -> Any:
    if isinstance(value, dict) and isinstance(segment, str):
        return cast("dict[str, Any]", value)[segment]
    if isinstance(value, list) and isinstance(segment, int):
        return cast("list[Any]", value)[segment]
    raise LookupError


def _explain_missing(value: Any, path: Path, depth: int) -> str:
    place, missing = format_path(path[:depth]), _format_segment(path[depth])
    if isinstance(value, dict):
        names = list(cast("dict[str, Any]", value))
        listed = ", ".join(orjson.dumps(name[:60]).decode() for name in names[:_MAX_NAMES])
        more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
        return f"{place} has no {missing}; it has: {listed}{more}"
    if isinstance(value, list):
        return f"{place} is an array of {len(cast('list[Any]', value))}; there is no {missing}"
    return f"{place} is {_name_type(value)}; there is no {missing} in it"


def _name_type(value: Any) -> str:
    return "null" if value is None else "a text" if isinstance(value, str) else "a number or a flag"
