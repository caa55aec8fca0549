"""``/me``: who is calling, what this credential may do, and the caller's own profile."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Request
from pydantic import Field, StringConstraints

from admin_ui.api.admin_dependencies import AdminDependencies, AdminDeps
from core.api.app import create_router
from core.api.authorization import has_signed_in_recently
from core.api.dependencies import CurrentUser, CurrentUserWrite
from core.api.principal import Principal, RecentSignInRequired
from core.api.schemas import NO_CONTROL_CHARACTERS, Name, RequestModel, ResponseModel
from core.api.security import get_security
from core.directory.profiles import MAX_TIME_ZONE_LENGTH, Language, change_profile, get_profile
from core.directory.tenants import get_tenant
from core.directory.users import get_user
from core.policy_loader import load_policy_of_user
from core.scopes import ADMIN_READ, ADMIN_WRITE, ALL_SCOPES, READ, WRITE, covers

routes = create_router("me")

Right = Literal["own.read", "own.write", "tenant.read", "tenant.write", "deployment.read", "deployment.write"]
TimeZone = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_TIME_ZONE_LENGTH, pattern=NO_CONTROL_CHARACTERS)
]


class CurrentTenantView(ResponseModel):
    """Tenant of the caller."""

    id: UUID = Field(description="Identifier of the tenant.")
    slug: str = Field(description="Short name of the tenant.")
    name: str = Field(description="Display name of the tenant.")
    shows_hidden_tools: bool = Field(
        description="True if people are told the names of tools that they may not use; models never are."
    )
    accepts_access_requests: bool = Field(description="True if people may ask for tools that they may not use.")


class CurrentUserView(ResponseModel):
    """The caller, their profile, and the rights of the credential in use."""

    id: UUID = Field(description="Identifier of the user.")
    email: str = Field(description="E-mail address of the user.")
    name: str = Field(description="Display name of the user.")
    language: Language | None = Field(description="Language of the user, `en` or `ja`; null for the browser's.")
    time_zone: str | None = Field(description="IANA time zone of the user; null for the browser's.")
    single_key_shortcuts: bool = Field(description="True if the console's shortcuts of a single letter are on.")
    guided_start: bool = Field(description="True if the console offers the user the guided start.")
    system_role: str = Field(description="System role: `admin` or `user`.")
    roles: list[str] = Field(description="Names of the assigned roles.")
    tenant: CurrentTenantView = Field(description="Tenant of the user.")
    scopes: list[str] = Field(description="Scopes of the credential in use.")
    rights: list[Right] = Field(
        description="Kinds of operations that this credential may call: reading or writing what is the user's own, the "
        "tenant's, or the deployment's. They match `x-access` of each operation of the OpenAPI document."
    )
    modules: list[str] = Field(description="Names of the modules of which the user may use a tool, resource or prompt.")
    recent_sign_in_until: datetime | None = Field(
        description="Time until which this credential may call operations that need a recent sign-in; null if it may "
        "not now."
    )
    authentication_method: str = Field(description="Credential in use: `session`, `token` or `oauth`.")
    authenticated_at: datetime | None = Field(description="Time of the sign-in; null if the credential does not tell.")
    operator: bool = Field(description="True if the user administers the whole deployment.")


class ProfileChange(RequestModel):
    """Changes to the caller's own profile; omitted fields stay unchanged."""

    name: Name | None = Field(default=None, description="Display name; null keeps it.")
    language: Language | None = Field(default=None, description="Language, `en` or `ja`; null for the browser's.")
    time_zone: TimeZone | None = Field(
        default=None, description="IANA time zone such as `Asia/Tokyo`; null for the browser's."
    )
    single_key_shortcuts: bool | None = Field(
        default=None, description="Switch the console's shortcuts of a single letter on or off; null keeps it."
    )
    guided_start: bool | None = Field(
        default=None, description="Offer the guided start in the console, or not any more; null keeps it."
    )


@routes.get("/me")
async def show_me(caller: CurrentUser, dependencies: AdminDeps, request: Request) -> CurrentUserView:
    """Get the caller.

    Returns the user with their profile, the tenant, and the kind, scopes and rights of the credential in use.
    """
    return await _build_view(caller, dependencies, request)


@routes.patch("/me")
async def change_me(
    body: ProfileChange, caller: CurrentUserWrite, dependencies: AdminDeps, request: Request
) -> CurrentUserView:
    """Change the caller's own profile."""
    kept_by_null = ("name", "single_key_shortcuts", "guided_start")
    changes = {
        name: value
        for name in body.model_fields_set
        if (value := getattr(body, name)) is not None or name not in kept_by_null
    }
    await change_profile(dependencies.console, caller.actor, caller.tenant_id, caller.user_id, **changes)
    return await _build_view(caller, dependencies, request)


async def _build_view(caller: Principal, dependencies: AdminDependencies, request: Request) -> CurrentUserView:
    console = dependencies.console
    user = await get_user(console, caller.tenant_id, caller.user_id)
    profile = await get_profile(console, caller.tenant_id, caller.user_id)
    tenant = await get_tenant(console, caller.tenant_id)
    async with console.tenant(caller.tenant_id) as work:
        policy = await load_policy_of_user(work, caller.user_id)
    permitted = dependencies.catalogue.list_permitted_tools(policy)
    return CurrentUserView(
        id=user.id,
        email=user.email,
        name=user.name,
        language=profile.language,
        time_zone=profile.time_zone,
        single_key_shortcuts=profile.single_key_shortcuts,
        guided_start=profile.guided_start,
        system_role=user.system_role,
        roles=list(user.roles),
        tenant=CurrentTenantView.model_validate(tenant),
        scopes=sorted(caller.scopes & ALL_SCOPES),
        rights=list(_list_rights(caller)),
        modules=sorted(name for name, tools in permitted.items() if tools),
        recent_sign_in_until=_find_recent_sign_in_end(caller, request),
        authentication_method=caller.authentication_method,
        authenticated_at=caller.authenticated_at,
        operator=caller.operator,
    )


def _list_rights(caller: Principal) -> Iterator[Right]:
    """List the pairs of role and scope that routes ask for, as :class:`core.api.authorization.RouteAccess` checks
    them."""
    can_read, can_write = covers(caller.scopes, ADMIN_READ), covers(caller.scopes, ADMIN_WRITE)
    if can_read or covers(caller.scopes, READ):
        yield "own.read"
    if can_write or covers(caller.scopes, WRITE):
        yield "own.write"
    administers = caller.system_role == "admin"
    if administers and can_read:
        yield "tenant.read"
    if administers and can_write:
        yield "tenant.write"
    if caller.operator and can_read:
        yield "deployment.read"
    if caller.operator and can_write:
        yield "deployment.write"


def _find_recent_sign_in_end(caller: Principal, request: Request) -> datetime | None:
    security = get_security(request)
    if not has_signed_in_recently(caller, security.own_clients, security.clock()) or caller.authenticated_at is None:
        return None
    return caller.authenticated_at + timedelta(minutes=RecentSignInRequired.minutes)
