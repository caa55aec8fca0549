"""Vendors' JSON that is not as described, and arguments that are none."""

import re
from collections.abc import Iterator, Set
from typing import Any, get_args

import annotated_types
from pydantic.fields import FieldInfo

Json = dict[str, Any]
NO_IDS = ("../x", "a b/c", "", "a\u202eb", "x" * 3_000, 5.5)
TIMES = frozenset({
    "since", "until", "before", "start", "end", "due", "due_on", "started", "reminder", "time_min", "time_max",
})  # fmt: skip
NO_TIMES = (
    "2026-02-30", "2026-02-30T10:00:00Z", "2026-01-31T25:00:00Z", "next week",
    "2026", "20260131", "1767225600", 1767225600,
)  # fmt: skip
NO_ZONE = "2026-01-31T10:00:00"


def find_bad_values(name: str, field: FieldInfo, *, is_id: bool, has_zone: bool) -> list[Any]:
    """List values that a parameter must refuse; `has_zone`: another one gives the zone of a time."""
    values: list[Any] = [*NO_IDS] if is_id else []
    if name in TIMES:
        values += NO_TIMES if has_zone else [*NO_TIMES, NO_ZONE]
    if (most := find_max_length(field)) and most <= 1_000_000:
        values.append("x" * (most + 1))
    return [*values, {"a": 1}] if values else []


def find_max_length(field: FieldInfo) -> int:
    """Find how long a text may be at most; 0 for no text or no limit."""
    annotation = field.annotation
    limits = [one for one in field.metadata if isinstance(one, annotated_types.MaxLen)]
    found = list(_iterate_texts(annotation, limits))
    return max(found, default=0)


def _iterate_texts(annotation: Any, limits: list[annotated_types.MaxLen]) -> Iterator[int]:
    if annotation is str:
        yield min((one.max_length for one in limits), default=0)
        return
    metadata = getattr(annotation, "__metadata__", ())
    inner = [part for one in metadata if isinstance(one, FieldInfo) for part in one.metadata] + list(metadata)
    own = [one for one in inner if isinstance(one, annotated_types.MaxLen)]
    if metadata:
        yield from _iterate_texts(get_args(annotation)[0], [*limits, *own])
    elif "Union" in str(getattr(annotation, "__class__", "")) or "Union" in str(getattr(annotation, "__origin__", "")):
        for member in get_args(annotation):
            yield from _iterate_texts(member, limits)


def find_rows(value: Json) -> str:
    """Name the field with the rows of a result; "" for none."""
    return next((name for name, one in value.items() if isinstance(one, list)), "")


def find_raw_rows(body: Any) -> list[Any]:
    """Find the rows in a vendor's list."""
    if isinstance(body, list):
        return body
    return next((one for one in body.values() if isinstance(one, list) and one and isinstance(one[0], dict)), [])


def replace_rows(body: Any, rows: list[Any]) -> Any:
    """The document with other rows."""
    found = find_raw_rows(body)
    return rows if found is body else {name: rows if one is found else one for name, one in body.items()}


def find_inner_rows(body: Any) -> tuple[str, ...] | None:
    """Find the outermost list of at least two objects in a vendor's document, or the object that has them by their ids;
    the names that lead there. None for none."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), body)]
    for path, value in waiting:
        rows = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        are_alike = len(rows) > 1 and all(isinstance(one, dict) and one.keys() == rows[0].keys() for one in rows)
        if are_alike:
            return path
        if isinstance(value, dict):
            waiting.extend(((*path, name), one) for name, one in value.items())
    return None


def get_inner_rows(body: Any, path: tuple[str, ...]) -> list[Any]:
    """The rows that names lead to."""
    for name in path:
        body = body[name]
    return list(body.values()) if isinstance(body, dict) else body


def replace_inner_rows(body: Any, path: tuple[str, ...], rows: list[Any]) -> Any:
    """The document with other rows where names lead; those that stand by their ids keep the first of these."""
    if path:
        return {**body, path[0]: replace_inner_rows(body[path[0]], path[1:], rows)}
    return dict(zip(body, rows, strict=False)) if isinstance(body, dict) else rows


def list_odd_rows(row: Any) -> list[Any]:
    """Rows with the names of `row` and odd values."""
    names = list(row) if isinstance(row, dict) else []
    return [dict.fromkeys(names, odd) for odd in (None, 5, "x", ["x"], {"x": "y"})]


def list_broken_documents(body: Any) -> list[Any]:
    """Documents with a part that is missing or odd: each field alone, and all at once."""
    if isinstance(body, list):
        return [[], [None], [5], {}]
    without = [{other: one for other, one in body.items() if other != name} for name in body]
    return [*without, *list_odd_rows(body)]


def add_unknown_fields(value: Any, apart: Set[str]) -> Any:
    """Add a field that nobody knows to every object, but in those that are named in `apart`."""
    if isinstance(value, list):
        return [add_unknown_fields(one, apart) for one in value]
    if not isinstance(value, dict):
        return value
    grown = {name: one if name in apart else add_unknown_fields(one, apart) for name, one in value.items()}
    return {**grown, "brandNewField": {"x": [1]}, "brand_new": "x"}


def lengthen_texts(document: Any, written: str, length: int) -> Any:
    """The document with each text in which `written` matches repeated up to `length` characters, as one line."""
    if isinstance(document, dict):
        return {name: lengthen_texts(value, written, length) for name, value in document.items()}
    if isinstance(document, list):
        return [lengthen_texts(value, written, length) for value in document]
    if not isinstance(document, str) or "\n" in document or len(document) > length or not re.search(written, document):
        return document
    return (f"{document} " * length)[: length - 1] + "."


INVISIBLE = "\u202e\u200b\U000e0041"
"""Characters that nobody sees: one that turns the text around, one without width, one of Unicode's tags."""


def hide_characters(document: Any, written: str) -> Any:
    """The document with invisible characters behind each text in which `written` matches."""
    if isinstance(document, dict):
        return {name: hide_characters(value, written) for name, value in document.items()}
    if isinstance(document, list):
        return [hide_characters(value, written) for value in document]
    if isinstance(document, bytes):
        return hide_characters(document.decode("utf-8", "surrogateescape"), written).encode("utf-8", "surrogateescape")
    return re.sub(written, rf"\g<0>{INVISIBLE}", document) if isinstance(document, str) else document


def find_cut_texts(value: Any, written: str) -> list[str]:
    """The texts in an answer in which `written` matches and that end with an ellipsis, where no field beside them or
    around them says that something was cut: such a field has a name with ``truncated`` or ``next``. An excerpt of a
    search is a part by its name."""
    if isinstance(value, dict):
        if any(flag for name, flag in value.items() if "truncated" in name or "next" in name):
            return []
        return [text for name, one in value.items() if name != "excerpt" for text in find_cut_texts(one, written)]
    if isinstance(value, list):
        return [text for one in value for text in find_cut_texts(one, written)]
    is_cut = isinstance(value, str) and re.search(written, value) and re.search(r"…( \(\d+ characters\))?$", value)
    return [value] if is_cut else []
