"""Pages of get_module_schema: as much as is worth a model's context, then a cursor.

A cursor is a position in the order of what the caller may use, and tells of nothing else.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson

from gateway.catalogue import CatalogueTool
from gateway.meta_tools.schema_request import SchemaDetail, SchemaRequest
from gateway.sieve.sieve import ModuleView, SieveView
from gateway.sieve.tool_listings import ToolListings, cut_to_sentence
from gateway.sieve.tool_search import search_tools
from gateway.tool_runner import NO_SUCH_TOOL
from modules.kit import Module

FULL_PAGE_BYTES = 64 * 1024
SHORT_PAGE_BYTES = 16 * 1024
HEAD_BYTES = 300
"""What a module takes beside its tools, about."""
FOUND_PER_PAGE = 10
FOUND_IN_FULL = 3
"""Of the tools found: most calls are of one of these, and the others cost a line each."""
TOO_MANY = "too many for one answer, so in brief: name `tools` for their schemas, or search with `query`"
MAX_OFFERED = 3
"""Resources and prompts beside the tools, of those that match the query as well as the tools of the first page."""
HOW_TO_USE = "no tools for call: the client reads a resource by its uri (resources/read), a person picks a prompt"
NOTHING_FOUND = "no tool matches; get_module_schema without arguments lists the modules"

DescribeModule = Callable[[Module], Awaitable[Mapping[str, str]]]


class SchemaPage:
    """Takes what comes from `position` on until `limit` bytes are used, at least one thing."""

    def __init__(self, position: int, limit: int) -> None:
        self._position = position
        self._limit = limit
        self._seen = 0
        self._used = 0
        self._next: int | None = None

    def take(self, size: int) -> bool:
        """Check whether the next thing, of `size` bytes, stands on this page."""
        self._seen += 1
        if self._seen <= self._position or self._next is not None:
            return False
        if self._used and self._used + size > self._limit:
            self._next = self._seen - 1
            return False
        self._used += size
        return True

    @property
    def cursor(self) -> dict[str, str]:
        """Where the next page begins, as a field of the answer; none after the last one."""
        return {} if self._next is None else {"next_cursor": str(self._next)}


async def render_summaries(view: SieveView, request: SchemaRequest, describe: DescribeModule) -> dict[str, Any]:
    """Render a page of the modules, and what each is for."""
    page = SchemaPage(request.position, SHORT_PAGE_BYTES)
    shown = [module for module in view.modules.values() if page.take(HEAD_BYTES)]
    return {"modules": [await _render_summary(module, describe) for module in shown], **page.cursor}


async def render_modules(
    view: SieveView, names: Sequence[str], request: SchemaRequest, describe: DescribeModule
) -> dict[str, Any]:
    """Render a page of the tools of these modules. What does not exist for the caller has the one text for it."""
    if whole := _find_whole(view, names, request):
        head = {"module": whole.module.name, "digest": whole.digest, **await describe(whole.module)}
        return {"modules": [{**head, "tools": orjson.Fragment(whole.encoded_tools)}]}
    detail = request.detail or _choose_detail(view, names, request)
    page = SchemaPage(request.position, FULL_PAGE_BYTES if detail is SchemaDetail.FULL else SHORT_PAGE_BYTES)
    rendered = [await _render_module(view, name, request, detail, page, describe) for name in names]
    note = {"note": TOO_MANY} if detail is not request.detail and detail is not SchemaDetail.FULL else {}
    return {"modules": [module for module in rendered if module], **page.cursor, **note}


async def render_found(
    view: SieveView, names: Sequence[str], request: SchemaRequest, describe: DescribeModule
) -> dict[str, Any]:
    """Render a page of the tools that match the query, the best first, the resources and prompts that match as well,
    and what to know of their modules."""
    searched = [module for name in names if (module := view.find_module(name))]
    tools = [tool for module in searched for tool in module.tools]
    offered = _list_offered(view, request.modules)
    if not (tools or offered) or request.query is None:
        return {"tools": [], "note": NOTHING_FOUND}
    listings = view.listings
    everything = await search_tools(listings.documents, [*tools, *offered], request.query)
    found = [one for one in everything if one not in offered]
    best = [one for one in everything[:FOUND_PER_PAGE] if one in offered][:MAX_OFFERED]
    end = request.position + FOUND_PER_PAGE
    shown = [
        (tool, request.detail or _choose_detail_of(rank))
        for rank, tool in enumerate(found[request.position : end], request.position)
    ]
    owners = {tool.module: tool.owner for tool, _ in shown}
    notes = [{"module": name, **await describe(owner)} for name, owner in owners.items()]
    unready = [note for note in notes if "note" in note]
    return {
        "tools": [_render_found_tool(listings, tool, detail) for tool, detail in shown],
        **({"offered": [offered[one] for one in best], "use": HOW_TO_USE} if best and not request.position else {}),
        **({"modules": unready} if unready else {}),
        **({"next_cursor": str(end)} if len(found) > end else {}),
        **({} if found or best else {"note": NOTHING_FOUND}),
    }


def _list_offered(view: SieveView, names: Sequence[str]) -> dict[CatalogueTool, dict[str, Any]]:
    """List the resources and prompts that exist for the caller, of these modules or without them of all, each as an
    answer shows it."""
    listed: dict[CatalogueTool, dict[str, Any]] = {}
    for resource in view.resources:
        head = {"module": resource.tool.module, "kind": resource.tool.kind, "uri": resource.resource.uris[0]}
        listed[resource.tool] = {**head, "description": cut_to_sentence(resource.resource.description)}
    for prompt in view.prompts.values():
        head = {"module": prompt.tool.module, "kind": prompt.tool.kind, "name": prompt.prompt.name}
        arguments = list(prompt.prompt.arguments.model_fields)
        listed[prompt.tool] = {
            **head,
            "arguments": arguments,
            "description": cut_to_sentence(prompt.prompt.description),
        }
    return {tool: shown for tool, shown in listed.items() if not names or tool.module in names}


def tool_exists(view: SieveView, module: str, tool: str) -> bool:
    """Check whether the tool exists for the caller; without a tool, whether the module does."""
    return (module, tool) in view.by_name if tool else view.find_module(module) is not None


async def _render_module(
    view: SieveView,
    name: str,
    request: SchemaRequest,
    detail: SchemaDetail,
    page: SchemaPage,
    describe: DescribeModule,
) -> dict[str, Any]:
    """Render one module as the caller sees it, or the one text for what does not exist. Empty where nothing of it
    stands on the page."""
    begins = page.take(HEAD_BYTES)
    missing = [tool for tool in request.tools or ("",) if not tool_exists(view, name, tool)]
    module = view.find_module(name)
    if module is None or len(missing) == len(request.tools or ("",)):
        return {"error": NO_SUCH_TOOL} if begins else {}
    unchanged = request.known_digests.get(name) == module.digest
    tools: Sequence[CatalogueTool] = () if unchanged else _select_tools(view, module, request.tools)
    shown = [tool for tool in tools if page.take(_measure(module.listings, tool, detail))]
    if not begins and not shown:
        return {}
    head: dict[str, Any] = {"module": name, "digest": module.digest, **await describe(module.module)}
    if unchanged:
        return {**head, "unchanged": True}
    rendered = {**head, "tools": [_render_tool(module.listings, tool, detail) for tool in shown]}
    return {**rendered, "error": NO_SUCH_TOOL} if missing else rendered


def _find_whole(view: SieveView, names: Sequence[str], request: SchemaRequest) -> ModuleView | None:
    """Find the module of which all tools are asked for and fit one page: what is asked most, and needs no count."""
    if len(names) != 1 or request.tools or request.known_digests or request.position:
        return None
    module = view.find_module(names[0])
    if module is None or request.detail not in (None, SchemaDetail.FULL):
        return None
    return module if HEAD_BYTES + len(module.encoded_tools) <= FULL_PAGE_BYTES else None


def _choose_detail(view: SieveView, names: Sequence[str], request: SchemaRequest) -> SchemaDetail:
    """Choose schemas where all of them fit one page, else a line for each tool."""
    used = 0
    for name in names:
        module = view.find_module(name)
        if module is None or request.known_digests.get(name) == module.digest:
            continue
        for tool in _select_tools(view, module, request.tools):
            used += _measure(module.listings, tool, SchemaDetail.FULL)
            if used > FULL_PAGE_BYTES:
                return SchemaDetail.BRIEF
    return SchemaDetail.FULL


def _choose_detail_of(rank: int) -> SchemaDetail:
    return SchemaDetail.FULL if rank < FOUND_IN_FULL else SchemaDetail.BRIEF


def _select_tools(view: SieveView, module: ModuleView, names: Iterable[str]) -> Sequence[CatalogueTool]:
    if not names:
        return module.tools
    found = (view.find(module.module.name, name) for name in names)
    return list(dict.fromkeys(tool for tool in found if tool))


def _measure(listings: ToolListings, tool: CatalogueTool, detail: SchemaDetail) -> int:
    if detail is SchemaDetail.FULL:
        return listings.measure(tool)
    return len(orjson.dumps(_render_tool(listings, tool, detail)))


def _render_tool(listings: ToolListings, tool: CatalogueTool, detail: SchemaDetail) -> str | Mapping[str, Any]:
    if detail is SchemaDetail.NAMES:
        return tool.name
    return listings.get(tool) if detail is SchemaDetail.FULL else listings.summarize(tool)


def _render_found_tool(listings: ToolListings, tool: CatalogueTool, detail: SchemaDetail) -> Mapping[str, Any]:
    listed = _render_tool(listings, tool, detail)
    return {"module": tool.module, **({"name": listed} if isinstance(listed, str) else listed)}


async def _render_summary(module: ModuleView, describe: DescribeModule) -> dict[str, Any]:
    head = {"module": module.module.name, "description": module.module.description, "digest": module.digest}
    return {**head, **await describe(module.module)}
