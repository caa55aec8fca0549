"""Modules for tests: many whose every name is unique, and one whose tools misbehave on demand."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from gateway.catalogue import Catalogue, CatalogueTool, build_catalogue
from modules.kit import (
    Annotations,
    Context,
    Hints,
    Icon,
    Module,
    Prompt,
    PromptMessages,
    Resource,
    ResourceContent,
    ResourceContents,
    SensitiveParameter,
    Tool,
    ToolError,
    build_user_prompt,
    prompt,
    read_text_resource,
    resource,
    tool,
)

READS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)
WRITES = Hints(read_only=False, destructive=True, idempotent=False, open_world=False)
ADDS = Hints(read_only=False, destructive=False, idempotent=False, open_world=False)


class Said(BaseModel):
    said: str


def crowd(modules: int, tools: int) -> Catalogue:
    """`modules` modules ``m07q`` with tools ``t0703q`` (alias ``l0703q``, argument ``a0703q``). Fixed widths: no name
    is part of another, so that searching for a substring finds that name and nothing else. Every second tool writes."""
    return build_catalogue(_module(number, tools) for number in range(modules))


def without(catalogue: Catalogue, kept: Iterable[tuple[str, str]]) -> Catalogue:
    """The catalogue of a world in which there are only these (module, tool)."""
    wanted = set(kept)
    tools = {
        name: tuple(one for one in of_module if (name, one.tool.name) in wanted)
        for name, of_module in catalogue.tools.items()
    }
    return Catalogue(
        tuple(_with_tools(module, tools[module.name]) for module in catalogue.modules if tools[module.name]),
        {name: of_module for name, of_module in tools.items() if of_module},
    )


def crowd_with_capabilities(modules: int) -> Catalogue:
    """A crowd whose modules have two tools, the resource ``s0702q``, the template ``e0703q`` with the variable
    ``v0703q``, and the prompt ``p0704q`` with the argument ``w0704q``. What they are completed to is ``c07..q``."""
    return build_catalogue(_with_capabilities(_module(number, 2), number) for number in range(modules))


def without_capabilities(catalogue: Catalogue, kept: Iterable[tuple[str, str]]) -> Catalogue:
    """The catalogue of a world in which there are only these (module, tool, resource or prompt)."""
    wanted = set(kept)

    def choose(module: Module) -> Module:
        parts = (module.tools, module.resources, module.prompts)
        tools, resources, prompts = (tuple(x for x in part if (module.name, x.name) in wanted) for part in parts)
        return replace(module, tools=tools, resources=resources, prompts=prompts)

    modules = map(choose, catalogue.modules)
    return build_catalogue(one for one in modules if one.tools or one.resources or one.prompts)


def _with_capabilities(module: Module, number: int) -> Module:
    status, entry, text = (f"{number:02}{n:02}q" for n in (2, 3, 4))
    scopes = frozenset({module.name})

    async def read(_context: Context, **variables: str) -> ResourceContents:
        return read_text_resource(f"c{status} {sorted(variables)}")

    async def fill(_context: Context, **arguments: str) -> PromptMessages:
        return build_user_prompt(f"c{text} {sorted(arguments)}")

    def complete(digits: str) -> Mapping[str, Any]:
        async def values(_context: Context, typed: str, _known: Mapping[str, str]) -> list[str]:
            return [f"c{digits}"]

        return {f"{'v' if digits == entry else 'w'}{digits}": values}

    def arguments(name: str) -> type[BaseModel]:
        fields: Any = {name: (Annotated[str, Field(description=f"What x{name[1:]} needs")], ...)}
        return create_model(f"x{name}", __config__={"extra": "forbid"}, **fields)

    base = f"resource://{module.name}"
    return replace(
        module,
        resources=(
            Resource(f"s{status}", f"s{status}", f"About y{status}.", (f"{base}/s{status}",), "text/plain", scopes,
                     create_model(f"s{status}", __config__={"extra": "forbid"}), read),
            Resource(f"e{entry}", f"e{entry}", f"About y{entry}.", (f"{base}/e{entry}/{{v{entry}}}",), "text/plain",
                     scopes, arguments(f"v{entry}"), read, complete(entry)),
        ),
        prompts=(
            Prompt(f"p{text}", f"p{text}", f"About y{text}.", scopes, arguments(f"w{text}"), fill, complete(text)),
        ),
    )  # fmt: skip


def names_of(one: CatalogueTool) -> tuple[str, ...]:
    """Every name that belongs to this tool alone."""
    return one.tool.name, *one.tool.aliases, *one.tool.arguments.model_fields


def _with_tools(module: Module, tools: tuple[CatalogueTool, ...]) -> Module:
    return replace(module, tools=tuple(one.tool for one in tools))


def _module(number: int, tools: int) -> Module:
    name = f"m{number:02}q"
    return Module(name, name, f"About d{number:02}q.", frozenset({name}), tuple(_tool(number, n) for n in range(tools)))


def _tool(module: int, number: int) -> Tool:
    digits = f"{module:02}{number:02}q"
    arguments: Any = {f"a{digits}": (Annotated[str, Field(description=f"What x{digits} needs")], "")}
    return Tool(
        name=f"t{digits}",
        title=f"t{digits}",
        description=f"Does y{digits}.",
        hints=WRITES if number % 2 else READS,
        scopes=frozenset({f"m{module:02}q"}),
        aliases=(f"l{digits}",),
        sensitive_parameters=frozenset(),
        arguments=create_model(f"t{digits}", __config__={"extra": "forbid"}, **arguments),
        result=_result(f"r{digits}"),
        run=_say,
    )


async def _say(_context: Context, **params: Any) -> BaseModel:
    (argument,) = params
    name = f"r{argument[1:]}"
    return _result(name)(**{name: "done"})


def _result(name: str) -> type[BaseModel]:
    fields: Any = {name: (str, ...)}
    return create_model(name, **fields)


@dataclass(slots=True)
class Lab:
    """What the laboratory's tools did, and what they wait for."""

    effects: list[str] = field(default_factory=list)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    resume: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    def renew(self) -> None:
        """Forget what was done."""
        self.effects.clear()
        self.started, self.resume, self.cancelled = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def module(self) -> Module:
        """The module ``lab``."""
        tools = (self._look(), self._write(), self._add(), self._wait(), self._big(), self._fail(), self._crash())
        return Module(
            "lab",
            "Lab",
            "Tools that misbehave on demand.",
            frozenset({"lab"}),
            tools,
            icon=Icon("#123456", "M6 6h12"),
            resources=(self._status(), self._note(), self._file()),
            prompts=(self._report(),),
        )

    def _status(self) -> Resource:
        changed = datetime(2026, 2, 3, 13, 5, tzinfo=timezone(timedelta(hours=9)))

        @resource(
            "resource://lab/status",
            mime_type="text/plain",
            scopes=["lab"],
            annotations=Annotations(audience=("user",), priority=0.5, last_modified=changed),
        )
        async def status(context: Context) -> ResourceContents:
            """How the laboratory stands."""
            return read_text_resource("open", uri="resource://lab/status")

        return status

    def _note(self) -> Resource:
        async def complete_owner(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
            return [f"{typed}{number:03}" for number in range(120)]

        @resource(
            "resource://lab/{owner}/notes/{number}",
            "lab://{owner}/notes/{number}",
            mime_type="text/markdown",
            scopes=["lab"],
            complete={"owner": complete_owner},
        )
        async def note(
            context: Context,
            owner: Annotated[str, Field(description="Whose")],
            number: Annotated[int, Field(description="Which", le=1_000)],
        ) -> ResourceContents:
            """A note of somebody."""
            self.effects.append(f"read {owner} {number}")
            if number == 404:
                raise ToolError("there is no such note; look at the status")
            if number == 500:
                raise RuntimeError(f"the secret of {owner}")
            return read_text_resource(f"# {owner}: {number}")

        return note

    def _file(self) -> Resource:
        @resource("resource://lab/files/{+path}", mime_type="application/octet-stream", scopes=["lab"])
        async def file(context: Context, path: Annotated[str, Field(description="Where")]) -> ResourceContents:
            """A file."""
            return ResourceContents(contents=(ResourceContent(data=path.encode()),))

        return file

    def _report(self) -> Prompt:
        @prompt(scopes=["lab"])
        async def lab_report(
            context: Context,
            severity: Annotated[Literal["low", "high"], Field(description="How bad")],
            topic: Annotated[str, Field(description="About what")] = "all",
        ) -> PromptMessages:
            """Report on the laboratory."""
            return build_user_prompt(f"Report: {severity}, {topic}")

        return lab_report

    def _look(self) -> Tool:
        @tool(hints=READS, scopes=["lab"], aliases=["lab_look"])
        async def look(context: Context, at: Annotated[str, Field(description="At what")] = "") -> Said:
            """Look at something."""
            return Said(said=at)

        return look

    def _write(self) -> Tool:
        @tool(hints=WRITES, scopes=["lab"])
        async def write(
            context: Context,
            text: Annotated[str, Field(description="What to write")],
            password: Annotated[str, Field(description="What nobody may keep"), SensitiveParameter()] = "",
        ) -> Said:
            """Write something down."""
            self.effects.append(text)
            return Said(said=text)

        return write

    def _add(self) -> Tool:
        @tool(hints=ADDS, scopes=["lab"])
        async def add(context: Context, text: Annotated[str, Field(description="What to add")]) -> Said:
            """Add something to what is there."""
            self.effects.append(text)
            return Said(said=text)

        return add

    def _wait(self) -> Tool:
        @tool(hints=WRITES, scopes=["lab"])
        async def wait(context: Context) -> Said:
            """Wait to be told."""
            self.started.set()
            try:
                await self.resume.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            return Said(said="resumed")

        return wait

    def _big(self) -> Tool:
        @tool(hints=READS, scopes=["lab"])
        async def big(context: Context, size: Annotated[int, Field(description="Bytes")]) -> Said:
            """Say much."""
            return Said(said="x" * size)

        return big

    def _fail(self) -> Tool:
        @tool(hints=READS, scopes=["lab"])
        async def fail(context: Context) -> Said:
            """Fail as tools may."""
            raise ToolError("it did not work; try something else")

        return fail

    def _crash(self) -> Tool:
        @tool(hints=READS, scopes=["lab"])
        async def crash(context: Context, secret: Annotated[str, Field(description="Any")] = "") -> Said:
            """Fail as no tool should."""
            raise RuntimeError(f"the secret is {secret}")

        return crash
