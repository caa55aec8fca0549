"""``/service-tools``: the tools of the tenant's services, for those who give permissions."""

from typing import Annotated

from fastapi import Query
from pydantic import Field

from admin_ui.api.admin_dependencies import AdminDeps
from admin_ui.api.tool_catalogue import ToolDescription
from admin_ui.api.tools import KIND_FIELD, URI_FIELD, Effect, KindFilter, LocalizedTextView, get_effect
from core.api.app import create_router
from core.api.dependencies import AdminRead
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.schemas import PageOf, ResponseModel
from core.directory.services import list_services
from core.module_manifest import CapabilityKind
from core.names import MODULE_NAME_FIELD

routes = create_router("services")

ModuleFilter = Annotated[
    str | None, Query(pattern=MODULE_NAME_FIELD, description="Name of the module, such as `github`.")
]


class ServiceToolView(ResponseModel):
    """A tool of a service, or one of its resources and prompts, as the permissions of roles name it."""

    module: str = Field(description="Name of the module, such as `github`.")
    name: str = Field(description="Name of the tool, such as `search_issues`.")
    module_title: LocalizedTextView = Field(description="Display name of the module.")
    title: LocalizedTextView = Field(description="Display name of the tool.")
    description: str = Field(description="Purpose of the tool, in English.")
    effect: Effect = Field(description="Strongest effect of a call: `reads`, `changes` or `destroys`.")
    enabled: bool = Field(description="True if the tenant has enabled the module.")
    kind: CapabilityKind = KIND_FIELD
    uri: str = URI_FIELD
    plain_view_problem: str = Field(
        description="Reason why the tool is left out of plain views: model providers refuse what it takes; else empty."
    )


@routes.get("/service-tools")
async def list_service_tools(
    caller: AdminRead,
    dependencies: AdminDeps,
    module: ModuleFilter = None,
    kind: KindFilter = None,
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[ServiceToolView]:
    """List the tools, resources and prompts of the installed modules.

    By module and name, whoever may use them.
    """
    after: tuple[str, str] = ("", "") if cursor is None else decode_cursor(cursor, tuple[TextKey, TextKey])
    modules = dependencies.catalogue.list_modules()
    services = await list_services(dependencies.console, caller.tenant_id)
    enabled = {service.module for service in services if service.enabled}
    names = [name for name in sorted(modules) if module in (None, name) and name >= after[0]]
    found = [
        tool
        for name in names
        for tool in sorted(modules[name].tools.values(), key=_key)
        if _key(tool) > after and kind in (None, tool.kind)
    ]
    page, next_cursor = split_page(found[: limit + 1], limit, _key)
    items = [
        ServiceToolView(
            module=tool.module,
            name=tool.name,
            module_title=LocalizedTextView.model_validate(modules[tool.module].title),
            title=LocalizedTextView.model_validate(tool.title),
            description=tool.description,
            effect=get_effect(tool),
            enabled=tool.module in enabled,
            kind=tool.kind,
            uri=tool.uri,
            plain_view_problem=dependencies.catalogue.find_plain_view_problem(tool.module, tool.name),
        )
        for tool in page
    ]
    return PageOf(items=items, next_cursor=next_cursor)


def _key(tool: ToolDescription) -> tuple[str, str]:
    return tool.module, tool.name
