"""``/me``: who is calling, and what this credential may do."""

from datetime import datetime
from uuid import UUID

from admin_ui.api.parts import Console
from core.api.app import router
from core.api.callers import SignedIn
from core.api.shapes import Told
from core.directory.tenants import get_tenant
from core.directory.users_by_id import get_user
from core.scopes import ALL

routes = router("me")


class MyTenant(Told):
    """The tenant of whoever calls."""

    id: UUID
    slug: str
    name: str


class Me(Told):
    """Whoever calls."""

    id: UUID
    email: str
    name: str
    system_role: str
    roles: list[str]
    tenant: MyTenant
    scopes: list[str]
    by: str
    authenticated_at: datetime | None
    operator: bool


@routes.get("/me")
async def show_me(caller: SignedIn, console: Console) -> Me:
    """Who is calling, by which kind of credential, and with which scopes."""
    user = await get_user(console, caller.tenant_id, caller.user_id)
    tenant = await get_tenant(console, caller.tenant_id)
    return Me(
        id=user.id,
        email=user.email,
        name=user.name,
        system_role=user.system_role,
        roles=list(user.roles),
        tenant=MyTenant.model_validate(tenant),
        scopes=sorted(caller.scopes & ALL),
        by=caller.by,
        authenticated_at=caller.authenticated_at,
        operator=caller.operator,
    )
