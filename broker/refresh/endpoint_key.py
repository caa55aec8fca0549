"""Keys that group responses by token endpoint, without letting one tenant's settings influence another's group."""

import contextlib
from collections.abc import Mapping
from functools import cache
from urllib.parse import urlsplit
from uuid import UUID

from broker.providers.catalogue import load_builtin_providers
from broker.providers.schema import Provider
from broker.providers.templates import fill_url, resolve_settings
from core.errors import Invalid
from core.http.origins import get_origin


def get_token_endpoint_key(tenant_id: UUID, provider: Provider, settings: Mapping[str, str]) -> str:
    """The origin of the token endpoint, for every tenant the same where the provider is MCPist's own and its host not
    changed; else the tenant's alone: a server of their own must not speak for other tenants' accounts."""
    origin = _get_token_origin(provider, settings)
    if (
        origin
        and load_builtin_providers().known.get(provider.id) == provider
        and origin == _get_token_origin(provider, {})
    ):
        return origin
    return f"{tenant_id} {origin}"


def get_api_endpoint_key(tenant_id: UUID, origin: str) -> str:
    """Return the key of an API at `origin`: shared by all tenants for a built-in provider's, else the tenant's own."""
    return origin if origin in _list_builtin_api_origins() else f"{tenant_id} {origin}"


@cache
def _list_builtin_api_origins() -> frozenset[str]:
    found: set[str] = set()
    for provider in load_builtin_providers().known.values():
        with contextlib.suppress(Invalid):  # it has a setting that every tenant chooses
            values = resolve_settings(provider, {})
            found |= {get_origin(fill_url(url, values)) for url in provider.api}
    return frozenset(found)


def _get_token_origin(provider: Provider, settings: Mapping[str, str]) -> str:
    """Return scheme and host; "" where a setting is missing or wrong."""
    if provider.oauth is None:
        return ""
    try:
        parts = urlsplit(fill_url(provider.oauth.token_url, resolve_settings(provider, settings)))
    except Invalid:
        return ""
    return f"{parts.scheme}://{parts.netloc}"
