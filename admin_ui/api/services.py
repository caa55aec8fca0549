"""``/services``: the modules that a tenant has switched on."""

from typing import Any

from admin_ui.api.parts import Console
from core.api.app import router
from core.api.callers import ReadingAdmin
from core.api.paging import Cursor, Most, TextKey, key_of, paged
from core.api.shapes import PageOf, Told
from core.directory import services

routes = router("services")


class ServiceView(Told):
    """A module as the tenant has it; no setting is a secret."""

    module: str
    enabled: bool
    settings: dict[str, Any]


@routes.get("/services")
async def list_services(
    caller: ReadingAdmin, console: Console, limit: Most = 50, cursor: Cursor = None
) -> PageOf[ServiceView]:
    """The tenant's services by name, switched on or off."""
    after: str = "" if cursor is None else key_of(cursor, TextKey)
    found = await services.list_services(console, caller.tenant_id, after=after, limit=limit + 1)
    shown, following = paged(found, limit, lambda one: one.module)
    items = [ServiceView(module=one.module, enabled=one.enabled, settings=dict(one.settings)) for one in shown]
    return PageOf(items=items, next_cursor=following)
