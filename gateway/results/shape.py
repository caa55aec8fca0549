"""The shape of a JSON value in a few words, such as ``{issues: [{key: str, labels: [str]}], total: int}``."""

from collections.abc import Iterable
from typing import Any, cast

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
    kinds = dict.fromkeys(_name_kind(value, values, depth) for value in values)
    return "|".join(kinds) or "any"


def _name_kind(value: Any, values: list[Any], depth: int) -> str:
    if isinstance(value, dict):
        return _describe_objects([cast("dict[str, Any]", one) for one in values if isinstance(one, dict)], depth)
    if isinstance(value, list):
        return _describe_arrays([cast("list[Any]", one) for one in values if isinstance(one, list)], depth)
    return _SCALARS[type(value)]


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
