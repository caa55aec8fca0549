"""``/oauth/clients``: the programs that an administrator registers for the tenant."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Path, Query, Response
from pydantic import Field, StringConstraints, model_validator

from broker.api.identity_dependencies import IdentityDependencies, IdentityDeps
from broker.api.tokens import Scope
from broker.authorization_server.registered_clients import MAX_REDIRECT_URIS, ListedClient, NewClient
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite, RecentlySignedInAdmin, check_grantable_scopes
from core.api.pagination import Cursor, PageLimit
from core.api.principal import Principal
from core.api.schemas import (
    NO_CONTROL_CHARACTERS,
    PageOf,
    RequestModel,
    ResponseModel,
    ResultTokens,
    ShortName,
    ShortText,
    ToolExposureText,
)
from core.api.sorted_lists import SortedList, SortKey, fold_key
from core.api.versions import ExpectedVersion, describe_conflict, set_etag
from core.errors import Invalid, NotFound
from core.known_clients import ToolResultFormat

routes = create_router("oauth")

ClientId = Annotated[str, Path(pattern="^[0-9A-Za-z_-]{8,100}$", description="OAuth client identifier.")]
ClientAuthMethod = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
ClientSort = Literal["created_at", "-created_at", "name", "-name"]
GrantType = Literal[
    "authorization_code", "refresh_token", "client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer"
]
Uri = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=NO_CONTROL_CHARACTERS)]


class ClientView(ResponseModel):
    """A registered OAuth client of the tenant, without its secret."""

    id: str = Field(description="OAuth client identifier.")
    name: str = Field(description="Display name, shown on the consent page.")
    auth_method: ClientAuthMethod = Field(description="Client authentication method at the token endpoint.")
    redirect_uris: list[str] = Field(description="Registered redirect URIs.")
    grant_types: list[str] = Field(description="Grant types that the client may use.")
    scopes: list[str] = Field(description="OAuth scopes that the client may request.")
    acts_as_user_id: UUID | None = Field(
        description="Identifier of the user that the client acts as with client credentials; null without them."
    )
    user_email: str = Field(description="E-mail address of the user that the client acts as; empty without one.")
    created_at: datetime = Field(description="Time of registration.")
    disabled_at: datetime | None = Field(description="Time at which the client was disabled; null if it is enabled.")
    tool_result_format: ToolResultFormat | None = Field(
        description="Form of the text sent beside a structured tool result: `short` or `full`; null to decide by the "
        "client."
    )

    result_tokens: int | None = Field(
        description="Tokens (o200k) that one tool result may take; the rest is kept and read in parts. Null to decide "
        "by the client."
    )
    tool_exposure: str | None = Field(
        description="Exposure of tools, such as `plain:github,notion`; null to decide by the roles of a user."
    )


class ClientCreate(RequestModel):
    """An OAuth client to register."""

    name: ShortName = Field(description="Display name, shown on the consent page.")
    auth_method: ClientAuthMethod = Field(
        default="none", description="Client authentication method at the token endpoint."
    )
    redirect_uris: Annotated[list[Uri], Field(max_length=MAX_REDIRECT_URIS)] = Field(
        default=[], description="Registered redirect URIs."
    )
    grant_types: Annotated[list[GrantType], Field(min_length=1, max_length=4)] = Field(
        default=["authorization_code", "refresh_token"], description="Grant types that the client may use."
    )
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=4)] = Field(
        default=["mcp:read", "mcp:write"], description="OAuth scopes that the client may request."
    )
    acts_as_user_id: UUID | None = Field(
        default=None,
        description="Identifier of the user that the client acts as with client credentials; null without them.",
    )
    jwks: dict[str, Any] | None = Field(
        default=None, description="Public keys of a client that authenticates by `private_key_jwt`, as a JWK set."
    )
    tool_result_format: ToolResultFormat | None = Field(
        default=None,
        description="Form of the text sent beside a structured tool result: `short` or `full`; null to decide by the "
        "client.",
    )

    result_tokens: ResultTokens | None = Field(
        default=None,
        description="Tokens (o200k) that one tool result may take; the rest is kept and read in parts. Null to decide "
        "by the client.",
    )
    tool_exposure: ToolExposureText | None = Field(
        default=None,
        description="Exposure of tools, such as `plain:github,notion`; null to decide by the roles of a user.",
    )


class CreatedClientView(ResponseModel):
    """Credentials of a newly registered client."""

    id: str = Field(description="OAuth client identifier.")
    secret: str | None = Field(description="Client secret, returned only once; null for a client without one.")


class ClientUpdate(RequestModel):
    """Changes to a registered client; omitted fields stay unchanged."""

    enabled: bool = Field(
        default=True, description="False to disable the client: everything granted to it ends within a second."
    )
    tool_result_format: ToolResultFormat | None = Field(
        default=None,
        description="Form of the text sent beside a structured tool result: `short` or `full`; null to decide by the "
        "client.",
    )
    result_tokens: ResultTokens | None = Field(
        default=None,
        description="Tokens (o200k) that one tool result may take; the rest is kept and read in parts. Null to decide "
        "by the client.",
    )
    tool_exposure: ToolExposureText | None = Field(
        default=None,
        description="Exposure of tools, such as `plain:github,notion`; null to decide by the roles of a user.",
    )

    @model_validator(mode="after")
    def check_not_empty(self) -> "ClientUpdate":
        if not self.model_fields_set:
            raise ValueError("send enabled, tool_result_format, result_tokens or tool_exposure")
        return self


_CLIENTS = SortedList[ListedClient](
    lambda client: f"{client.client.name} {client.client.id} {client.user_email}",
    lambda client: client.client.id,
    {
        "created_at": SortKey(lambda client: client.created_at, datetime),
        "name": SortKey(lambda client: fold_key(client.client.name)),
    },
)


@routes.get("/oauth/clients")
async def list_clients(
    caller: AdminRead,
    parts: IdentityDeps,
    q: Annotated[ShortText, Query(description="Words that the name, identifier or e-mail address contains.")] = "",
    sort: Annotated[ClientSort, Query(description="Field to order by; with `-` the other way round.")] = "-created_at",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[ClientView]:
    """List registered OAuth clients.

    Newest first, unless `sort` says otherwise, including disabled ones. Width, case and kana do not count in `q`.
    """
    clients = await parts.clients.list(caller.tenant_id)
    shown, following = _CLIENTS.select_page(clients, q, sort, limit, cursor)
    return PageOf(items=[_build_view(client) for client in shown], next_cursor=following)


@routes.post("/oauth/clients", status_code=201)
async def register_client(body: ClientCreate, caller: RecentlySignedInAdmin, parts: IdentityDeps) -> CreatedClientView:
    """Register an OAuth client.

    It creates a credential, so a sign-in within the last ten minutes is required.
    """
    check_grantable_scopes(caller, body.scopes)
    new_client = NewClient(
        name=body.name,
        auth_method=body.auth_method,
        redirect_uris=tuple(body.redirect_uris),
        grant_types=frozenset(body.grant_types),
        scopes=frozenset(body.scopes),
        user_id=body.acts_as_user_id,
        jwks=body.jwks,
        tool_result_format=body.tool_result_format,
        result_tokens=body.result_tokens,
        tool_exposure=body.tool_exposure,
    )
    try:
        client, secret = await parts.clients.create(caller.actor, caller.tenant_id, new_client)
    except NotFound:
        raise Invalid("acts_as_user_id: there is no active user of this id") from None
    return CreatedClientView(id=client.id, secret=None if secret is None else secret.reveal())


@routes.get("/oauth/clients/{client_id}")
async def show_client(client_id: ClientId, caller: AdminRead, parts: IdentityDeps, response: Response) -> ClientView:
    """Get a registered OAuth client."""
    await set_etag(response, parts.clients.database, caller.tenant_id, "client", client_id)
    return await _load_view(parts, caller, client_id)


@routes.patch("/oauth/clients/{client_id}", status_code=204)
async def change_client(
    client_id: ClientId,
    body: ClientUpdate,
    caller: AdminWrite,
    parts: IdentityDeps,
    expected_version: ExpectedVersion,
) -> None:
    """Change a registered OAuth client."""
    sets_format = "tool_result_format" in body.model_fields_set
    change = parts.clients.change(
        caller.actor,
        caller.tenant_id,
        client_id,
        enabled=body.enabled if "enabled" in body.model_fields_set else None,
        tool_result_format=body.tool_result_format if sets_format else "",
        result_tokens=body.result_tokens if "result_tokens" in body.model_fields_set else 0,
        tool_exposure=body.tool_exposure if "tool_exposure" in body.model_fields_set else "",
        expected_version=expected_version,
    )
    await describe_conflict(change, lambda: _load_view(parts, caller, client_id))


async def _load_view(parts: IdentityDependencies, caller: Principal, client_id: str) -> ClientView:
    for listed in await parts.clients.list(caller.tenant_id):
        if listed.client.id == client_id:
            return _build_view(listed)
    raise NotFound("there is no such client")


@routes.delete("/oauth/clients/{client_id}", status_code=204)
async def remove_client(client_id: ClientId, caller: AdminWrite, parts: IdentityDeps) -> None:
    """Delete a registered OAuth client.

    Everything granted to it ends within a second.
    """
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
        result_tokens=client.result_tokens,
        tool_exposure=client.tool_exposure,
    )
