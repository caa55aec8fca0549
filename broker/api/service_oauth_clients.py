"""``/services/{module}/oauth-clients``: our OAuth clients at the vendors of one service."""

from typing import Annotated
from uuid import UUID

from fastapi import Path
from pydantic import Field, SecretStr, StringConstraints

from broker.api.connect_dependencies import ConnectDeps
from broker.api.oauth_clients import (
    OAuthClientView,
    ProviderId,
    SavedOAuthClientView,
    SettingText,
    build_client_view,
    get_sort_key,
    register_client,
)
from broker.connect.connect_services import ConnectServices
from broker.connections.oauth_client_store import MAX_CLIENT_ID_LENGTH, OAuthClientRegistration
from broker.oauth_client.client_assertion import MAX_PEM_LENGTH
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.schemas import NO_CONTROL_CHARACTERS, PageOf, RequestModel
from core.api.versions import ExpectedVersion
from core.errors import Invalid, NotFound
from core.names import MODULE_NAME_FIELD
from core.secret import Secret

routes = create_router("services")

ModulePath = Annotated[str, Path(pattern=MODULE_NAME_FIELD, description="Name of the module, such as `github`.")]


class ServiceOAuthClientUpsert(RequestModel):
    """The OAuth client of the tenant, or of a role, at the provider of a module."""

    provider: ProviderId | None = Field(
        default=None, description="Identifier of the provider; required if several serve the module."
    )
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
    auth_method: Annotated[str, StringConstraints(pattern="^(?:|basic|basic_raw|post|private_key_jwt|none)$")] = Field(
        default="", description="Client authentication method at the token endpoint; empty for the provider's default."
    )
    settings: Annotated[dict[SettingText, SettingText], Field(max_length=10)] | None = Field(
        default=None, description="Values of the provider settings; null keeps the stored ones."
    )


@routes.get("/services/{module}/oauth-clients")
async def list_clients_of_service(
    module: ModulePath, caller: AdminRead, connect: ConnectDeps, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[OAuthClientView]:
    """List OAuth clients for a module.

    Returns the clients at the module's providers, ordered by provider; the tenant's own come before those of roles.
    """
    providers = await _list_providers(connect, caller.tenant_id, module)
    clients = [client for client in await connect.oauth_clients.list(caller.tenant_id) if client.provider in providers]
    if cursor is not None:
        after = decode_cursor(cursor, tuple[TextKey, bool, TextKey])
        clients = [client for client in clients if get_sort_key(client) > after]
    shown, following = split_page(clients[: limit + 1], limit, get_sort_key)
    return PageOf(items=[build_client_view(client, connect.public_url) for client in shown], next_cursor=following)


@routes.put("/services/{module}/oauth-client")
async def set_client_of_service(
    module: ModulePath,
    body: ServiceOAuthClientUpsert,
    caller: AdminWrite,
    connect: ConnectDeps,
    expected_version: ExpectedVersion,
) -> SavedOAuthClientView:
    """Register or replace the OAuth client for a module.

    The client belongs to the provider, so it serves every module that is connected there. `If-Match` is the `ETag` of
    `/oauth-clients/{id}`, and `"v0"` stores a new one only.
    """
    provider = _select_provider(await _list_providers(connect, caller.tenant_id, module), body.provider)
    secret = body.client_secret
    registration = OAuthClientRegistration(
        provider=provider,
        client_id=body.client_id,
        secret=None if secret is None else Secret(secret.get_secret_value()),
        role_id=body.role_id,
        auth_method=body.auth_method,
        settings=body.settings,
    )
    return await register_client(connect, caller, registration, expected_version)


async def _list_providers(connect: ConnectServices, tenant_id: UUID, module: str) -> list[str]:
    async with connect.database.tenant(tenant_id) as work:
        catalogue = (await connect.provider_registry.load_all(work)).known
    names = sorted(
        provider.id for provider in catalogue.values() if provider.oauth is not None and module in provider.modules
    )
    if not names:
        raise NotFound("no provider with OAuth has this service")
    return names


def _select_provider(providers: list[str], provider_id: str | None) -> str:
    if provider_id is None and len(providers) == 1:
        return providers[0]
    if provider_id not in providers:
        raise Invalid(f"name the provider: {', '.join(providers)}")
    return provider_id
