"""Resources of a module: what a person attaches to a chat, read by its URI ([2025-11-25] Resources)."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from modules.kit.content import NO_ANNOTATIONS, Annotations, ResourceContent
from modules.kit.context import Context
from modules.kit.signatures import read_signature
from modules.kit.text_cleaning import clean_text

Complete = Callable[[Context, str, Mapping[str, str]], Awaitable[Sequence[str]]]
"""(context, what was typed, the arguments that are known) -> values that go on with it, the likeliest first."""

MAX_TEXT_CHARACTERS = 200_000
"""Of a text that a person attaches to a chat: about 60,000 tokens, below what an answer may have in any script."""

_VARIABLE = re.compile(r"\{(\+?)([a-z][a-z0-9_]*)\}")


class ResourceContents(BaseModel):
    """What a resource is read as: one content, or several such as those of a folder."""

    contents: tuple[ResourceContent, ...]


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource: its declaration and the function that reads it.

    `uris` are templates (RFC 6570): ``{name}`` stands for one segment of the path, ``{+name}`` for several; the
    function's parameters are their variables. Clients are told the first; the others are read as well. Without a
    variable it is one resource, which clients list. `complete` are completions by the name of a variable; one whose
    values are an enumeration needs none.
    """

    name: str
    title: str
    description: str
    uris: tuple[str, ...]
    mime_type: str
    scopes: frozenset[str]
    arguments: type[BaseModel]
    run: Callable[..., Awaitable[ResourceContents]]
    complete: Mapping[str, Complete] = field(default_factory=dict[str, Complete])
    annotations: Annotations = NO_ANNOTATIONS

    @property
    def is_template(self) -> bool:
        """Check whether the resource has variables: then it is one of many, which no list names."""
        return bool(self.arguments.model_fields)


def resource(
    *uris: str,
    mime_type: str,
    scopes: Iterable[str],
    title: str = "",
    complete: Mapping[str, Complete] | None = None,
    annotations: Annotations = NO_ANNOTATIONS,
) -> Callable[[Callable[..., Awaitable[ResourceContents]]], Resource]:
    """Make a :class:`Resource` of an async function ``(context, **variables) -> ResourceContents``.

    Its name is a permission beside those of the module's tools: ``<module>.<name>``.

    Raises:
        TypeError: the function is not declared in full, or the variables of a URI are not its parameters.
    """

    def build(function: Callable[..., Awaitable[ResourceContents]]) -> Resource:
        name, signature = function.__name__, read_signature(function)
        parameters = signature.annotations.keys()
        for uri in uris:
            if set(list_uri_variables(uri)) != set(parameters):
                raise TypeError(f"{name}: the variables of {uri} are not the parameters {', '.join(parameters)}")
        if not uris or signature.result is not ResourceContents:
            raise TypeError(f"{name}: a resource has a URI and returns ResourceContents")
        if unknown := (complete or {}).keys() - parameters:
            raise TypeError(f"{name}: completion of {', '.join(unknown)}, which is no parameter")
        return Resource(
            name=name,
            title=title or name.replace("_", " ").capitalize(),
            description=signature.description,
            uris=uris,
            mime_type=mime_type,
            scopes=frozenset(scopes),
            arguments=signature.arguments,
            run=function,
            complete=dict(complete or {}),
            annotations=annotations,
        )

    return build


def list_uri_variables(template: str) -> tuple[str, ...]:
    """List the variables of a URI template in their order."""
    return tuple(match[2] for match in _VARIABLE.finditer(template))


def read_text_resource(text: str, **fields: Any) -> ResourceContents:
    """Build the contents of a resource that is one text."""
    return ResourceContents(contents=(ResourceContent(text=text, **fields),))


def read_long_text_resource(text: str, *, is_cut: bool = False, **fields: Any) -> ResourceContents:
    """Build the contents of a resource that is a vendor's text: without what is invisible, and no longer than a chat
    takes; its last line says so where it is cut. `is_cut`: the vendor has left out the end."""
    visible = clean_text(text)
    shown = visible
    if len(visible) > MAX_TEXT_CHARACTERS:
        shown = visible[: visible.rfind("\n", 0, MAX_TEXT_CHARACTERS) + 1 or MAX_TEXT_CHARACTERS]
    if len(shown) < len(visible):
        shown += f"\n[cut: these are {len(shown)} of {len(visible)} characters; the tools read the rest]\n"
    elif is_cut:
        shown += "\n[cut: the service has left out the end]\n"
    return read_text_resource(shown, **fields)


def read_json_resource(result: BaseModel, **fields: Any) -> ResourceContents:
    """Build the contents of a resource that is the result of a tool, in its JSON."""
    return read_text_resource(result.__pydantic_serializer__.to_json(result, by_alias=True).decode(), **fields)
