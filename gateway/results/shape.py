"""The shape of a JSON value in a few words, such as ``{issues: [{key: str, labels: [str]}], total: int}``."""

from collections.abc import Iterable
from typing import Any

import orjson

MAX_ITEMS = 20
"""Items of an array that are looked at: their fields together are those of an item."""
MAX_FIELDS = 40
_DEEPEST = 6


def describe_shape(value: Any, most: int) -> str:
    """Describe a value in at most `most` characters, as deep as fits."""
    for depth in range(_DEEPEST, 0, -1):
        text = _describe([value], depth)
        if len(text) <= most:
            return text
    return _describe([value], 0)


def _describe(values: list[Any], depth: int) -> str:
    """Describe what all of these values are, which stand in the same place."""
    by_type: dict[type[Any], list[Any]] = {}
    for value in values:
        by_type.setdefault(value.__class__, []).append(value)
    return "|".join(_describe_alike(kind, alike, depth) for kind, alike in by_type.items())


def _describe_alike(kind: type, values: list[Any], depth: int) -> str:
    if kind is dict:
        return _describe_objects(values, depth)
    return _describe_arrays(values, depth) if kind is list else _SCALARS[kind]


_SCALARS = {str: "str", int: "int", float: "float", bool: "bool", type(None): "null"}


def _describe_objects(objects: list[dict[str, Any]], depth: int) -> str:
    names = list(dict.fromkeys(name for one in objects for name in one))
    if not names:
        return "{}"
    if depth == 0:
        return "{…}"
    fields = (
        f"{_format_name(name)}: {_describe([one[name] for one in objects if name in one], depth - 1)}"
        for name in names[:MAX_FIELDS]
    )
    more = f", and {len(names) - MAX_FIELDS} more" if len(names) > MAX_FIELDS else ""
    return f"{{{', '.join(fields)}{more}}}"


def _describe_arrays(arrays: list[list[Any]], depth: int) -> str:
    items = _take(one for array in arrays for one in array)
    if not items:
        return "[]"
    return f"[{_describe(items, depth)}]" if depth else "[…]"


def _take(items: Iterable[Any]) -> list[Any]:
    return [one for one, _ in zip(items, range(MAX_ITEMS), strict=False)]


def _format_name(name: str) -> str:
    return name if name.isidentifier() else orjson.dumps(name[:60]).decode()
