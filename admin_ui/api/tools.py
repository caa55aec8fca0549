"""``/tools`` and ``/tool-modules``: what the caller may use, and where the tenant tells it, what they may not.

Nothing here is for models: they learn of their tools by the tool sieve alone, at ``/mcp``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request
from pydantic import Field

from admin_ui.api.admin_dependencies import AdminDependencies, AdminDeps
from admin_ui.api.services import ModulePath
from admin_ui.api.tool_catalogue import ModuleDescription, ToolDescription
from core.api.app import create_router
from core.api.dependencies import CurrentUserRead
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.principal import Principal
from core.api.schemas import PageOf, ResponseModel, ShortText
from core.api.security import get_security
from core.api.sorted_lists import SortedList, SortKey
from core.connection_state import ConnectionState, UserConnection
from core.directory.tenants import get_tenant
from core.errors import NotFound
from core.module_manifest import CapabilityKind
from core.names import MODULE_NAME_FIELD
from core.policy_loader import load_policy_of_user
from core.text_folding import fold_text, matches_all_words

routes = create_router("tools")

ToolPath = Annotated[str, Path(pattern=MODULE_NAME_FIELD, description="Name of the tool, such as `search_issues`.")]
ModuleFilter = Annotated[
    str | None, Query(pattern=MODULE_NAME_FIELD, description="Name of the module, such as `github`.")
]
SearchText = Annotated[
    ShortText,
    Query(
        description="Words that names, titles or descriptions contain, in English or Japanese; width, case and kana "
        "do not count."
    ),
]
Permitted = Annotated[
    bool,
    Query(description="False for the tools that the caller may not use, where the tenant shows them; default true."),
]
KindFilter = Annotated[
    CapabilityKind | None, Query(description="Kind: `tool`, `resource` or `prompt`; default all of them.")
]
KIND_FIELD = Field(description="Kind: a `tool` for models, or a `resource` or `prompt` for people.")
URI_FIELD = Field(description="URI template of a resource; empty for tools and prompts.")
Effect = Literal["reads", "changes", "destroys"]
ModuleSort = Literal["module", "-module", "tool_count", "-tool_count"]
ConnectionFilter = Literal["ready", "personal", "shared", "needs_connect", "broken"]


class LocalizedTextView(ResponseModel):
    """A text in both languages; without a translation the Japanese one is the English."""

    en: str = Field(description="English text.")
    ja: str = Field(description="Japanese text.")


class ToolView(ResponseModel):
    """A tool of a module, as people see it, or one of its resources and prompts."""

    module: str = Field(description="Name of the module, such as `github`.")
    name: str = Field(description="Name of the tool, such as `search_issues`.")
    title: LocalizedTextView = Field(description="Display name of the tool.")
    permitted: bool = Field(description="True if the caller may use the tool.")
    description: str = Field(description="Purpose of the tool, in English; empty if the caller may not use it.")
    effect: Effect | None = Field(
        description="Effect of the tool: it only `reads`, it `changes` something, or it `destroys` something; null if "
        "the caller may not use it."
    )
    idempotent: bool = Field(description="True if a repeated call changes nothing more.")
    open_world: bool = Field(description="True if the tool deals with more than the service's own data.")
    kind: CapabilityKind = KIND_FIELD
    uri: str = Field(description="URI template of a resource; empty for others, and if the caller may not use it.")


class ToolDetailView(ToolView):
    """A tool with the schemas of its parameters and its result."""

    parameters: dict[str, Any] = Field(description="JSON Schema of the parameters.")
    returns: dict[str, Any] = Field(description="JSON Schema of the result; empty for resources and prompts.")


class ModuleConnectionView(ResponseModel):
    """The connection that the caller's calls of a module use."""

    state: ConnectionState = Field(description="State of the connection; `ready` for a module that needs no account.")
    kind: Literal["personal", "shared"] | None = Field(
        description="Ownership: `personal`, or `shared` by a role; null without a credential."
    )
    owner: str = Field(description="E-mail address or role that owns the credential; empty without a credential.")
    account: str = Field(description="Name of the account at the vendor; empty if unknown.")
    health: str = Field(description="Health of the connection, as `GET /connections` has it; empty if not needed.")
    cause: str = Field(description="Machine-readable cause of the state; empty if the connection works.")
    message: LocalizedTextView = Field(description="Explanation of the cause; empty if the connection works.")
    responsible: str = Field(
        description="Party that can resolve the problem, `owner` or `administrator`; empty if nobody has to act."
    )
    action_url: str = Field(description="URL of the page on which the account is connected; empty if not needed.")
    token_expires_at: datetime | None = Field(
        description="End of the access token; null for a key without an end, or without a credential."
    )
    renews: bool = Field(description="True if the access token is renewed before its end.")
    next_retry_at: datetime | None = Field(description="Time of the next automatic attempt; null if none is due.")
    connectable: bool = Field(
        description="False if no account can be connected yet: no OAuth client is registered, and no key is accepted."
    )


class ToolModuleView(ResponseModel):
    """A module with tools of the caller."""

    module: str = Field(description="Name of the module, such as `github`.")
    title: LocalizedTextView = Field(description="Display name of the module.")
    description: LocalizedTextView = Field(description="Purpose of the module.")
    tool_count: int = Field(description="Number of tools, resources and prompts that the caller may use.")
    matching_tool_count: int = Field(description="Number of those that match the search.")
    hidden_tool_count: int = Field(
        description="Number of those that the caller may not use; 0 if the tenant does not show them."
    )
    connection: ModuleConnectionView | None = Field(
        description="Connection of the caller; null if the caller may use no tool of the module."
    )


@dataclass(frozen=True, slots=True)
class _Visible:
    """The modules that the tenant has switched on, the caller's tools of each, and whether the others are shown."""

    modules: Mapping[str, ModuleDescription]
    permitted: Mapping[str, frozenset[str]]
    shows_hidden: bool

    def list_tools(self, module: str, permitted: bool) -> list[ToolDescription]:
        own = self.permitted.get(module, frozenset())
        if not permitted and not self.shows_hidden:
            return []
        tools = self.modules[module].tools
        return [tools[name] for name in sorted(tools) if (name in own) == permitted]


@routes.get("/tools")
async def list_tools(
    caller: CurrentUserRead,
    dependencies: AdminDeps,
    request: Request,
    q: SearchText = "",
    module: ModuleFilter = None,
    kind: KindFilter = None,
    permitted: Permitted = True,
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[ToolView]:
    """List the caller's tools, resources and prompts.

    By module and name. With `permitted=false` returns names and titles of those that the caller may not use, to people
    in a browser or at MCPist's command line alone.
    """
    after = ("", "") if cursor is None else decode_cursor(cursor, tuple[TextKey, TextKey])
    visible = await _load_visible(caller, dependencies, request)
    names = [name for name in sorted(visible.modules) if module in (None, name) and name >= after[0]]
    found = [
        tool
        for name in names
        for tool in _search(q, visible.modules[name], visible.list_tools(name, permitted))
        if (tool.module, tool.name) > after and kind in (None, tool.kind)
    ]
    page, next_cursor = split_page(found[: limit + 1], limit, lambda tool: (tool.module, tool.name))
    return PageOf(items=[_build_tool_view(tool, permitted) for tool in page], next_cursor=next_cursor)


@routes.get("/tools/{module}/{tool}")
async def show_tool(
    module: ModulePath, tool: ToolPath, caller: CurrentUserRead, dependencies: AdminDeps, request: Request
) -> ToolDetailView:
    """Get a tool that the caller may use, with its schemas."""
    visible = await _load_visible(caller, dependencies, request)
    if tool not in visible.permitted.get(module, ()):
        raise NotFound("there is no such tool")
    schemas = dependencies.catalogue.find_schemas(module, tool)
    shown = _build_tool_view(visible.modules[module].tools[tool], True)
    return ToolDetailView(**dict(shown), parameters=dict(schemas.parameters), returns=dict(schemas.returns))


_MODULES = SortedList[ToolModuleView](
    lambda view: view.module,
    lambda view: view.module,
    {
        "module": SortKey(lambda view: view.module),
        "tool_count": SortKey(lambda view: view.tool_count, int),
    },
)


@routes.get("/tool-modules")
async def list_tool_modules(
    caller: CurrentUserRead,
    dependencies: AdminDeps,
    request: Request,
    q: SearchText = "",
    state: Annotated[
        ConnectionFilter | None,
        Query(
            description="State of the connection: `ready` without an account, `personal` or `shared` for a working "
            "account, `needs_connect` or `broken`."
        ),
    ] = None,
    sort: Annotated[ModuleSort, Query(description="Field to order by; with `-` the other way round.")] = "module",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[ToolModuleView]:
    """List the modules of the caller's tools.

    By name unless `sort` says otherwise, with the connection that the caller's calls use. Modules without a tool of
    the caller's follow the same order, where the tenant shows them.
    """
    visible = await _load_visible(caller, dependencies, request)
    connections = await dependencies.connections(caller.tenant_id, caller.user_id)
    views = (_build_module_view(visible, name, q, connections) for name in visible.modules)
    found = [view for view in views if view is not None and (state is None or _has_state(view, state))]
    page, next_cursor = _MODULES.select_page(found, "", sort, limit, cursor)
    return PageOf(items=list(page), next_cursor=next_cursor)


@routes.get("/tool-modules/{module}")
async def show_tool_module(
    module: ModulePath, caller: CurrentUserRead, dependencies: AdminDeps, request: Request
) -> ToolModuleView:
    """Get a module of the caller's tools."""
    visible = await _load_visible(caller, dependencies, request)
    connections = await dependencies.connections(caller.tenant_id, caller.user_id)
    view = _build_module_view(visible, module, "", connections) if module in visible.modules else None
    if view is None:
        raise NotFound("there is no such module")
    return view


def is_person_at_hand(caller: Principal, request: Request) -> bool:
    """Check whether a person asks, in a browser or by a client that is part of MCPist: an API token or another client
    may speak for a model, which must not learn what there is that it may not use."""
    return caller.authentication_method == "session" or caller.client in get_security(request).own_clients


async def _load_visible(caller: Principal, dependencies: AdminDependencies, request: Request) -> _Visible:
    async with dependencies.console.tenant(caller.tenant_id) as work:
        policy = await load_policy_of_user(work, caller.user_id)
    tenant = await get_tenant(dependencies.console, caller.tenant_id)
    permitted = dependencies.catalogue.list_permitted_tools(policy)
    installed = dependencies.catalogue.list_modules()
    return _Visible(
        {name: module for name, module in installed.items() if name in policy.services},
        {name: frozenset(tools) for name, tools in permitted.items()},
        tenant.shows_hidden_tools and is_person_at_hand(caller, request),
    )


def _search(query: str, module: ModuleDescription, tools: Sequence[ToolDescription]) -> Iterator[ToolDescription]:
    folded = fold_text(query)
    head = f"{module.name} {module.title.en} {module.title.ja}"
    for tool in tools:
        text = f"{head} {tool.name} {tool.title.en} {tool.title.ja} {tool.description}"
        if not folded or matches_all_words(folded, fold_text(text)):
            yield tool


def _build_module_view(
    visible: _Visible, name: str, query: str, connections: Mapping[str, UserConnection]
) -> ToolModuleView | None:
    """Build the view of a module; None where nothing of it is to be shown, or nothing matches."""
    module = visible.modules[name]
    own, hidden = visible.list_tools(name, True), visible.list_tools(name, False)
    matching = len(list(_search(query, module, own)))
    if not matching and not list(_search(query, module, hidden)):
        return None
    return ToolModuleView(
        module=name,
        title=LocalizedTextView.model_validate(module.title),
        description=LocalizedTextView.model_validate(module.description),
        tool_count=len(own),
        matching_tool_count=matching,
        hidden_tool_count=len(hidden),
        connection=_build_connection_view(module, connections.get(name)) if own else None,
    )


def _build_connection_view(module: ModuleDescription, connection: UserConnection | None) -> ModuleConnectionView:
    if connection is None:
        state = ConnectionState.NEEDS_CONNECT if module.has_vendor else ConnectionState.READY
        connection = UserConnection(state)
    en, ja = connection.message
    return ModuleConnectionView(
        state=connection.state,
        kind=connection.kind,
        owner=connection.owner,
        account=connection.account,
        health=connection.health,
        cause=connection.cause,
        message=LocalizedTextView(en=en, ja=ja),
        responsible=connection.responsible,
        action_url=connection.action_url,
        token_expires_at=connection.token_expires_at,
        renews=connection.renews,
        next_retry_at=connection.next_retry_at,
        connectable=connection.connectable,
    )


def _has_state(view: ToolModuleView, state: ConnectionFilter) -> bool:
    if view.connection is None:
        return False
    found = view.connection.state
    return (view.connection.kind if found is ConnectionState.CONNECTED else found) == state


def _build_tool_view(tool: ToolDescription, permitted: bool) -> ToolView:
    return ToolView(
        module=tool.module,
        name=tool.name,
        title=LocalizedTextView.model_validate(tool.title),
        permitted=permitted,
        description=tool.description if permitted else "",
        effect=get_effect(tool) if permitted else None,
        idempotent=permitted and tool.idempotent,
        open_world=permitted and tool.open_world,
        kind=tool.kind,
        uri=tool.uri if permitted else "",
    )


def get_effect(tool: ToolDescription) -> Effect:
    """Get the strongest effect that a call of the tool can have."""
    return "reads" if tool.read_only else "destroys" if tool.destructive else "changes"
