"""``/services``: the modules that a tenant has switched on."""

from typing import Any

from admin_ui.api.parts import Console
from core.api.app import router
from core.api.callers import ReadingAdmin
from core.api.shapes import PageOf, Told
from core.directory import services

routes = router("services")


class ServiceView(Told):
    """A module as the tenant has it; no setting is a secret."""

    module: str
    enabled: bool
    settings: dict[str, Any]


@routes.get("/services")
async def list_services(caller: ReadingAdmin, console: Console) -> PageOf[ServiceView]:
    """The tenant's services by name, switched on or off; all of them, in one page."""
    found = await services.list_services(console, caller.tenant_id)
    items = [ServiceView(module=one.module, enabled=one.enabled, settings=dict(one.settings)) for one in found]
    return PageOf(items=items, next_cursor=None)
