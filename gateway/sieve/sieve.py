"""What exists for a caller. The one function behind every list, schema, suggestion and call."""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from core.caller import Caller
from core.permissions import Policy, permits
from gateway.catalogue import Catalogue, CatalogueTool
from gateway.sieve.sketch import sketch
from modules.kit import Hints, Module

MOST_VIEWS = 10_000


@dataclass(frozen=True, slots=True)
class ModuleView:
    """One module as a caller sees it. `digest` is the same for the same permissions and version on every replica."""

    module: Module
    tools: tuple[CatalogueTool, ...]
    schemas: Mapping[str, Mapping[str, Any]]
    digest: str


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """All that exists for a caller: modules in name order, and every permitted tool by (module, name or alias)."""

    modules: Mapping[str, ModuleView]
    by_name: Mapping[tuple[str, str], CatalogueTool]

    def find(self, module: str, name: str) -> CatalogueTool | None:
        """The tool, or None: hidden and made-up names take this same step."""
        return self.by_name.get((module, name))


class Sieve:
    """Views of one catalogue, kept per policy: callers with the same roles and services share one."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._views: OrderedDict[tuple[Policy, bool], View] = OrderedDict()

    def view(self, caller: Caller) -> View:
        """What exists for `caller`."""
        key = (caller.policy, caller.credential.read_only)
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = _sift(self._catalogue, *key)
            if len(self._views) > MOST_VIEWS:
                self._views.popitem(last=False)
        return view


def _sift(catalogue: Catalogue, policy: Policy, only_reading: bool) -> View:
    views: dict[str, ModuleView] = {}
    for module in catalogue.modules:
        tools = tuple(tool for tool in catalogue.tools[module.name] if _permitted(policy, tool, only_reading))
        if tools:
            views[module.name] = _module_view(module, tools)
    by_name = {
        (view.module.name, name): tool
        for view in views.values()
        for tool in view.tools
        for name in (tool.tool.name, *tool.tool.aliases)
    }
    return View(views, by_name)


def _permitted(policy: Policy, tool: CatalogueTool, only_reading: bool) -> bool:
    read_only = tool.tool.hints.read_only
    return permits(policy, tool.module, tool.tool.name, read_only=read_only, only_reading=only_reading)


def _module_view(module: Module, tools: tuple[CatalogueTool, ...]) -> ModuleView:
    schemas = {tool.tool.name: _schema(tool) for tool in tools}
    rendered = orjson.dumps([module.name, module.description, schemas], option=orjson.OPT_SORT_KEYS)
    return ModuleView(module, tools, schemas, hashlib.sha256(rendered).hexdigest()[:16])


def _schema(tool: CatalogueTool) -> dict[str, Any]:
    return {
        "name": tool.tool.name,
        "description": tool.tool.description,
        "params": tool.input_schema,
        "returns": sketch(tool.output_schema),
        "hints": _hints(tool.tool.hints),
    }


def _hints(hints: Hints) -> list[str]:
    words = {
        "read-only": hints.read_only,
        "destructive": hints.destructive,
        "idempotent": hints.idempotent,
        "open-world": hints.open_world,
    }
    return [word for word, true in words.items() if true]
