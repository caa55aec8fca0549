"""What an odd value in a vendor's answer costs: it should be the field, not the row."""

from collections.abc import Iterator
from typing import Any

import orjson
from pydantic import BaseModel

from modules.kit import VendorAnswer, VendorProblem
from modules.kit.results import read_part

Json = dict[str, Any]
Place = tuple[str | int, ...]
ODD_VALUES: tuple[Any, ...] = (None, 5, True, "x", ["x"], [5], [None], {"x": "y"}, {})
ANSWER = VendorAnswer(200, {}, b"", write=False)


def find_losses(shape: type[BaseModel], row: Json) -> list[str]:
    """List the places of a row at which an odd value costs more than what is made of that place: the whole row, or what
    is made of another one."""
    usual = _read(shape, row)
    assert usual is not None, "the row itself cannot be read"
    losses: list[str] = []
    for place in _list_places(row):
        without = _read(shape, _replace(row, place)) or {}
        kept = {name for name, value in usual.items() if without.get(name) == value}
        for odd in ODD_VALUES:
            found = _read(shape, _replace(row, place, odd)) or {}
            lost = sorted(name for name in kept if found.get(name) != usual[name])
            if lost or (not found and without):
                losses.append(f"{'.'.join(map(str, place))} = {odd!r} costs {', '.join(lost) or 'the row'}")
    return losses


def _read(shape: type[BaseModel], row: Json) -> Json | None:
    try:
        return read_part(ANSWER, shape, row).model_dump(mode="json")
    except VendorProblem:
        return None


def _list_places(value: Any, above: Place = ()) -> Iterator[Place]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for name, below in pairs:
        yield (*above, name)
        yield from _list_places(below, (*above, name))


def _replace(row: Json, place: Place, *values: Any) -> Json:
    """The row with another value at a place, or without that place."""
    changed = orjson.loads(orjson.dumps(row))
    parent: Any = changed
    for name in place[:-1]:
        parent = parent[name]
    if values:
        parent[place[-1]] = values[0]
    else:
        del parent[place[-1]]
    return changed
