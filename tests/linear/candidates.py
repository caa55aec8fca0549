"""Inputs that a backtracking matcher may take superlinear time for, made from a pattern's parse tree.

A matcher is slow where the same characters can be read in several ways: a prefix that leads into a repetition, many
copies of what the repetition or what stands around it accepts, and an end that makes the whole fail.
"""

import re
from collections.abc import Iterator
from itertools import islice, product
from re import _constants, _parser  # pyright: ignore[reportAttributeAccessIssue] the parser behind re.compile
from typing import Any

REPEATS = {_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT}
MOST_SAMPLES = 6
MOST_PREFIXES = 14
MOST_PUMPS = 40
ENDINGS = ("", "\0", "!", "x", " ", "\n", '"', "@", "ア")
FOREIGN = ("a", "0", " ", "-", ".", "/", "_", ":", "A", "ー")


def candidates(pattern: "re.Pattern[Any]") -> Iterator[tuple[str, str, str]]:
    """(start, pump, end): the input is the start, any number of pumps, and the end."""
    tree = _parser.parse(
        _text(pattern), pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
    )
    prefixes = list(dict.fromkeys(islice(_prefixes(list(tree)), MOST_PREFIXES)))
    pumps = list(dict.fromkeys([*_pumps(list(tree)), *prefixes, *FOREIGN]))[:MOST_PUMPS]
    for start, pump, end in product(prefixes, pumps, ENDINGS):
        if pump:
            yield start, pump, end


def may_be_slow_at_once(pattern: "re.Pattern[Any]") -> bool:
    """Whether a few hundred characters may already take seconds: a repetition holds another or a choice, which can be
    exponential, or there are more than two, whose lengths multiply."""
    tree = list(_parser.parse(_text(pattern)))
    return _has_nested(tree, inside=False) or _count_repeats(tree) > 2


def _has_nested(nodes: list[Any], *, inside: bool) -> bool:
    for node in nodes:
        if inside and (node[0] in REPEATS or node[0] is _constants.BRANCH):
            return True
        repeats = node[0] in REPEATS and int(node[1][1]) > 1
        if any(_has_nested(inner, inside=inside or repeats) for inner in _children(node)):
            return True
    return False


def _count_repeats(nodes: list[Any]) -> int:
    own = sum(node[0] in REPEATS and int(node[1][1]) > 1 for node in nodes)
    return own + sum(_count_repeats(inner) for node in nodes for inner in _children(node))


def _text(pattern: "re.Pattern[Any]") -> Any:
    return pattern.pattern


def _prefixes(nodes: list[Any]) -> Iterator[str]:
    """What is accepted up to each node, and up to each node inside the groups, by the first samples."""
    yield ""
    seen = ""
    for place, node in enumerate(nodes):
        for inner in _children(node):
            for more in islice(_prefixes(inner), 4):
                yield seen + more
        samples = _samples_of(node)
        if len(samples) > 1:
            yield seen + samples[-1]
        seen += samples[0] if samples else ""
        within_word = node[0] is _constants.LITERAL and nodes[place + 1 : place + 2]
        if not (within_word and nodes[place + 1][0] is _constants.LITERAL):
            yield seen


def _pumps(nodes: list[Any]) -> Iterator[str]:
    """Samples of each part of the pattern, those of repetitions first: of the part, of what it repeats, and pairs."""
    for node in nodes:
        op, value = node
        if op in REPEATS:
            yield from _samples(list(value[2]))
            yield from (one * 2 for one in _samples(list(value[2]))[:2])
        for inner in _children(node):
            yield from _pumps(inner)
    for node in nodes:
        yield from _samples_of(node)


def _children(node: Any) -> list[list[Any]]:
    op, value = node
    if op in REPEATS:
        return [list(value[2])]
    if op is _constants.SUBPATTERN:
        return [list(value[3])]
    if op is _constants.ATOMIC_GROUP:
        return [list(value)]
    if op in (_constants.ASSERT, _constants.ASSERT_NOT):
        return [list(value[1])]
    if op is _constants.BRANCH:
        return [list(branch) for branch in value[1]]
    return []


def _samples(nodes: list[Any]) -> list[str]:
    parts = [_samples_of(node) or [""] for node in nodes]
    widest = max(map(len, parts), default=0)
    return list(dict.fromkeys("".join(part[n % len(part)] for part in parts) for n in range(widest)))[:MOST_SAMPLES]


def _samples_of(node: Any) -> list[str]:
    """Some texts that a node accepts: the shortest of a repetition first."""
    op, value = node
    if op is _constants.LITERAL:
        return [chr(value)]
    if op is _constants.NOT_LITERAL:
        return [sign for sign in FOREIGN if sign != chr(value)][:MOST_SAMPLES]
    if op is _constants.ANY:
        return list(FOREIGN[:3])
    if op is _constants.IN:
        return _members(value)
    if op is _constants.BRANCH:
        return [sample for branch in value[1] for sample in _samples(list(branch))[:2]][: 2 * MOST_SAMPLES]
    if op in REPEATS:
        least = min(int(value[0]), 64)
        ones = _samples(list(value[2])) or [""]
        again = least + 1 if int(value[1]) > least else least
        return list(
            dict.fromkeys([one * max(least, 1) for one in ones] + [ones[0] * again] + ([""] if not least else []))
        )
    if op in (_constants.SUBPATTERN, _constants.ATOMIC_GROUP):
        return _samples(list(value[3] if op is _constants.SUBPATTERN else value))
    return [""]


def _members(items: list[Any]) -> list[str]:
    if items and items[0][0] is _constants.NEGATE:
        accepted = re.compile(_class_text(items))
        return [sign for sign in FOREIGN if accepted.fullmatch(sign)][:MOST_SAMPLES]
    found: list[str] = []
    for op, value in items:
        if op is _constants.LITERAL:
            found.append(chr(value))
        elif op is _constants.RANGE:
            found += [chr(value[0]), chr(value[1])]
        elif op is _constants.CATEGORY:
            found.append({"SPACE": " ", "DIGIT": "0", "WORD": "w"}.get(str(value).rpartition("_")[2], "a"))
    spread = max(1, len(found) // MOST_SAMPLES)
    return list(dict.fromkeys(found[::spread]))[:MOST_SAMPLES] or [""]


def _class_text(items: list[Any]) -> str:
    text = ""
    for op, value in items[1:]:
        if op is _constants.LITERAL:
            text += re.escape(chr(value))
        elif op is _constants.RANGE:
            text += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        elif op is _constants.CATEGORY:
            name = str(value).removeprefix("CATEGORY_")
            letter = {"SPACE": "s", "DIGIT": "d", "WORD": "w"}[name.removeprefix("NOT_")]
            text += "\\" + (letter.upper() if name.startswith("NOT_") else letter)
    return f"[^{text}]"
