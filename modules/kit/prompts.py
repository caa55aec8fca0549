"""Prompts of a module: texts that a person picks in a client, filled in with what they type ([2025-11-25] Prompts)."""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict

from modules.kit.content import ContentBlock, TextBlock
from modules.kit.resources import Complete
from modules.kit.signatures import read_signature
from modules.kit.text_cleaning import clean_line


class PromptMessage(BaseModel):
    """One message of a prompt."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Literal["user", "assistant"] = "user"
    content: ContentBlock


class PromptMessages(BaseModel):
    """A prompt with its arguments filled in."""

    messages: tuple[PromptMessage, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt: its declaration and the function that fills it in. All of its arguments are texts or enumerations of
    texts. Clients know it by `name`, which no other module's prompt may have."""

    name: str
    title: str
    description: str
    scopes: frozenset[str]
    arguments: type[BaseModel]
    run: Callable[..., Awaitable[PromptMessages]]
    complete: Mapping[str, Complete] = field(default_factory=dict[str, Complete])


def prompt(
    *, scopes: Iterable[str] = (), title: str = "", complete: Mapping[str, Complete] | None = None
) -> Callable[[Callable[..., Awaitable[PromptMessages]]], Prompt]:
    """Make a :class:`Prompt` of an async function ``(context, **arguments) -> PromptMessages``.

    Its name is a permission beside those of the module's tools: ``<module>.<name>``.

    Raises:
        TypeError: the function is not declared in full.
    """

    def build(function: Callable[..., Awaitable[PromptMessages]]) -> Prompt:
        name, signature = function.__name__, read_signature(function)
        if signature.result is not PromptMessages:
            raise TypeError(f"{name}: a prompt returns PromptMessages")
        if unknown := (complete or {}).keys() - signature.annotations.keys():
            raise TypeError(f"{name}: completion of {', '.join(unknown)}, which is no argument")
        return Prompt(
            name=name,
            title=title or name.replace("_", " ").capitalize(),
            description=signature.description,
            scopes=frozenset(scopes),
            arguments=signature.arguments,
            run=function,
            complete=dict(complete or {}),
        )

    return build


def build_user_prompt(text: str) -> PromptMessages:
    """Build a prompt that is one text of the person's."""
    return PromptMessages(messages=(PromptMessage(content=TextBlock(text=text)),))


def quote_argument(text: str) -> str:
    """Quote what was typed for a prompt: a JSON string on one line without what is invisible, so that nothing in it
    looks like a part of the prompt around it."""
    return json.dumps(clean_line(text), ensure_ascii=False)
