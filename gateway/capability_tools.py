"""What reads a resource, fills in a prompt, or completes what is typed for them, as tools: all that holds for a tool
that only reads then holds for them."""

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel, ConfigDict

from modules.kit import Context, Hints, Prompt, PromptMessages, Resource, ResourceContents, Tool

_HINTS = Hints(read_only=True, destructive=False, idempotent=True, open_world=True)


class CompletionArguments(BaseModel):
    """What a person has typed so far for one argument, and the arguments that they have filled in before."""

    model_config = ConfigDict(extra="forbid")

    argument: str
    value: str
    known: dict[str, str]


class CompletionValues(BaseModel):
    """Values that go on with what was typed, the likeliest first."""

    values: tuple[str, ...]


def build_reading_tool(declared: Resource | Prompt) -> Tool:
    """Build what reads a resource by its variables, or fills in a prompt by its arguments."""
    result = ResourceContents if isinstance(declared, Resource) else PromptMessages
    return _build_tool(declared, declared.arguments, result, declared.run)


def build_completing_tool(declared: Resource | Prompt) -> Tool:
    """Build what completes the arguments of a resource or prompt, with the same permission."""

    async def complete(context: Context, argument: str, value: str, known: dict[str, str]) -> CompletionValues:
        chosen = declared.complete.get(argument)
        return CompletionValues(values=() if chosen is None else tuple(await chosen(context, value, known)))

    return _build_tool(declared, CompletionArguments, CompletionValues, complete)


def _build_tool(
    declared: Resource | Prompt,
    arguments: type[BaseModel],
    result: type[BaseModel],
    run: Callable[..., Awaitable[Any]],
) -> Tool:
    return Tool(
        name=declared.name,
        title=declared.title,
        description=declared.description,
        hints=_HINTS,
        scopes=declared.scopes,
        aliases=(),
        sensitive_parameters=frozenset(),
        arguments=arguments,
        result=result,
        run=run,
    )
