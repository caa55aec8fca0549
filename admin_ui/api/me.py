"""``/me``: who is calling, and what this credential may do."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from admin_ui.api.admin_dependencies import ConsoleDatabase
from core.api.app import create_router
from core.api.dependencies import CurrentUser
from core.api.schemas import ResponseModel
from core.directory.tenants import get_tenant
from core.directory.users import get_user
from core.scopes import ALL_SCOPES

routes = create_router("me")


class CurrentTenantView(ResponseModel):
    """Tenant of the caller."""

    id: UUID = Field(description="Identifier of the tenant.")
    slug: str = Field(description="Short name of the tenant.")
    name: str = Field(description="Display name of the tenant.")


class CurrentUserView(ResponseModel):
    """The caller, and the rights of the credential in use."""

    id: UUID = Field(description="Identifier of the user.")
    email: str = Field(description="E-mail address of the user.")
    name: str = Field(description="Display name of the user.")
    system_role: str = Field(description="System role: `admin` or `user`.")
    roles: list[str] = Field(description="Names of the assigned roles.")
    tenant: CurrentTenantView = Field(description="Tenant of the user.")
    scopes: list[str] = Field(description="Scopes of the credential in use.")
    authentication_method: str = Field(description="Credential in use: `session`, `token` or `oauth`.")
    authenticated_at: datetime | None = Field(description="Time of the sign-in; null if the credential does not tell.")
    operator: bool = Field(description="True if the user administers the whole deployment.")


@routes.get("/me")
async def show_me(caller: CurrentUser, console: ConsoleDatabase) -> CurrentUserView:
    """Get the caller.

    Returns the user, the tenant, and the kind and scopes of the credential in use.
    """
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
