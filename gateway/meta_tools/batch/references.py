"""References from the params of one step into the result of another: `${id.path.to[0].field}`.

A key that is no plain word is written in brackets: `${a["key with space"]}`. A string that is one reference and nothing
else becomes the value itself; inside a longer string the value is written out, strings as they are and all else as
compact JSON. `$${` stands for a literal `${`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import orjson

from gateway.meta_tools.batch.text_format import (
    cut_text,
    describe_type,
    encode_compact_json,
    format_names,
    make_printable,
    quote_value,
)

MAX_SUBSTITUTED = (
    4 << 20
)  # bytes that the references of one step may bring in; without it, steps could double each other

_STEP = r"[A-Za-z_][A-Za-z0-9_-]{0,63}"
_NAME = r"[^\s.\[\]{}\"'\\]+"
_INDEX = r"[0-9]{1,9}"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_SINGLE = r"'[^'\\]*'"
_MARK = re.compile(r"\$?\$\{")
_REFERENCE = re.compile(
    rf"\$\{{(?P<step>{_STEP})(?P<path>(?:\.{_NAME}|\[{_INDEX}\]|\[{_QUOTED}\]|\[{_SINGLE}\]){{0,64}})\}}"
)
_SEGMENT = re.compile(rf"\.({_NAME})|\[({_INDEX})\]|\[({_QUOTED})\]|\[({_SINGLE})\]")
_MAX_MALFORMED = 5
_MAX_REFERENCES = 1000  # in one step; without it, a megabyte of them would hold the event loop for most of a second
MAX_REFERENCES_IN_BATCH = 5_000  # in all steps of a batch
_MAX_MARKS = 2_000  # with escaped ones beside them

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """One `${…}`: the step that it names and the way into that step's result; `text` is how it was written."""

    step: str
    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class FoundReferences:
    """References in a step's params, and an error text for each string that holds a malformed one; `count` is the
    number of references before equal ones are merged."""

    references: tuple[Reference, ...]
    malformed: tuple[str, ...]
    count: int = 0


class MalformedReference(ValueError):
    """A `${` that no reference follows; the text shows it."""


class UnresolvedReference(ValueError):
    """A reference that leads nowhere in the result that is there; the text says what is there instead."""


def find_references(params: Mapping[str, Any], limit: int = MAX_REFERENCES_IN_BATCH) -> FoundReferences:
    """Find every reference in any string value of `params`, at any depth; keys are ignored. `limit` is how many
    references the batch may still have."""
    references: dict[Reference, None] = {}
    malformed: list[str] = []
    texts = list(_iterate_marked_strings(params))
    marks, escaped = sum(text.count("${") for text in texts), sum(text.count("$${") for text in texts)
    if marks - escaped > _MAX_REFERENCES:
        return FoundReferences((), (f"more than {_MAX_REFERENCES} references; write $${{ for a literal ${{",))
    if marks - escaped > limit:
        return FoundReferences(
            (), (f"more than {MAX_REFERENCES_IN_BATCH} references in all steps; send several batches",)
        )
    if marks > escaped and marks > _MAX_MARKS:
        return FoundReferences(
            (), (f"more than {_MAX_MARKS} references and $${{ in one step; run this tool with call",)
        )
    for text in texts:
        try:
            references.update((part, None) for part in split_references(text) if isinstance(part, Reference))
        except MalformedReference as error:
            malformed.append(str(error))
    return FoundReferences(tuple(references), tuple(malformed[:_MAX_MALFORMED]), marks - escaped)


def split_references(text: str) -> list[str | Reference]:
    """Split the string as literal pieces and references, in order; `$${` is undone.

    Raises:
        Malformed: at the first `${` that is no reference.
    """
    if text.count("${") == text.count("$${"):  # nothing to look for; there may be very many
        return [text.replace("$${", "${")] if text else []
    parts: list[str | Reference] = []
    at = 0
    while mark := _MARK.search(text, at):
        parts.append(text[at : mark.start()])
        if len(mark[0]) == len("$${"):
            parts.append("${")
            at = mark.end()
        else:
            match = _REFERENCE.match(text, mark.start())
            parts.append(_parse_reference(text, mark.start(), match))
            at = match.end() if match else len(text)
    parts.append(text[at:])
    return [part for part in parts if part]


def escape_text(text: str) -> str:
    """Escape `text` so that substitution yields it unchanged."""
    return text.replace("${", "$${")


def substitute_references(
    params: dict[str, Any], results: Mapping[str, Any], max_bytes: int = MAX_SUBSTITUTED
) -> dict[str, Any]:
    """`params` with every reference replaced. Whole values are shared with `results`, not copied: do not change them.

    Raises:
        Unresolved: a path is not there, or the values are more than `max_bytes` of JSON.
    """
    return _Substitution(results, max_bytes).substitute_in(params)


class _Substitution:
    def __init__(self, results: Mapping[str, Any], max_bytes: int) -> None:
        self._results = results
        self._max_bytes = max_bytes
        self._bytes_left = max_bytes

    def substitute_in(self, node: Any) -> Any:
        if isinstance(node, str):
            return self._substitute_in_text(node) if "${" in node else node
        if isinstance(node, dict):
            return {key: self.substitute_in(child) for key, child in cast("dict[str, Any]", node).items()}
        if isinstance(node, list):
            return [self.substitute_in(child) for child in cast("list[Any]", node)]
        return node

    def _substitute_in_text(self, text: str) -> Any:
        parts = split_references(text)
        if len(parts) == 1 and isinstance(parts[0], Reference):
            return self._resolve(parts[0])[0]
        return "".join(part if isinstance(part, str) else self._render_inline(part) for part in parts)

    def _render_inline(self, reference: Reference) -> str:
        value, encoded = self._resolve(reference)
        return value if isinstance(value, str) else encoded.decode()

    def _resolve(self, reference: Reference) -> tuple[Any, bytes]:
        value = look_up(reference, self._results[reference.step])
        encoded = encode_compact_json(value)
        if encoded is None:
            raise UnresolvedReference(
                f"{_format_reference(reference)}: too deep to be handed on; refer to a part of it"
            )
        self._bytes_left -= len(encoded)
        if self._bytes_left < 0:
            raise UnresolvedReference(
                f"{_format_reference(reference)}: the references of this step bring in over {self._max_bytes} bytes"
            )
        return value, encoded


def look_up(reference: Reference, result: Any) -> Any:
    """Return the value that the reference points at.

    Raises:
        Unresolved: it points at nothing.
    """
    value = result
    for depth, segment in enumerate(reference.path):
        try:
            value = _descend(value, segment)
        except LookupError:
            raise UnresolvedReference(_explain_missing(reference, depth, value)) from None
    return value


def parse_index(segment: str | int) -> int | None:
    """Parse the position that a segment means in an array: `[0]`, and `.0` too."""
    if isinstance(segment, int):
        return segment
    return int(segment) if re.fullmatch(_INDEX, segment) else None


def format_path(step: str, path: Path) -> str:
    """Format a path as the caller would write it, cut."""
    parts = [step]
    for segment in path:
        if isinstance(segment, int):
            parts.append(f"[{segment}]")
        else:
            parts.append(f".{segment}" if re.fullmatch(_NAME, segment) else f"[{quote_value(segment)}]")
    return make_printable(cut_text("".join(parts), 120))


def _descend(value: Any, segment: str | int) -> Any:
    if isinstance(value, dict) and isinstance(segment, str):
        return cast("dict[str, Any]", value)[segment]
    index = parse_index(segment)
    if isinstance(value, list) and index is not None:
        return cast("list[Any]", value)[index]
    raise LookupError


def _explain_missing(reference: Reference, depth: int, value: Any) -> str:
    place, segment = format_path(reference.step, reference.path[:depth]), reference.path[depth]
    if isinstance(value, dict):
        names = format_names(cast("dict[str, Any]", value))
        return f"{_format_reference(reference)}: {place} has no {quote_value(segment)}; it has: {names}"
    if isinstance(value, list):
        return f"{_format_reference(reference)}: {place} is an array of {len(cast('list[Any]', value))}"
    return f"{_format_reference(reference)}: {place} is {describe_type(value)}, nothing is inside"


def _iterate_marked_strings(node: Any) -> Iterator[str]:
    """Yield the strings that have a reference mark, in their order; without recursion, whose cost grows with the
    depth."""
    pending: list[Any] = [node]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            if "${" in node:
                yield node
        elif isinstance(node, Mapping):
            pending.extend(reversed(list(cast("Mapping[str, Any]", node).values())))
        elif isinstance(node, list):
            pending.extend(reversed(cast("list[Any]", node)))


def _parse_reference(text: str, start: int, match: re.Match[str] | None) -> Reference:
    if match is None:
        raise MalformedReference(_explain_malformed(text, start))
    try:
        path = tuple(_parse_segment(segment) for segment in _SEGMENT.finditer(match["path"]))
    except orjson.JSONDecodeError:
        raise MalformedReference(_explain_malformed(text, start)) from None
    return Reference(match["step"], path, match[0])


def _parse_segment(match: re.Match[str]) -> str | int:
    name, index, in_double, in_single = match.groups()
    if index is not None:
        return int(index)
    if in_double is not None:
        return orjson.loads(in_double)
    return name if name is not None else in_single[1:-1]


def _explain_malformed(text: str, start: int) -> str:
    excerpt = quote_value(text[start : start + 40])
    return f'malformed reference {excerpt}; write ${{id.field[0]["other key"]}}, or $${{ for a literal ${{'


def _format_reference(reference: Reference) -> str:
    return make_printable(cut_text(reference.text, 120))
