"""What of a JSON value fits a budget of tokens: whole items and fields, long texts from their beginning, and a list of
what is left.

An item, or a text that is not long, is shown whole or not at all. A long text, such as a log, is shown to the end of a
line, and the list says how far.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, cast

from core.token_estimate import count_tokens_up_to
from gateway.meta_tools.batch.text_format import encode_compact_json
from gateway.results.json_path import Path, format_path

MAX_REMAINDERS = 20
"""Places that are listed as cut; of further ones only the number is told."""
MAX_FIELDS = 64
"""Fields of an object up to which each gets its share; a larger one is a map, whose entries are its items."""
LONG_TEXT = 1_000
"""Characters of a text from which on its beginning is shown where the whole does not fit."""
MAX_DEPTH = 40
"""Levels down to which the parts of a value are looked at."""
NOTHING = object()
"""What :meth:`Fitter.fit` gives where nothing of a value fits."""

_LEAST_SHARE = 12
"""Tokens below which nothing is tried to fit in part."""
_CHUNK = 1_000
_UNITS = {"array": "items", "object": "fields", "text": "characters"}


@dataclass(frozen=True, slots=True)
class Remainder:
    """A place of which not everything is shown: `total` items, fields or characters are there, and the answer has those
    before `shown`."""

    path: Path
    kind: Literal["array", "object", "text"]
    total: int
    shown: int

    def render(self) -> dict[str, Any]:
        """Render it for a model: where to go on reading."""
        return {"path": format_path(self.path), _UNITS[self.kind]: self.total, "next": self.shown}


@dataclass(slots=True)
class Fitter:
    """Fits values into budgets of tokens, and notes what it leaves out: `left` has the first of those places, `more`
    counts the others."""

    left: list[Remainder] = field(default_factory=list[Remainder])
    more: int = 0

    def fit(self, value: Any, budget: int, path: Path = ()) -> tuple[Any, int]:
        """Return what fits of a value that is too large as a whole, and its tokens."""
        if len(path) > MAX_DEPTH:
            self._note_whole(value, path)
            return NOTHING, 0
        if isinstance(value, list):
            return self.fit_items(cast("list[Any]", value), budget, path)
        if isinstance(value, str):
            return self.fit_text(value, budget, path)
        if not isinstance(value, dict):
            return value, count_tokens(value)
        fields = cast("dict[str, Any]", value)
        fit = self._fit_fields if len(fields) <= MAX_FIELDS else self.fit_entries
        return fit(fields, budget, path)

    def fit_items(
        self, items: list[Any], budget: int, path: Path, start: int = 0, stop: int | None = None
    ) -> tuple[list[Any], int]:
        """Return the items from `start` to before `stop` that fit, each whole, and their tokens. Of a first one that is
        too large alone it is what fits."""
        end = len(items) if stop is None else min(stop, len(items))
        shown: list[Any] = []
        used = 1
        for position in range(start, end):
            tokens = count_value(items[position], budget - used - 1)
            if tokens is None:
                break
            shown.append(items[position])
            used += tokens + 1
        if not shown and start < end and budget >= _LEAST_SHARE:
            part, tokens = self.fit(items[start], budget - 2, (*path, start))
            if part is not NOTHING:
                shown, used = [part], tokens + 2
        if start + len(shown) < len(items):
            self._note(Remainder(path, "array", len(items), start + len(shown)))
        return shown, used

    def fit_entries(
        self, entries: dict[str, Any], budget: int, path: Path, start: int = 0, stop: int | None = None
    ) -> tuple[dict[str, Any], int]:
        """Return the fields from the position `start` on that fit, each whole, and their tokens."""
        end = len(entries) if stop is None else min(stop, len(entries))
        shown: dict[str, Any] = {}
        used = 1
        for name in list(entries)[start:end]:
            tokens = count_value({name: entries[name]}, budget - used)
            if tokens is None:
                break
            shown[name] = entries[name]
            used += tokens
        if start + len(shown) < len(entries):
            self._note(Remainder(path, "object", len(entries), start + len(shown)))
        return shown, used

    def _fit_fields(self, fields: dict[str, Any], budget: int, path: Path) -> tuple[dict[str, Any], int]:
        """Give each field an equal share, the smallest first: what they do not need is the others'."""
        sizes = {name: len(encode_compact_json(value) or b"") for name, value in fields.items()}
        shown: dict[str, Any] = {}
        left = budget - 2
        for number, name in enumerate(sorted(sizes, key=sizes.__getitem__)):
            share = left // (len(fields) - number)
            tokens = count_value({name: fields[name]}, share)
            if tokens is not None:
                shown[name] = fields[name]
                left -= tokens
                continue
            name_tokens = count_tokens(name) + 2
            part, tokens = NOTHING, 0
            if share >= name_tokens + _LEAST_SHARE:
                part, tokens = self.fit(fields[name], share - name_tokens, (*path, name))
            else:
                self._note_whole(fields[name], (*path, name))
            if part is not NOTHING:
                shown[name] = part
                left -= tokens + name_tokens
        return {name: shown[name] for name in fields if name in shown}, budget - left

    def fit_text(self, text: str, budget: int, path: Path, start: int = 0, stop: int | None = None) -> tuple[Any, int]:
        """Return a text from `start` on as far as it fits, to the end of a line if there is one, and its tokens."""
        end = len(text) if stop is None else min(stop, len(text))
        fitting = find_text_end(text, budget, start, end) if len(text) >= LONG_TEXT or start else start
        if fitting < len(text):
            self._note(Remainder(path, "text", len(text), fitting))
        shown = text[start:fitting]
        return (shown, count_tokens(shown)) if shown else (NOTHING, 0)

    def _note_whole(self, value: Any, path: Path) -> None:
        if isinstance(value, list):
            self._note(Remainder(path, "array", len(cast("list[Any]", value)), 0))
        elif isinstance(value, dict):
            self._note(Remainder(path, "object", len(cast("dict[str, Any]", value)), 0))
        else:
            self._note(Remainder(path, "text", len(str(value)), 0))

    def _note(self, remainder: Remainder) -> None:
        if len(self.left) < MAX_REMAINDERS:
            self.left.append(remainder)
        else:
            self.more += 1


def count_value(value: Any, most: int) -> int | None:
    """Count the tokens of a value as compact JSON; None where there are more than `most`, or it is nested too deeply to
    be shown."""
    encoded = encode_compact_json(value)
    return None if encoded is None else count_tokens_up_to(encoded.decode(), most)


def count_tokens(value: Any) -> int:
    """Count the tokens of a value that is known to be small."""
    return count_value(value, 1 << 40) or 0


def find_text_end(text: str, budget: int, start: int, stop: int) -> int:
    """Find how far a text may be shown from `start` on, at most to `stop`, within the budget."""
    end, left = start, budget - 2
    while end < stop:
        chunk = text[end : min(end + _CHUNK, stop)]
        tokens = count_value(chunk, left)
        if tokens is None:
            end += _find_fitting_length(chunk, left)
            break
        end += len(chunk)
        left -= tokens
    if end == stop:
        return end
    line_end = text.rfind("\n", start, end) + 1
    return line_end or end


def _find_fitting_length(chunk: str, budget: int) -> int:
    """Find how many characters of a chunk fit, by halving."""
    fits, too_many = 0, len(chunk)
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        fits, too_many = (fits, middle) if count_value(chunk[:middle], budget) is None else (middle, too_many)
    return fits
