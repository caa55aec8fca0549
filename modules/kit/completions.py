"""Values that complete what a person types, for the variables of resources and the arguments of prompts."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from modules.kit.context import Context
from modules.kit.declarations import Tool
from modules.kit.errors import ToolError
from modules.kit.resources import Complete

Result = TypeVar("Result", bound=BaseModel)

MAX_VALUES = 100
"""Of one answer ([2025-11-25] Completion); a vendor is asked for one page of no more."""


_SIGNS = re.compile(r"[^\w\s]|_")


class Option(NamedTuple):
    """A value, and words by which people know it, such as the title of a page beside its id."""

    value: str
    words: str = ""


def choose_values(options: Iterable[Option], typed: str) -> list[str]:
    """Choose the values that go on with what was typed: those that begin with it, then those that have it in them or in
    their words; each once, in their order."""
    wanted = typed.strip().casefold()
    known = {one.value: f"{one.value} {one.words}".casefold() for one in options if one.value}
    begin = [value for value in known if value.casefold().startswith(wanted)]
    rest = [value for value, words in known.items() if wanted in words and not value.casefold().startswith(wanted)]
    return [*begin, *rest][:MAX_VALUES]


def keep_words(typed: str) -> str:
    """Keep the words of what was typed, without the signs that mean something in a vendor's language of queries."""
    return " ".join(_SIGNS.sub(" ", typed[:200]).split())


def complete_from(*values: str) -> Complete:
    """Return a completion that offers usual values, for an argument that takes others as well."""

    async def complete(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
        return choose_values(map(Option, values), typed)

    return complete


def check_arguments(tool: Tool, **arguments: Any) -> dict[str, Any]:
    """Check arguments for a tool that come from what a person has filled in, of which nothing is checked.

    Raises:
        ToolError: one of them is missing, or of another form.
    """
    try:
        return dict(tool.arguments.model_validate(arguments).__dict__)
    except ValidationError:
        raise ToolError("what was filled in before is missing or wrong") from None


async def ask_tool(context: Context, tool: Tool, shape: type[Result], /, **arguments: Any) -> Result:
    """Run a tool that only reads, and return its result, which is of `shape`.

    Raises:
        ToolError: see :func:`check_arguments`; or the tool has failed.
    """
    found = await tool.run(context, **check_arguments(tool, **arguments))
    if not isinstance(found, shape):
        raise TypeError(f"{tool.name} returns no {shape.__name__}")
    return found
