"""Declarations of a module: immutable values, made of typed functions at import."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import BaseModel

from modules.kit.errors import ErrorForm
from modules.kit.icons import Icon
from modules.kit.module_log import ModuleLog
from modules.kit.prompts import Prompt
from modules.kit.resources import Resource
from modules.kit.settings import ModuleSettings
from modules.kit.signatures import read_signature
from modules.kit.vendor import VendorApi

Lifespan = Callable[[ModuleLog], AbstractAsyncContextManager[Any]]


@dataclass(frozen=True, slots=True)
class Hints:
    """Hints that a client may rely on (MCP ToolAnnotations); all four are stated, none is guessed."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool


class Execution(StrEnum):
    """How a tool is run: within the request that calls it, or as a job, which goes on when that request has ended."""

    SYNC = "sync"
    ASYNC = "async"


@dataclass(frozen=True, slots=True)
class SensitiveParameter:
    """Marks a parameter that is never written to any log or audit record: ``Annotated[str, Unrecorded()]``."""


@dataclass(frozen=True, slots=True)
class UnstoredParameter(SensitiveParameter):
    """Marks a sensitive parameter that is kept nowhere, not even sealed: its tool never runs as a job, from a schedule
    either."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its declaration and the function behind it."""

    name: str
    title: str
    description: str
    hints: Hints
    scopes: frozenset[str]
    aliases: tuple[str, ...]
    sensitive_parameters: frozenset[str]
    arguments: type[BaseModel]
    result: type[BaseModel]
    run: Callable[..., Awaitable[BaseModel]]
    execution: Execution = Execution.SYNC
    asks: bool = False
    keywords: str = ""
    reads: frozenset[str] = frozenset()
    unstored_parameters: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ParameterSample:
    """Sample of a parameter: its `example` in the documentation, and where ``mcpist service check`` finds a real value.

    `tool` is a reading tool of the module, called with `arguments` beside its own samples, and `pointer` the JSON
    pointer (RFC 6901) of the value in its result. `part` takes one part of a value of several, separated by slashes or
    blanks: 1 of ``octocat/hello`` is ``hello``. Without a `tool` the check uses the example itself, such as a word to
    search for. The sample of an optional parameter, which is always named ``<tool>.<parameter>``, is used as well: the
    tool needs one of several, such as a pull request or a commit.
    """

    example: Any
    tool: str = ""
    pointer: str = ""
    part: int | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Module:
    """One service's code: what it is called, what it is for (one line), and what it offers.

    `scopes` are all that its tools may name: the vendor's, or ``<module>:read`` and ``<module>:write`` for a module
    without a vendor. `samples` are by the name of a parameter, or ``<tool>.<parameter>`` where one tool needs its own.
    `settings` is the form of the settings that a tenant's service has; a module with a vendor declares it in
    :attr:`VendorApi.settings` instead.
    `lifespan` is entered before the gateway serves and left when it has stopped serving, such as to open and close a
    cache of the module's own; it has no caller and no credential. `icon` is what clients show beside what it offers.
    `untrusted`: its results hold texts of others and are marked so, as those of every module with a vendor.
    `has_plain_names`: in the plain view its tools have their own names alone, as their document has them.
    `errors` are the kinds of what the gateway refuses, for a module whose tools raise :class:`DocumentedError`.
    """

    name: str
    title: str
    description: str
    scopes: frozenset[str]
    tools: tuple[Tool, ...]
    vendor: VendorApi | None = None
    samples: Mapping[str, ParameterSample] = field(default_factory=dict[str, ParameterSample])
    lifespan: Lifespan | None = None
    settings: type[ModuleSettings] | None = None
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    icon: Icon | None = None
    untrusted: bool = False
    errors: ErrorForm | None = None
    has_plain_names: bool = False

    def __post_init__(self) -> None:
        if self.settings is not None and self.vendor is not None:
            raise TypeError("a module with a vendor declares its settings in VendorApi.settings")

    @property
    def settings_form(self) -> type[ModuleSettings] | None:
        """Form of the settings; None where there is nothing to set."""
        return self.vendor.settings if self.vendor is not None else self.settings

    @property
    def shows_others_texts(self) -> bool:
        """Check whether the module's results are marked as texts of others."""
        return self.untrusted or self.vendor is not None

    def get_sample(self, tool: str, parameter: str) -> ParameterSample | None:
        """Return the sample of a tool's parameter."""
        return self.samples.get(f"{tool}.{parameter}") or self.samples.get(parameter)


def tool(
    *,
    hints: Hints,
    scopes: Iterable[str],
    title: str = "",
    aliases: Iterable[str] = (),
    execution: Execution = Execution.SYNC,
    asks: bool = False,
    keywords: str = "",
    reads: Iterable[str] = (),
) -> Callable[[Callable[..., Awaitable[BaseModel]]], Tool]:
    """Make a :class:`Tool` of an async function ``(context, **arguments) -> BaseModel``.

    `execution` is ``ASYNC`` for work that may take longer than a call: a client gets the job's id where it has to wait.
    `asks`: such a tool may ask the client something before all else. Then the call waits a moment for the question,
    and is answered with it instead of a task. `keywords` are words of people that neither the name nor the description
    has, such as "close, done" for a transition: the search finds the tool by them, and no model reads them. `reads` are
    reading tools of other modules, such as ``github.get_file_contents``, that it may run by :meth:`Context.read`.

    Raises:
        TypeError: the function lacks a docstring, a parameter lacks a type or a description, or it does not
            return a pydantic model.
    """

    def build(function: Callable[..., Awaitable[BaseModel]]) -> Tool:
        name, signature = function.__name__, read_signature(function)
        return Tool(
            name=name,
            title=title or name.replace("_", " ").capitalize(),
            description=signature.description,
            hints=hints,
            scopes=frozenset(scopes),
            aliases=tuple(aliases),
            sensitive_parameters=signature.list_marked(SensitiveParameter),
            unstored_parameters=signature.list_marked(UnstoredParameter),
            arguments=signature.arguments,
            result=signature.result,
            run=function,
            execution=execution,
            asks=asks,
            keywords=keywords,
            reads=frozenset(reads),
        )

    return build
