"""``/me``: who is calling, and what this credential may do."""

from datetime import datetime
from uuid import UUID

from admin_ui.api.admin_dependencies import ConsoleDatabase
from core.api.app import create_router
from core.api.dependencies import CurrentUser
from core.api.schemas import ResponseModel
from core.directory.tenants import get_tenant
from core.directory.users_by_id import get_user
from core.scopes import ALL_SCOPES

routes = create_router("me")


class CurrentTenantView(ResponseModel):
    """The tenant of whoever calls."""

    id: UUID
    slug: str
    name: str


class CurrentUserView(ResponseModel):
    """Whoever calls."""

    id: UUID
    email: str
    name: str
    system_role: str
    roles: list[str]
    tenant: CurrentTenantView
    scopes: list[str]
    authentication_method: str
    authenticated_at: datetime | None
    operator: bool


@routes.get("/me")
async def show_me(caller: CurrentUser, console: ConsoleDatabase) -> CurrentUserView:
    """Who is calling, by which kind of credential, and with which scopes."""
    user = await get_user(console, caller.tenant_id, caller.user_id)
    tenant = await get_tenant(console, caller.tenant_id)
    return CurrentUserView(
        id=user.id,
        email=user.email,
        name=user.name,
        system_role=user.system_role,
        roles=list(user.roles),
        tenant=CurrentTenantView.model_validate(tenant),
        scopes=sorted(caller.scopes & ALL_SCOPES),
        authentication_method=caller.authentication_method,
        authenticated_at=caller.authenticated_at,
        operator=caller.operator,
    )
