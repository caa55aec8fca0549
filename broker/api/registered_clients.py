"""``/oauth/clients``: the programs that an administrator registers for the tenant."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Path
from pydantic import Field, StringConstraints, model_validator

from broker.api.identity_dependencies import IdentityDeps
from broker.api.tokens import Scope
from broker.authorization_server.registered_clients import MAX_REDIRECT_URIS, ListedClient, NewClient
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite, RecentlySignedInAdmin
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.schemas import NO_CONTROL_CHARACTERS, PageOf, RequestModel, ResponseModel, ShortName
from core.errors import Forbidden, Invalid, NotFound
from core.known_clients import ToolResultFormat
from core.scopes import covers

routes = create_router("oauth")

ClientId = Annotated[str, Path(pattern="^[0-9A-Za-z_-]{8,100}$")]
ClientAuthMethod = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
GrantType = Literal[
    "authorization_code", "refresh_token", "client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer"
]
Uri = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=NO_CONTROL_CHARACTERS)]


class ClientView(ResponseModel):
    """A registered client. `acts_as_user_id` is whom it acts as where no person is there (client credentials)."""

    id: str
    name: str
    auth_method: ClientAuthMethod
    redirect_uris: list[str]
    grant_types: list[str]
    scopes: list[str]
    acts_as_user_id: UUID | None
    user_email: str
    created_at: datetime
    disabled_at: datetime | None
    tool_result_format: ToolResultFormat | None


class ClientCreate(RequestModel):
    """`jwks` are the public keys of a client that proves who it is by `private_key_jwt`; `tool_result_format` is as of
    an API token."""

    name: ShortName
    auth_method: ClientAuthMethod = "none"
    redirect_uris: Annotated[list[Uri], Field(max_length=MAX_REDIRECT_URIS)] = Field(default=[])
    grant_types: Annotated[list[GrantType], Field(min_length=1, max_length=4)] = Field(
        default=["authorization_code", "refresh_token"]
    )
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=4)] = Field(default=["mcp:read", "mcp:write"])
    acts_as_user_id: UUID | None = None
    jwks: dict[str, Any] | None = None
    tool_result_format: ToolResultFormat | None = None


class CreatedClientView(ResponseModel):
    """`secret` is shown this once, and never again; null for a client that has none."""

    id: str
    secret: str | None


class ClientUpdate(RequestModel):
    """What is left out stays. Switched off, everything that was granted to a client ends within a second;
    `tool_result_format` null leaves it to what is known of the client."""

    enabled: bool = True
    tool_result_format: ToolResultFormat | None = None

    @model_validator(mode="after")
    def check_not_empty(self) -> "ClientUpdate":
        if not self.model_fields_set:
            raise ValueError("name enabled, tool_result_format or both")
        return self


@routes.get("/oauth/clients")
async def list_clients(
    caller: AdminRead, parts: IdentityDeps, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[ClientView]:
    """The tenant's own clients, newest first; those that are switched off too."""
    found = await parts.clients.list(caller.tenant_id)
    if cursor is not None:
        made, client_id = decode_cursor(cursor, tuple[datetime, TextKey])
        found = [one for one in found if (one.created_at, client_id) < (made, one.client.id)]
    shown, following = split_page(found, limit, lambda one: (one.created_at, one.client.id))
    return PageOf(items=[_build_view(one) for one in shown], next_cursor=following)


@routes.post("/oauth/clients", status_code=201)
async def register_client(asked: ClientCreate, caller: RecentlySignedInAdmin, parts: IdentityDeps) -> CreatedClientView:
    """Register a client. It takes a sign-in of the last ten minutes, because what it makes is a credential."""
    beyond = [scope for scope in asked.scopes if not covers(caller.scopes, scope)]
    if beyond:
        raise Forbidden(f"you do not have {beyond[0]} yourself")
    wanted = NewClient(
        name=asked.name,
        auth_method=asked.auth_method,
        redirect_uris=tuple(asked.redirect_uris),
        grant_types=frozenset(asked.grant_types),
        scopes=frozenset(asked.scopes),
        user_id=asked.acts_as_user_id,
        jwks=asked.jwks,
        tool_result_format=asked.tool_result_format,
    )
    try:
        client, secret = await parts.clients.create(caller.actor, caller.tenant_id, wanted)
    except NotFound:
        raise Invalid("acts_as_user_id: there is no active user of this id") from None
    return CreatedClientView(id=client.id, secret=None if secret is None else secret.reveal())


@routes.patch("/oauth/clients/{client_id}", status_code=204)
async def change_client(client_id: ClientId, asked: ClientUpdate, caller: AdminWrite, parts: IdentityDeps) -> None:
    """Switch a client off or on, or change what it is sent."""
    if "tool_result_format" in asked.model_fields_set:
        await parts.clients.set_tool_result_format(caller.actor, caller.tenant_id, client_id, asked.tool_result_format)
    if "enabled" in asked.model_fields_set:
        await parts.clients.set_enabled(caller.actor, caller.tenant_id, client_id, asked.enabled)


@routes.delete("/oauth/clients/{client_id}", status_code=204)
async def remove_client(client_id: ClientId, caller: AdminWrite, parts: IdentityDeps) -> None:
    """Forget a client; what was granted to it ends within a second."""
    await parts.clients.remove(caller.actor, caller.tenant_id, client_id)


def _build_view(listed: ListedClient) -> ClientView:
    client = listed.client
    return ClientView(
        id=client.id,
        name=client.name,
        auth_method=client.auth_method,
        redirect_uris=[*client.redirect_uris],
        grant_types=sorted(client.grant_types),
        scopes=sorted(client.scopes),
        acts_as_user_id=client.user_id,
        user_email=listed.user_email,
        created_at=listed.created_at,
        disabled_at=listed.disabled_at,
        tool_result_format=client.tool_result_format,
    )
