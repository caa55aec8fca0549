"""A provider's document as far as a server tells it itself: a draft, for an administrator to look at and to add."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from broker.providers.discovery import MetadataDiscovery, ResourceMetadata, ServerMetadata
from core.errors import Invalid

MOST_SCOPES = 200


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """Request for a provider draft.

    `url` is an issuer or a protected resource such as an MCP server. `resource` is the audience of the tokens, where
    `url` is an issuer. `modules` are those that the provider serves.
    """

    url: str
    resource: str = ""
    id: str = ""
    title: str = ""
    modules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderDraft:
    """A document that can be added under `id`; `scopes` are those that the server says that it has."""

    id: str
    document: Mapping[str, Any] = field(default_factory=dict[str, Any])
    scopes: tuple[str, ...] = ()


async def draft_provider(discovery: MetadataDiscovery, draft_request: DraftRequest) -> ProviderDraft:
    """Ask the server, and put together what it says.

    Raises:
        Invalid: a URL is none, may not be reached, or leads to no server that MCPist can work with.
        Unavailable: it cannot be asked now.
    """
    server, resource = await _discover(discovery, draft_request)
    host = urlsplit(server.issuer).hostname or ""
    document = {"title": draft_request.title or host, "oauth": _build_oauth(server, resource), **_build_account(server)}
    reading = list(resource.scopes if resource is not None else ())
    document["modules"] = {name: {"reading": reading} if reading else {} for name in draft_request.modules}
    scopes = resource.scopes if resource is not None and resource.scopes else server.scopes
    return ProviderDraft(draft_request.id or _derive_id(host), document, scopes[:MOST_SCOPES])


async def _discover(
    discovery: MetadataDiscovery, draft_request: DraftRequest
) -> tuple[ServerMetadata, ResourceMetadata | None]:
    if draft_request.resource:
        resource = await discovery.fetch_resource_metadata(draft_request.resource)
        if draft_request.url not in resource.authorization_servers:
            raise Invalid(
                "the resource metadata lists another authorization server than this URL; give the resource as the URL"
            )
        return await discovery.fetch_server_metadata(draft_request.url), resource
    try:
        return await discovery.fetch_server_metadata(draft_request.url), None
    except Invalid as no_server:
        try:
            resource = await discovery.fetch_resource_metadata(draft_request.url)
        except Invalid:
            raise no_server from None
    return await discovery.fetch_server_metadata(resource.authorization_servers[0]), resource


def _build_oauth(server: ServerMetadata, resource: ResourceMetadata | None) -> dict[str, Any]:
    offline = "offline_access" in server.scopes
    # OpenID Connect Core 1.0 §11: without a consent there is no refresh token.
    consent = {"prompt": "consent"} if server.is_open_id and offline else {}
    target = {} if resource is None else {"resource": resource.resource}
    table: dict[str, Any] = {
        "authorize_url": server.authorize_url,
        "token_url": server.token_url,
        "issuer": server.issuer,
        "issuer_required": server.sends_issuer,
        "client_documents": server.supports_client_documents,
        "registration_url": server.registration_url,
        "client_auth": server.auth_methods[0],
        "authorize_params": consent | target,
        "code_params": target,
        "refresh_params": target,
        "base_scopes": [scope for scope in _choose_base_scopes(server) if scope in server.scopes],
        "unreported_scopes": ["offline_access"] if offline else [],
        "revoke": {"url": server.revoke_url, "hint": True} if server.revoke_url else {},
    }
    return {key: value for key, value in table.items() if value}


def _choose_base_scopes(server: ServerMetadata) -> tuple[str, ...]:
    """To learn whose account it is, and to be given a refresh token."""
    return ("openid", "email", "offline_access") if server.is_open_id else ("offline_access",)


def _build_account(server: ServerMetadata) -> dict[str, Any]:
    """How to learn whose account it is; nothing where the server has no way."""
    if server.is_open_id:
        source: dict[str, Any] = {"source": "id_token"}
    elif server.userinfo_url:
        source = {"source": "url", "url": server.userinfo_url}
    else:
        return {}
    return {"account": source | {"id": "/sub", "name": ["/email", "/preferred_username", "/name"]}}


def _derive_id(host: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", host.removeprefix("www.")).strip("_")[:40] or "provider"
