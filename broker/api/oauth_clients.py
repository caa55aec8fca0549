"""``/oauth-clients``: the tenant's own clients at the vendors' OAuth servers."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Path, Query, Response
from pydantic import Field, SecretStr, StringConstraints

from broker.api.connect_dependencies import ConnectDeps
from broker.api.providers import ProviderId
from broker.connect.client_registration import build_redirect_uri
from broker.connect.connect_services import ConnectServices
from broker.connections.oauth_client_store import (
    MAX_CLIENT_ID_LENGTH,
    OAuthClient,
    OAuthClientRegistration,
)
from broker.oauth_client.client_assertion import MAX_PEM_LENGTH
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.principal import Principal
from core.api.schemas import NO_CONTROL_CHARACTERS, PageOf, RemovalView, RequestModel, ResponseModel, build_removal_view
from core.api.versions import ExpectedVersion, describe_conflict, set_version
from core.secret import Secret

routes = create_router("oauth clients")

OAuthClientRowId = Annotated[UUID, Path(description="Identifier of the OAuth client in MCPist.")]
SettingText = Annotated[str, StringConstraints(max_length=500, pattern=NO_CONTROL_CHARACTERS)]


class OAuthClientView(ResponseModel):
    """An OAuth client of the tenant at a provider, without its secret."""

    id: UUID = Field(description="Identifier of the OAuth client in MCPist.")
    provider: str = Field(description="Identifier of the provider.")
    role_id: UUID | None = Field(
        description="Identifier of the role whose members use this client; null for all members of the tenant."
    )
    role: str = Field(description="Name of the role; empty for the whole tenant.")
    client_id: str = Field(description="OAuth client identifier at the provider.")
    has_secret: bool = Field(description="True if a client secret is stored.")
    auth_method: str = Field(
        description="Client authentication method at the token endpoint; empty for the provider's default."
    )
    settings: Mapping[str, str] = Field(description="Values of the provider settings, by name.")
    redirect_uri: str = Field(description="Redirect URI to register at the provider.")
    state: Literal["ok", "misconfigured"] = Field(description="State of the client: `ok` or `misconfigured`.")
    cause: str = Field(description="Machine-readable cause if it is misconfigured; empty otherwise.")
    accounts: int = Field(description="Number of accounts connected through this client.")
    created_at: datetime = Field(description="Time of registration.")
    updated_at: datetime = Field(description="Time of the latest change.")


class OAuthClientUpsert(RequestModel):
    """The OAuth client of the tenant, or of a role, at a provider."""

    provider: ProviderId = Field(description="Identifier of the provider.")
    role_id: UUID | None = Field(
        default=None,
        description="Identifier of the role whose members use this client; null for all members of the tenant.",
    )
    client_id: Annotated[
        str, StringConstraints(min_length=1, max_length=MAX_CLIENT_ID_LENGTH, pattern=NO_CONTROL_CHARACTERS)
    ] = Field(description="OAuth client identifier at the provider.")
    client_secret: Annotated[SecretStr, Field(min_length=1, max_length=MAX_PEM_LENGTH)] | None = Field(
        default=None,
        description="Client secret, or for `private_key_jwt` a private key and its certificate as PEM; null keeps the "
        "stored one if `client_id` does not change.",
    )
    auth_method: Literal["", "basic", "basic_raw", "post", "private_key_jwt", "none"] = Field(
        default="", description="Client authentication method at the token endpoint; empty for the provider's default."
    )
    settings: Annotated[dict[SettingText, SettingText], Field(max_length=10)] | None = Field(
        default=None, description="Values of the provider settings; null keeps the stored ones."
    )


class SavedOAuthClientView(ResponseModel):
    """A stored OAuth client."""

    id: UUID = Field(description="Identifier of the OAuth client in MCPist.")
    redirect_uri: str = Field(description="Redirect URI to register at the provider.")


class OAuthClientTestView(ResponseModel):
    """Result of testing an OAuth client at its provider."""

    outcome: Literal["ok", "failed", "unknown"] = Field(
        description="Result: `ok`, `failed`, or `unknown` if the provider does not tell."
    )
    cause: str = Field(description="Machine-readable cause of a failure; empty if the client works.")
    message: str = Field(description="Result of the test, for people.")


@routes.get("/oauth-clients")
async def list_oauth_clients(
    caller: AdminRead,
    connect: ConnectDeps,
    role: Annotated[UUID | None, Query(description="Identifier of the role whose own clients are listed.")] = None,
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[OAuthClientView]:
    """List OAuth clients at providers.

    Ordered by provider; the tenant's own come before those of roles.
    """
    clients = await connect.oauth_clients.list(caller.tenant_id)
    if role is not None:
        clients = [client for client in clients if client.role_id == role]
    if cursor is not None:
        after = decode_cursor(cursor, tuple[TextKey, bool, TextKey])
        clients = [client for client in clients if get_sort_key(client) > after]
    shown, following = split_page(clients[: limit + 1], limit, get_sort_key)
    return PageOf(items=[build_client_view(client, connect.public_url) for client in shown], next_cursor=following)


@routes.put("/oauth-clients")
async def set_oauth_client(
    body: OAuthClientUpsert, caller: AdminWrite, connect: ConnectDeps, expected_version: ExpectedVersion
) -> SavedOAuthClientView:
    """Register or replace an OAuth client at a provider.

    The tenant, and each role, has one client at each provider. `If-Match: "v0"` stores a new one only.
    """
    secret = body.client_secret
    registration = OAuthClientRegistration(
        provider=body.provider,
        client_id=body.client_id,
        secret=None if secret is None else Secret(secret.get_secret_value()),
        role_id=body.role_id,
        auth_method=body.auth_method,
        settings=body.settings,
    )
    return await register_client(connect, caller, registration, expected_version)


@routes.get("/oauth-clients/{oauth_client_id}")
async def show_oauth_client(
    oauth_client_id: OAuthClientRowId, caller: AdminRead, connect: ConnectDeps, response: Response
) -> OAuthClientView:
    """Get an OAuth client at a provider."""
    client = await connect.oauth_clients.get(caller.tenant_id, oauth_client_id)
    set_version(response, client.version)
    return build_client_view(client, connect.public_url)


@routes.post("/oauth-clients/{oauth_client_id}/test")
async def check_oauth_client(
    oauth_client_id: OAuthClientRowId, caller: AdminWrite, connect: ConnectDeps
) -> OAuthClientTestView:
    """Test an OAuth client at its provider.

    The token endpoint is asked with a made-up code, which tells a client that the provider knows from another. No
    account is connected. A refused client becomes `misconfigured`, an accepted one `ok`.
    """
    with connect.draft_limits.track(str(caller.tenant_id)):
        return OAuthClientTestView.model_validate(await connect.client_trial.run(caller.tenant_id, oauth_client_id))


@routes.delete("/oauth-clients/{oauth_client_id}")
async def remove_oauth_client(
    oauth_client_id: OAuthClientRowId, caller: AdminWrite, connect: ConnectDeps
) -> RemovalView:
    """Delete an OAuth client at a provider.

    Every account that was connected through it is deleted too and revoked at its vendor; it has to be connected again
    through another client.
    """
    return build_removal_view(
        await connect.account_revoker.remove_client(caller.actor, caller.tenant_id, oauth_client_id)
    )


async def register_client(
    connect: ConnectServices, caller: Principal, registration: OAuthClientRegistration, expected_version: int | None
) -> SavedOAuthClientView:
    """Store a client, where its version is the expected one."""

    async def load_state() -> OAuthClientView:
        clients = await connect.oauth_clients.list(caller.tenant_id)
        place = registration.provider, registration.role_id
        return build_client_view(
            next(client for client in clients if (client.provider, client.role_id) == place), connect.public_url
        )

    saving = connect.oauth_clients.register(
        caller.actor, caller.tenant_id, registration, expected_version=expected_version
    )
    client_id = await describe_conflict(saving, load_state)
    return SavedOAuthClientView(
        id=client_id, redirect_uri=build_redirect_uri(connect.public_url, registration.provider)
    )


def get_sort_key(client: OAuthClient) -> tuple[str, bool, str]:
    """The order of the list."""
    return client.provider, client.role_id is not None, client.role


def build_client_view(client: OAuthClient, public_url: str) -> OAuthClientView:
    """A client as it is told."""
    return OAuthClientView.model_validate(
        {
            **{name: getattr(client, name) for name in OAuthClientView.model_fields if name != "redirect_uri"},
            "redirect_uri": build_redirect_uri(public_url, client.provider),
        }
    )
