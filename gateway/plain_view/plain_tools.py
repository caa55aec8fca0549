"""Definitions of plain tools, and which tool a plain name means, for one view and exposure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.concurrency.lru_cache import LruCache
from core.tool_exposure import ToolExposure, View
from gateway.catalogue import Catalogue, CatalogueTool
from gateway.plain_view.names import assign_plain_names
from gateway.plain_view.schemas import MAX_DESCRIPTION, UnusableSchema, adapt_schema
from gateway.sieve.sieve import SieveView
from modules.kit import Hints

MAX_LISTS = 1_000


@dataclass(slots=True, eq=False)
class PlainToolList:
    """The plain tools of one view and exposure, by their names and in the order of the names.

    One whose schema no provider would take is among `tools`, so that no list has to build all schemas, but it is
    neither defined nor found.
    """

    tools: Mapping[str, CatalogueTool]
    schemas: "AdaptedSchemas"
    _found: dict[str, CatalogueTool] = field(default_factory=dict[str, CatalogueTool])

    def find(self, name: str) -> CatalogueTool | None:
        """Find a tool by its plain name."""
        return self._found.get(name) or self._look_up(name)

    def _look_up(self, name: str) -> CatalogueTool | None:
        tool = self.tools.get(name)
        if tool is None or self.schemas.find(tool) is None:
            return None
        self._found[name] = tool
        return tool

    def define(self, name: str, *, has_tasks: bool) -> dict[str, Any] | None:
        """Build the definition of a tool; None where no provider would take its schema. It has no output schema: a
        result over its budget is shown in part, which no schema of the tool describes."""
        tool = self.tools[name]
        schema = self.schemas.find(tool)
        if schema is None:
            return None
        definition: dict[str, Any] = {
            "name": name,
            "title": tool.tool.title,
            "description": tool.tool.description[:MAX_DESCRIPTION],
            "inputSchema": schema,
            "annotations": _annotate(tool.tool.hints),
        }
        return definition | ({"execution": {"taskSupport": "optional"}} if has_tasks else {})


class AdaptedSchemas:
    """Schemas of tools as providers take them, each adapted at its first use."""

    def __init__(self) -> None:
        self._found: dict[CatalogueTool, dict[str, Any] | None] = {}

    def find(self, tool: CatalogueTool) -> dict[str, Any] | None:
        """Find the schema of a tool's arguments; None where it cannot be adapted."""
        if tool not in self._found:
            try:
                self._found[tool] = adapt_schema(tool.input_schema)
            except UnusableSchema:  # find_schema_problem tells administrators
                self._found[tool] = None
        return self._found[tool]


NO_PLAIN_TOOLS = PlainToolList({}, AdaptedSchemas())


class PlainTools:
    """Plain tools of the installed modules, and of those that exist for everyone.

    Raises:
        gateway.settings_form.CatalogueError: two modules cannot be installed together.
    """

    def __init__(self, *catalogues: Catalogue) -> None:
        self._tools = assign_plain_names(
            catalogue.tools[module.name] for catalogue in catalogues for module in catalogue.modules
        )
        self._names = {tool: name for name, tool in self._tools.items()}
        self._schemas = AdaptedSchemas()
        self._lists = LruCache[tuple[SieveView, ToolExposure], PlainToolList](MAX_LISTS)

    def find(self, name: str) -> CatalogueTool | None:
        """Find what a name means, whoever may use it."""
        return self._tools.get(name)

    def get_list(self, view: SieveView, exposure: ToolExposure) -> PlainToolList:
        """Return the tools of `view` that `exposure` shows: what is not permitted is in no view, so no exposure adds
        it."""
        key = (view, exposure)
        found = self._lists.get(key)
        if found is None:
            named = {self._names[tool]: tool for tool in _choose_tools(view, exposure)}
            found = PlainToolList({name: named[name] for name in sorted(named)}, self._schemas)
            self._lists.put(key, found)
        return found


def _choose_tools(view: SieveView, exposure: ToolExposure) -> Iterator[CatalogueTool]:
    if exposure.view is View.PLAIN:  # without `call`, nothing else reads the rest of a result or waits for a job
        for module in view.built_in.values():
            yield from module.tools
    takes_all = not (exposure.modules or exposure.tools)
    for name, module in view.modules.items():
        for tool in module.tools:
            if takes_all or name in exposure.modules or tool.full_name in exposure.tools:
                yield tool


def _annotate(hints: Hints) -> dict[str, bool]:
    return {
        "readOnlyHint": hints.read_only,
        "destructiveHint": hints.destructive,
        "idempotentHint": hints.idempotent,
        "openWorldHint": hints.open_world,
    }
