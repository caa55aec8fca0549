"""The arguments of the meta-tools as clients send them.

Null counts as left out. Unknown ones are ignored and named in a note beside the result: some clients add arguments
of their own to every tool. But a name that resembles a known one is refused, because ignoring it would do something
else than was meant: with `dryRun` a batch would write.
"""

from typing import Any

import msgspec

from gateway.mcp.request_context import Result
from gateway.meta_tools.batch.text_format import quote_value

ARGUMENTS = {
    "get_module_schema": ("module", "tools", "have", "query", "detail", "cursor"),
    "call": ("module", "tool_name", "params", "max_tokens"),
    "batch": ("commands", "dry_run"),
}
_KNOWN_NAMES = {tool: frozenset(names) for tool, names in ARGUMENTS.items()}
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


class MetaToolArguments(msgspec.Struct, frozen=True):
    """`known` are the values by name, without nulls; `note` names what was ignored, and is empty where nothing was."""

    known: dict[str, Any]
    note: str


def parse_arguments(tool: str, arguments: dict[str, Any]) -> MetaToolArguments:
    """Parse the arguments of the meta-tool `tool`.

    Raises:
        WrongArguments: as the name says.
    """
    names = ARGUMENTS[tool]
    if arguments.keys() <= _KNOWN_NAMES[tool] and None not in arguments.values():
        return MetaToolArguments(arguments, "")
    unknown_arguments = {name: value for name, value in arguments.items() if value is not None}
    known = {name: unknown_arguments.pop(name) for name in names if name in unknown_arguments}
    if not unknown_arguments:
        return MetaToolArguments(known, "")
    if len(unknown_arguments) > MAX_UNKNOWN:
        raise InvalidMetaToolArguments(f"too many unknown arguments; {tool} takes {', '.join(names)}")
    unknown_names = [name[:MAX_NAME_LENGTH] for name in unknown_arguments]
    for name in unknown_names:
        meant = _find_meant_name(name, names)
        if meant is not None:
            raise InvalidMetaToolArguments(f"{quote_value(name)} is unknown; did you mean {meant}?")
    return MetaToolArguments(known, _build_note(tool, unknown_names))


def add_note(result: Result, note: str) -> Result:
    """Add the note to the result as a last block of text; the structured part stays as the tool's schema says."""
    if not note or "content" not in result:
        return result
    return {**result, "content": [*result["content"], {"type": "text", "text": note}]}


def _build_note(tool: str, unknown: list[str]) -> str:
    listed, omitted = ", ".join(map(quote_value, unknown[:MAX_LISTED])), len(unknown) - MAX_LISTED
    names = f"{listed} and {omitted} more" if omitted > 0 else listed
    return f"Note: {tool} has no argument {names}; it was ignored."


def _find_meant_name(name: str, names: tuple[str, ...]) -> str | None:
    """Find the known name that `name` resembles, if there is one."""
    normalized = _normalize_name(name)
    distances = {candidate: _count_edits(normalized, _normalize_name(candidate)) for candidate in names}
    nearest = min(names, key=distances.__getitem__)
    if distances[nearest] <= MAX_EDITS:
        return nearest
    alias = ARGUMENT_ALIASES.get(normalized)
    return alias if alias in names else None


def _normalize_name(name: str) -> str:
    return name.casefold().translate(_NO_SEPARATORS)


def _count_edits(first: str, second: str) -> int:
    """Return the edit distance (Levenshtein) of two names, as far as it matters."""
    if abs(len(first) - len(second)) > MAX_EDITS:
        return MAX_EDITS + 1
    row = list(range(len(second) + 1))
    for number, character in enumerate(first, 1):
        above, row = row, [number]
        for column, target in enumerate(second, 1):
            row.append(min(above[column] + 1, row[-1] + 1, above[column - 1] + (character != target)))
    return row[-1]
