"""Ids of items as callers write them: 7, "7" or "task-7", which is split at its last hyphen."""

from collections.abc import Sequence
from typing import NamedTuple

from modules.items.errors import build_invalid, build_not_found
from modules.items.models import MAX_NUMBER, MAX_TYPE_LENGTH, check_line


class ItemKey(NamedTuple):
    """The type and the number of an item, which name it in its workspace."""

    type: str
    number: int

    def __str__(self) -> str:
        return f"{self.type}-{self.number}"


def parse_id(type: str, id: int | str, field: str = "id") -> ItemKey:
    """Parse an id that stands beside a type.

    Raises:
        DocumentedError: it is no id, or one of another type, or of no item there can be.
    """
    if isinstance(id, int):
        return _build_key(type, id, id)
    text = id.strip()
    if text.isascii() and text.isdigit():
        return _build_key(type, int(text), id)
    named, _, number = text.rpartition("-")
    if not (named and number.isascii() and number.isdigit()):
        raise build_invalid(field, id, "must be a number or type-number, such as task-7")
    if _read_type(named) != type:
        raise build_invalid(field, id, "must be an id of the given type")
    return _build_key(type, int(number), id)


def parse_key(text: str, field: str) -> ItemKey:
    """Parse a key such as ``task-7``.

    Raises:
        DocumentedError: it is none, or of no item there can be.
    """
    named, _, number = text.strip().rpartition("-")
    type = _read_type(named)
    if type is None or not (number.isascii() and number.isdigit()):
        raise build_invalid(field, text, "must be type-number, such as task-7")
    return _build_key(type, int(number), text)


def parse_keys(texts: Sequence[str], field: str) -> list[ItemKey]:
    """Parse keys; each is returned once, in the order of the texts.

    Raises:
        DocumentedError: one is none, or of no item there can be.
    """
    return list(dict.fromkeys(parse_key(text, f"{field}[{number}]") for number, text in enumerate(texts)))


def _read_type(text: str) -> str | None:
    try:
        type = check_line(text)
    except ValueError:
        return None
    return type if len(type) <= MAX_TYPE_LENGTH else None


def _build_key(type: str, number: int, requested: int | str) -> ItemKey:
    if not 0 < number <= MAX_NUMBER:
        raise build_not_found(type, requested)
    return ItemKey(type, number)
