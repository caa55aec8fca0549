"""Registered OAuth clients of the admin API."""

from datetime import datetime
from uuid import UUID

import msgspec

from broker.authorization_server.client_registry import AuthMethod, Client
from broker.authorization_server.registered_clients import ListedClient, NewClient
from cli.client.admin_api import AdminApiClient
from core.known_clients import ToolResultFormat
from core.secret import Secret


class _ClientView(msgspec.Struct):
    id: str
    name: str
    auth_method: AuthMethod
    redirect_uris: tuple[str, ...]
    grant_types: frozenset[str]
    scopes: frozenset[str]
    acts_as_user_id: UUID | None
    user_email: str
    created_at: datetime
    disabled_at: datetime | None
    tool_result_format: ToolResultFormat | None = None


class _CreatedClient(msgspec.Struct):
    id: str
    secret: str | None


def create_client(api: AdminApiClient, wanted: NewClient) -> tuple[Client, Secret | None]:
    """Register a client; it, and its secret."""
    body = {
        "name": wanted.name,
        "auth_method": wanted.auth_method,
        "redirect_uris": wanted.redirect_uris,
        "grant_types": sorted(wanted.grant_types),
        "scopes": sorted(wanted.scopes),
        "acts_as_user_id": wanted.user_id,
        "jwks": wanted.jwks,
    }
    if wanted.tool_result_format is not None:  # a server of before it knows no such field
        body["tool_result_format"] = wanted.tool_result_format
    made, _ = api.create("/oauth/clients", _CreatedClient, body)
    client = Client(
        id=made.id,
        name=wanted.name,
        kind="registered",
        redirect_uris=wanted.redirect_uris,
        auth_method=wanted.auth_method,
        grant_types=wanted.grant_types,
        scopes=wanted.scopes,
        user_id=wanted.user_id,
        jwks=wanted.jwks,
        tool_result_format=wanted.tool_result_format,
    )
    return client, None if made.secret is None else Secret(made.secret)


def fetch_clients(api: AdminApiClient) -> list[ListedClient]:
    """All of them, newest first."""
    return [_to_listed_client(one) for one in api.iterate("/oauth/clients", _ClientView)]


def set_client_enabled(api: AdminApiClient, client_id: str, enabled: bool) -> None:
    """Switch a client off or on."""
    api.change("PATCH", "/oauth/clients/{}", {"enabled": enabled}, client_id, missing=_format_not_found(client_id))


def set_client_tool_result_format(
    api: AdminApiClient, client_id: str, tool_result_format: ToolResultFormat | None
) -> None:
    """Say what a client is sent beside a result's structured part."""
    change = {"tool_result_format": tool_result_format}
    api.change("PATCH", "/oauth/clients/{}", change, client_id, missing=_format_not_found(client_id))


def remove_client(api: AdminApiClient, client_id: str) -> None:
    """Forget a client."""
    api.delete("/oauth/clients/{}", client_id, missing=_format_not_found(client_id))


def _format_not_found(client_id: str) -> str:
    return f"there is no client {client_id[:100]}; `mcpist client list` shows them"


def _to_listed_client(one: _ClientView) -> ListedClient:
    client = Client(
        id=one.id,
        name=one.name,
        kind="registered",
        redirect_uris=one.redirect_uris,
        auth_method=one.auth_method,
        grant_types=one.grant_types,
        scopes=one.scopes,
        user_id=one.acts_as_user_id,
        tool_result_format=one.tool_result_format,
    )
    return ListedClient(client, one.user_email, one.created_at, one.disabled_at)
