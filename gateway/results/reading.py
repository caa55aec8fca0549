"""Parts of a kept result: a range of what is at a path, columns of its items, and where a text is found in it."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, cast

from gateway.results.fitting import Fitter, count_value, find_text_end
from gateway.results.json_path import Path, format_path, parse_path, select, select_or_none
from gateway.results.partial import build_within, render_remainders
from modules.kit import ToolError

MAX_MATCHES = 10_000
"""Matches that are counted."""
EXCERPT = 120
"""Characters around a match that are shown on both sides."""
_LEFT_SHARE = 8
_CONTENTS = 0.9
_KINDS = ((list, "array"), (dict, "object"), (str, "text"), (bool, "flag"), (int | float, "number"))
_NO_ROOM = "max_tokens is too small for this; give more"


def read_range(
    value: Any, path_text: str, start: int, count: int | None, columns: Sequence[str], budget: int
) -> dict[str, Any]:
    """Read from the position `start`, at most `count` of what is at a path: items of an array, fields of an object, or
    characters of a text, as many as are within the budget.

    Raises:
        ToolError: the path or a column is none, leads nowhere, or `start` is behind the end.
    """
    path = parse_path(path_text)
    found = select(value, path)
    total = len(cast("str", found)) if isinstance(found, list | dict | str) else None
    if start and (total is None or start >= total):
        raise ToolError(f"start {start} is behind the end: {format_path(path)} has {total or 0}")
    stop = None if count is None else start + count
    column_paths = [parse_path(column) for column in columns]
    if columns and not isinstance(found, list):
        raise ToolError(f"columns are of the items of an array, which {format_path(path)} is not")

    def build(tokens: int) -> dict[str, Any]:
        fitter = Fitter()
        if columns:
            part, shown = _build_rows(cast("list[Any]", found), column_paths, tokens, start, stop)
            part = {"columns": list(columns), "rows": part}
        else:
            part, shown = _build_part(found, fitter, path, tokens, start, stop)
        following = _find_next(fitter, path, shown, total)
        rest = render_remainders(fitter, budget // _LEFT_SHARE)
        head = {} if total is None else {"total": total, "start": start}
        return {
            "kind": _name_kind(found),
            **head,
            **part,
            **({"next": following} if following is not None else {}),
            **rest,
        }

    return _build(build, budget)


def search(value: Any, text: str, path_text: str, start: int, budget: int) -> dict[str, Any]:
    """Find a text, however its letters are written, in the texts and numbers below a path: matches from the one with
    the number `start` on, each with its path and what stands around it; `at` is its character in a long text.

    Raises:
        ToolError: the path is none or leads nowhere.
    """
    path = parse_path(path_text)
    matches = list(islice(_find_matches(select(value, path), path, _fold(text)), MAX_MATCHES))

    def build(tokens: int) -> dict[str, Any]:
        shown: list[dict[str, Any]] = []
        for match in matches[start:]:
            count = count_value(match, tokens)
            if count is None:
                break
            shown.append(match)
            tokens -= count + 1
        end = start + len(shown)
        return {"total": len(matches), "matches": shown, **({"next": end} if end < len(matches) else {})}

    return _build(build, budget)


def _build(build: Any, budget: int) -> dict[str, Any]:
    built = build_within(build, int(budget * _CONTENTS))
    if built is None:
        raise ToolError(_NO_ROOM)
    return built


def _build_part(
    found: Any, fitter: Fitter, path: Path, tokens: int, start: int, stop: int | None
) -> tuple[dict[str, Any], int]:
    """Return the part that fits, under the name of its kind, and where it ends."""
    if isinstance(found, list):
        items, _ = fitter.fit_items(cast("list[Any]", found), tokens, path, start, stop)
        return {"items": items}, start + len(items)
    if isinstance(found, str):
        end = find_text_end(found, tokens, start, len(found) if stop is None else min(stop, len(found)))
        return {"text": found[start:end]}, end
    if not isinstance(found, dict):
        return {"value": found}, 0
    fields = cast("dict[str, Any]", found)
    if start or stop is not None:
        shown, _ = fitter.fit_entries(fields, tokens, path, start, stop)
        return {"value": shown}, start + len(shown)
    if count_value(fields, tokens) is not None:
        return {"value": fields}, len(fields)
    shown, _ = fitter.fit(fields, tokens, path)
    return {"value": shown}, len(fields)


def _build_rows(
    items: list[Any], columns: list[Path], tokens: int, start: int, stop: int | None
) -> tuple[list[list[Any]], int]:
    """Return a row for each item, whole rows as far as they fit; a first one that is too large has null in place of its
    large cells."""
    rows: list[list[Any]] = []
    for item in items[start:stop]:
        row = [select_or_none(item, column) for column in columns]
        count = count_value(row, tokens)
        if count is None:
            if not rows:
                share = tokens // (len(columns) + 1)
                rows.append([cell if count_value(cell, share) is not None else None for cell in row])
            break
        rows.append(row)
        tokens -= count + 1
    return rows, start + len(rows)


def _name_kind(value: Any) -> str:
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "null")


def _find_next(fitter: Fitter, path: Path, shown: int, total: int | None) -> int | None:
    """Find where what is at the path goes on; its own remainder needs no line then."""
    fitter.left = [one for one in fitter.left if one.path != path]
    return shown if total is not None and shown < total else None


def _find_matches(value: Any, path: Path, folded: str) -> Iterator[dict[str, Any]]:
    """Find matches in depth-first order, without recursion: a value may be nested deeply."""
    pending: list[tuple[Any, Path]] = [(value, path)]
    while pending:
        node, place = pending.pop()
        if isinstance(node, dict):
            fields = list(cast("dict[str, Any]", node).items())
            pending.extend((child, (*place, name)) for name, child in reversed(fields))
        elif isinstance(node, list):
            children = cast("list[Any]", node)
            pending.extend((child, (*place, at)) for at, child in reversed(list(enumerate(children))))
        elif isinstance(node, str):
            yield from _find_in_text(node, place, folded)
        elif node is not None and folded in _fold(str(node)):
            yield {"path": format_path(place), "text": str(node)}


def _find_in_text(text: str, path: Path, folded: str) -> Iterator[dict[str, Any]]:
    """Find the matches in one text, one for what is shown together."""
    within, at = _fold(text), 0
    while (at := within.find(folded, at)) >= 0:
        start, end = max(0, at - EXCERPT), min(len(text), at + len(folded) + EXCERPT)
        at = end
        place = {} if start == 0 and end == len(text) else {"at": start}
        yield {"path": format_path(path), **place, "text": text[start:end]}


def _fold(text: str) -> str:
    """Write letters alike, with as many characters as before. `str.find` takes linear time; a regular expression that
    ignores case compares a long text at each place."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(low if len(low := character.lower()) == 1 else character for character in text)
