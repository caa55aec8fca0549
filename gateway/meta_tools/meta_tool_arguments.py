"""The arguments of the meta-tools as clients send them.

Null counts as left out. What nobody knows is ignored and named in a note beside the result: some clients add arguments
of their own to every tool. But a name that resembles a known one is refused, because ignoring it would do something
else than was meant: with `dryRun` a batch would write.
"""

from typing import Any, NamedTuple

from gateway.mcp.request_context import Result
from gateway.meta_tools.batch.text_format import quote_value

ARGUMENTS = {
    "get_module_schema": ("module", "tools", "have"),
    "call": ("module", "tool_name", "params"),
    "batch": ("commands", "dry_run"),
}
# What models write instead, too far off to be found by spelling.
ARGUMENT_ALIASES = {
    "args": "params", "arguments": "params", "input": "params", "parameters": "params",
    "tool": "tool_name", "name": "tool_name", "function": "tool_name",
    "steps": "commands", "calls": "commands", "tools": "commands",
    "dry": "dry_run", "plan": "dry_run", "preview": "dry_run", "simulate": "dry_run",
}  # fmt: skip
MAX_NAME_LENGTH = 64
MAX_UNKNOWN = 20
MAX_LISTED = 5
MAX_EDITS = 2
_NO_SEPARATORS = str.maketrans("", "", "-_ ")


class InvalidMetaToolArguments(Exception):
    """A name that resembles a known one, or too many unknown names; the text is for the caller."""


class MetaToolArguments(NamedTuple):
    """`known` are the values by name, without nulls; `note` names what was ignored, and is empty where nothing was."""

    known: dict[str, Any]
    note: str


def parse_arguments(tool: str, arguments: dict[str, Any]) -> MetaToolArguments:
    """Parse the arguments of the meta-tool `tool`.

    Raises:
        WrongArguments: as the name says.
    """
    right = ARGUMENTS[tool]
    given = {name: value for name, value in arguments.items() if value is not None}
    known = {name: given.pop(name) for name in right if name in given}
    if not given:
        return MetaToolArguments(known, "")
    if len(given) > MAX_UNKNOWN:
        raise InvalidMetaToolArguments(f"too many unknown arguments; {tool} takes {', '.join(right)}")
    unknown = [name[:MAX_NAME_LENGTH] for name in given]
    for name in unknown:
        near = _find_meant_name(name, right)
        if near is not None:
            raise InvalidMetaToolArguments(f"{quote_value(name)} is unknown; did you mean {near}?")
    return MetaToolArguments(known, _build_note(tool, unknown))


def add_note(result: Result, note: str) -> Result:
    """The result with the note as a last block of text: the structured part stays what the tool's schema says."""
    if not note or "content" not in result:
        return result
    return {**result, "content": [*result["content"], {"type": "text", "text": note}]}


def _build_note(tool: str, unknown: list[str]) -> str:
    shown, more = ", ".join(map(quote_value, unknown[:MAX_LISTED])), len(unknown) - MAX_LISTED
    names = f"{shown} and {more} more" if more > 0 else shown
    return f"Note: {tool} has no argument {names}; it was ignored."


def _find_meant_name(name: str, right: tuple[str, ...]) -> str | None:
    """The known name that `name` resembles, if there is one."""
    plain = _normalize_name(name)
    distances = {known: _count_edits(plain, _normalize_name(known)) for known in right}
    nearest = min(right, key=distances.__getitem__)
    if distances[nearest] <= MAX_EDITS:
        return nearest
    other = ARGUMENT_ALIASES.get(plain)
    return other if other in right else None


def _normalize_name(name: str) -> str:
    return name.casefold().translate(_NO_SEPARATORS)


def _count_edits(first: str, second: str) -> int:
    """Return the edit distance (Levenshtein) of two names, as far as it matters."""
    if abs(len(first) - len(second)) > MAX_EDITS:
        return MAX_EDITS + 1
    row = list(range(len(second) + 1))
    for number, character in enumerate(first, 1):
        above, row = row, [number]
        for place, other in enumerate(second, 1):
            row.append(min(above[place] + 1, row[-1] + 1, above[place - 1] + (character != other)))
    return row[-1]
