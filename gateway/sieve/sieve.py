"""Tool Sieve: the one function that decides, for every list, schema, suggestion and call, which tools exist for a
caller."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from core.caller import Caller
from core.concurrency.lru_cache import LruCache
from core.permissions import Policy, permits
from gateway.catalogue import EMPTY_CATALOGUE, Catalogue, CataloguePrompt, CatalogueResource, CatalogueTool
from gateway.settings_form import CatalogueError
from gateway.sieve.tool_documents import LoadTranslations, load_nothing
from gateway.sieve.tool_listings import ToolListings
from modules.kit import Module

MAX_VIEWS = 10_000


@dataclass(frozen=True, eq=False)
class ModuleView:
    """One module as a caller sees it."""

    module: Module
    tools: tuple[CatalogueTool, ...]
    listings: ToolListings

    @cached_property
    def schemas(self) -> Mapping[str, Mapping[str, Any]]:
        """Listings of the tools, by their names."""
        return {tool.name: self.listings.get(tool) for tool in self.tools}

    @cached_property
    def encoded_tools(self) -> bytes:
        """The listings of all tools as a JSON array."""
        return orjson.dumps([*self.schemas.values()])

    @cached_property
    def digest(self) -> str:
        """Digest that is the same for the same permissions and version on every replica."""
        listed = [self.module.name, self.module.description, self.schemas]
        return hashlib.sha256(orjson.dumps(listed, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


@dataclass(frozen=True, slots=True, eq=False)
class SieveView:
    """What exists for a caller: modules in name order, tools by (module, name or alias), resources by module and in the
    order of their declaration, prompts by name.

    `built_in` are modules that exist for everyone and are not listed: an answer that leads to one names it.
    """

    modules: Mapping[str, ModuleView]
    by_name: Mapping[tuple[str, str], CatalogueTool]
    built_in: Mapping[str, ModuleView]
    resources: tuple[CatalogueResource, ...]
    prompts: Mapping[str, CataloguePrompt]
    listings: ToolListings
    _readers: frozenset[CatalogueTool]

    def find_module(self, name: str) -> ModuleView | None:
        """Find the module, or None."""
        return self.modules.get(name) or self.built_in.get(name)

    def find(self, module: str, name: str) -> CatalogueTool | None:
        """Find the tool, or None: hidden and made-up names take this same step."""
        return self.by_name.get((module, name))

    def find_resource(self, uri: str) -> tuple[CatalogueResource, Mapping[str, str]] | None:
        """Find the resource with this URI and the variables in it, or None."""
        for resource in self.resources:
            for template in resource.templates:
                if (variables := template.match(uri)) is not None:
                    return resource, variables
        return None

    def list_capabilities(self) -> tuple[CatalogueTool, ...]:
        """List the tools, what reads the resources, and what fills in the prompts, of the modules that roles are
        about."""
        return (
            *(tool for module in self.modules.values() for tool in module.tools),
            *(resource.tool for resource in self.resources),
            *(prompt.tool for prompt in self.prompts.values()),
        )

    def has(self, tool: CatalogueTool) -> bool:
        """Check whether a tool exists, or what reads a resource or fills in a prompt."""
        return tool in self._readers or self.by_name.get((tool.module, tool.name)) is tool


class Sieve:
    """Views of one catalogue, kept per policy: callers with the same roles and services share one.

    The modules of `built_in` need no role and no service: their tools show a caller's own things only.
    `load_translations` gives the texts in another language that tools are found by, too.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        built_in: Catalogue = EMPTY_CATALOGUE,
        load_translations: LoadTranslations = load_nothing,
    ) -> None:
        if taken := catalogue.tools.keys() & built_in.tools.keys():
            raise CatalogueError(f"the name of a module of MCPist's own: {', '.join(sorted(taken))}")
        self._catalogue = catalogue
        self._built_in = built_in
        self._listings = ToolListings(load_translations)
        self._views = LruCache[tuple[Policy, bool], SieveView](MAX_VIEWS)

    def get_view(self, caller: Caller) -> SieveView:
        """Return the modules and tools that exist for `caller`."""
        return self.get_policy_view(caller.policy, only_reading=caller.credential.read_only)

    def get_policy_view(self, policy: Policy, *, only_reading: bool = False) -> SieveView:
        """Return the modules and tools that exist for whoever has this policy."""
        key = (policy, only_reading)
        view = self._views.get(key)
        if view is None:
            view = _sift(self._catalogue, self._built_in, self._listings, *key)
            self._views.put(key, view)
        return view

    async def prepare_tools(self) -> None:
        """Build what the first uses of the tools would build, once the start is over."""
        await self._listings.prepare_later(self._catalogue)


def _sift(
    catalogue: Catalogue, built_in: Catalogue, listings: ToolListings, policy: Policy, only_reading: bool
) -> SieveView:
    def is_permitted(tool: CatalogueTool) -> bool:
        read_only = tool.tool.hints.read_only
        return permits(policy, tool.module, tool.tool.name, read_only=read_only, only_reading=only_reading)

    def is_usable(tool: CatalogueTool) -> bool:
        return tool.read_only or not only_reading

    modules = _view_modules(catalogue, listings, is_permitted)
    unlisted = _view_modules(built_in, listings, is_usable)
    by_name = {
        (view.module.name, name): tool
        for view in (*modules.values(), *unlisted.values())
        for tool in view.tools
        for name in (tool.tool.name, *tool.tool.aliases)
    }
    resources = [one for module in catalogue.modules for one in catalogue.resources.get(module.name, ())]
    prompts = [one for module in catalogue.modules for one in catalogue.prompts.get(module.name, ())]
    permitted_resources = tuple(one for one in resources if is_permitted(one.tool))
    permitted_prompts = {one.prompt.name: one for one in prompts if is_permitted(one.tool)}
    offered = (*permitted_resources, *permitted_prompts.values())
    readers = frozenset(tool for one in offered for tool in (one.tool, one.completer))
    return SieveView(modules, by_name, unlisted, permitted_resources, permitted_prompts, listings, readers)


def _view_modules(
    catalogue: Catalogue, listings: ToolListings, exists: Callable[[CatalogueTool], bool]
) -> dict[str, ModuleView]:
    views: dict[str, ModuleView] = {}
    for module in catalogue.modules:
        tools = tuple(tool for tool in catalogue.tools[module.name] if exists(tool))
        if tools:
            views[module.name] = ModuleView(module, tools, listings)
    return views
