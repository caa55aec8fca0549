"""What a module declares, read from a typed async function: its arguments, result and description."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model


@dataclass(frozen=True, slots=True)
class Signature:
    """Signature of a tool, resource or prompt. `annotations` are those of its parameters by name."""

    description: str
    arguments: type[BaseModel]
    result: type[BaseModel]
    annotations: dict[str, Any]

    def list_marked(self, kind: type) -> frozenset[str]:
        """List the parameters whose annotation has a marker of this kind."""
        return frozenset(name for name, annotation in self.annotations.items() if _has_marker(annotation, kind))


def read_signature(function: Callable[..., Awaitable[BaseModel]]) -> Signature:
    """Read the signature of an async function ``(context, **arguments) -> BaseModel``.

    Raises:
        TypeError: the function lacks a docstring, a parameter lacks a type or a description, or it does not return a
            pydantic model.
    """
    name = function.__name__
    annotations = get_type_hints(function, include_extras=True)
    _context, *parameters = inspect.signature(function).parameters.values()
    fields = {p.name: _build_field(name, p, annotations) for p in parameters}
    result = annotations.get("return")
    if not (isinstance(result, type) and issubclass(result, BaseModel)):
        raise TypeError(f"{name}: what is declared returns a pydantic model")
    return Signature(
        _get_description(name, function),
        create_model(name, __config__=ConfigDict(extra="forbid", defer_build=True), **fields),
        result,
        {parameter.name: annotations[parameter.name] for parameter in parameters},
    )


def _build_field(owner: str, parameter: inspect.Parameter, annotations: dict[str, Any]) -> Any:
    annotation = annotations.get(parameter.name)
    if annotation is None:
        raise TypeError(f"{owner}: parameter {parameter.name} has no type")
    if not any(getattr(extra, "description", None) for extra in _list_metadata(annotation)):
        raise TypeError(f"{owner}: parameter {parameter.name} has no description")
    return (annotation, ... if parameter.default is parameter.empty else parameter.default)


def _get_description(owner: str, function: Callable[..., Any]) -> str:
    text = inspect.getdoc(function)
    if not text:
        raise TypeError(f"{owner}: a docstring is missing; it is what the model reads")
    return " ".join(text.split())


def _list_metadata(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def _has_marker(annotation: Any, kind: type) -> bool:
    return any(isinstance(extra, kind) for extra in _list_metadata(annotation))
