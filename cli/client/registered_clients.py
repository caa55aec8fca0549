"""Registered OAuth clients of the admin API, and the identity providers whose assertions a tenant accepts."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from broker.authorization_server.client_registry import AuthMethod, Client
from broker.authorization_server.registered_clients import ListedClient, NewClient
from broker.authorization_server.trusted_issuers import TrustedIssuer
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
    result_tokens: int | None = None
    tool_exposure: str | None = None


class _CreatedClient(msgspec.Struct):
    id: str
    secret: str | None


def create_client(api: AdminApiClient, new_client: NewClient) -> tuple[Client, Secret | None]:
    """Register a client; it, and its secret."""
    body: dict[str, Any] = {
        "name": new_client.name,
        "auth_method": new_client.auth_method,
        "redirect_uris": new_client.redirect_uris,
        "grant_types": sorted(new_client.grant_types),
        "scopes": sorted(new_client.scopes),
        "acts_as_user_id": new_client.user_id,
        "jwks": new_client.jwks,
    }
    if new_client.tool_result_format is not None:  # a server of before it knows no such field
        body["tool_result_format"] = new_client.tool_result_format
    if new_client.result_tokens is not None:  # the same
        body["result_tokens"] = new_client.result_tokens
    if new_client.tool_exposure is not None:  # the same
        body["tool_exposure"] = new_client.tool_exposure
    created, _ = api.create("/oauth/clients", _CreatedClient, body)
    client = Client(
        id=created.id,
        name=new_client.name,
        kind="registered",
        redirect_uris=new_client.redirect_uris,
        auth_method=new_client.auth_method,
        grant_types=new_client.grant_types,
        scopes=new_client.scopes,
        user_id=new_client.user_id,
        jwks=new_client.jwks,
        tool_result_format=new_client.tool_result_format,
        result_tokens=new_client.result_tokens,
        tool_exposure=new_client.tool_exposure,
    )
    return client, None if created.secret is None else Secret(created.secret)


def fetch_clients(api: AdminApiClient) -> list[ListedClient]:
    """Fetch all of them, newest first."""
    return [_to_listed_client(view) for view in api.iterate("/oauth/clients", _ClientView)]


def set_client_enabled(api: AdminApiClient, client_id: str, enabled: bool) -> None:
    """Switch a client off or on."""
    api.change("PATCH", "/oauth/clients/{}", {"enabled": enabled}, client_id, missing=_format_not_found(client_id))


def change_client(api: AdminApiClient, client_id: str, change: Mapping[str, Any]) -> None:
    """Change the settings of a client that `change` has."""
    api.change("PATCH", "/oauth/clients/{}", dict(change), client_id, missing=_format_not_found(client_id))


def remove_client(api: AdminApiClient, client_id: str) -> None:
    """Forget a client."""
    api.delete("/oauth/clients/{}", client_id, missing=_format_not_found(client_id))


def _format_not_found(client_id: str) -> str:
    return f"there is no client {client_id[:100]}; `mcpist client list` shows them"


def _to_listed_client(view: _ClientView) -> ListedClient:
    client = Client(
        id=view.id,
        name=view.name,
        kind="registered",
        redirect_uris=view.redirect_uris,
        auth_method=view.auth_method,
        grant_types=view.grant_types,
        scopes=view.scopes,
        user_id=view.acts_as_user_id,
        tool_result_format=view.tool_result_format,
        result_tokens=view.result_tokens,
        tool_exposure=view.tool_exposure,
    )
    return ListedClient(client, view.user_email, view.created_at, view.disabled_at)


def trust_issuer(api: AdminApiClient, issuer: str, jwks_uri: str) -> TrustedIssuer:
    """Trust an issuer; without `jwks_uri` its metadata says where its keys are."""
    response = api.change("PUT", "/oauth/issuers", {"issuer": issuer, "jwks_uri": jwks_uri or None})
    return msgspec.json.decode(response.body, type=TrustedIssuer)


def fetch_issuers(api: AdminApiClient) -> list[TrustedIssuer]:
    """Return all trusted issuers, ordered by name."""
    return list(api.iterate("/oauth/issuers", TrustedIssuer))


def remove_issuer(api: AdminApiClient, issuer: str) -> None:
    """Stop trusting an issuer."""
    missing = f"this tenant does not trust {issuer[:200]!r}; `mcpist issuer list` shows the trusted ones"
    api.delete("/oauth/issuers", issuer=issuer, missing=missing)
