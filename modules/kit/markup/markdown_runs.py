"""Runs of inline text with their marks, and what a vendor's format knows of them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

InlineKind = Literal["text", "code", "raw", "math", "break", "line", "image", "node"]
LinkKind = Literal["link", "image", "autolink"]


class Mark(NamedTuple):
    """A mark of a run. `name` is `strong`, `em`, `strike`, `link`, `color`, `background`, `mark` or that of a tag;
    `value` is an address, a color or the JSON of a `mark`; `title` is that of a link."""

    name: str
    value: Any = ""
    title: str = ""


class Inline(NamedTuple):
    """A run of inline text with its marks, the outermost first. `value` is the address of an image, whose alternative
    text is in `text`, the name of what raw markup is for, or what a link was resolved to."""

    kind: InlineKind
    text: str = ""
    marks: tuple[Mark, ...] = ()
    value: Any = ""
    title: str = ""


def _resolve_nothing(_label: str, _address: str, _kind: LinkKind) -> Any:
    return None


@dataclass(frozen=True, slots=True)
class InlineDialect:
    """What a vendor's format knows. `tags` are names of elements, whose marks it has; others are text. `color` is what
    a color may look like. `is_mark` says whether an object in `<mark {JSON}>` is a mark. `resolve` makes another thing
    than a link of a label and an address, or None."""

    tags: frozenset[str]
    color: "re.Pattern[str]"
    has_math: bool = False
    has_raw: bool = False
    is_mark: Callable[[dict[str, Any]], bool] | None = None
    resolve: Callable[[str, str, LinkKind], Any] = _resolve_nothing


STRONG, EM, STRIKE = Mark("strong"), Mark("em"), Mark("strike")


def get_text(runs: Sequence[Inline]) -> str:
    """The text of runs without marks."""
    return "".join(" " if one.kind in ("break", "line") else one.text for one in runs)
