"""Origins that a credential may be sent to: those at the time when it was connected or stored.

An administrator who gives a service another base URL would otherwise have its members' tokens sent there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from broker.connections.connect_methods import ConnectError
from broker.connections.oauth_client_store import SealedOAuthClient
from broker.providers.schema import Provider
from broker.providers.templates import fill_url, resolve_settings
from core.db import UnitOfWork
from core.errors import Invalid
from core.http.credential_headers import BEARER, CredentialScheme
from core.http.origins import get_origin, is_within_origins
from core.module_manifest import ModuleManifest


async def load_service_settings(work: UnitOfWork) -> Mapping[str, Mapping[str, Any]]:
    """Load the tenant's settings of its services, by module."""
    return {row["module"]: orjson.loads(row["settings"]) for row in await work.fetch(_SETTINGS)}


async def load_service_url(work: UnitOfWork, module: ModuleManifest) -> str:
    """The base URL that the tenant's service has now."""
    return get_service_url(module, await load_service_settings(work))


def get_service_url(module: ModuleManifest, settings: Mapping[str, Mapping[str, Any]]) -> str:
    """The same, where the settings of all services are known."""
    base_url = settings.get(module.name, {}).get("base_url")
    return base_url if isinstance(base_url, str) and base_url else module.base_url


async def resolve_module_origins(
    work: UnitOfWork, provider: Provider, settings: Mapping[str, str], modules: Sequence[ModuleManifest]
) -> Mapping[str, Sequence[str]]:
    """Resolve the origins that each module may send a provider's tokens to; `settings`: those of the OAuth client.

    Raises:
        ConnectError: a service is set to an address that the provider's tokens are not for.
    """
    by_module: dict[str, Sequence[str]] = {}
    for module in modules:
        services = await load_service_settings(work)
        hosts = list_host_origins(module, services)
        origins = resolve_origins(provider, settings, get_service_url(module, services), hosts)
        if not origins:
            raise ConnectError("connect_elsewhere", title=provider.title, module=modules[0].name)
        by_module[module.name] = origins
    return by_module


def list_host_origins(module: ModuleManifest, settings: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """List the origins of the further hosts of a service that has a base URL of its own. Those of the public service
    are not stored with a credential: the module's code names them."""
    own = settings.get(module.name, {})
    if not own.get("base_url"):
        return ()
    urls = [own.get(f"{name}_url") for name in module.hosts]
    return tuple(origin for url in urls if isinstance(url, str) and (origin := _parse_origin(url)) is not None)


def resolve_origins(
    provider: Provider, settings: Mapping[str, str], url: str, hosts: Sequence[str] = ()
) -> tuple[str, ...]:
    """The origins for a credential of a service at `url`: those of the provider's API, or those of `url` and of the
    service's further `hosts` where its document leaves them open. None where `url` leads elsewhere."""
    own, here = _list_api_origins(provider, settings), _parse_origin(url)
    if here is None or (own and here not in own):
        return ()
    return own or _join_origins(here, hosts)


def _join_origins(here: str, hosts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((here, *hosts)))


def _list_api_origins(provider: Provider, settings: Mapping[str, str]) -> tuple[str, ...]:
    values = resolve_settings(provider, settings)
    return tuple(origin for url in provider.api if (origin := _parse_origin(fill_url(url, values))) is not None)


@dataclass(frozen=True, slots=True)
class KeyOrigins:
    """Where a key that is pasted now may be sent, and how. `provider` asks whose it is, by its own request and with
    `settings`; without one the module does, at its service's address."""

    origins: tuple[str, ...]
    scheme: CredentialScheme = BEARER
    provider: Provider | None = None
    settings: Mapping[str, str] = field(default_factory=dict[str, str])


async def resolve_key_origins(
    work: UnitOfWork, provider: Provider | None, client: SealedOAuthClient | None, module: ModuleManifest
) -> KeyOrigins:
    """The bound of a key; the OAuth client tells which server the provider's request would go to, where there is one.
    A key goes to no server but its service's, so the provider is asked only where both are the same vendor's. How a key
    is sent is the provider's to say wherever the service is."""
    services = await load_service_settings(work)
    url, hosts = get_service_url(module, services), list_host_origins(module, services)
    key = provider.key if provider else None
    settings: Mapping[str, str] = client.settings if client else {}
    scheme = BEARER if key is None else key.credential_scheme
    try:
        if provider is not None and key is not None and key.check_url is not None:
            origins = resolve_origins(provider, settings, url, hosts)
            if is_within_origins(fill_url(key.check_url, resolve_settings(provider, settings)), origins):
                return KeyOrigins(origins, scheme, provider, settings)
    except Invalid:  # a setting that only an OAuth client has
        pass
    here = _parse_origin(url)
    return KeyOrigins(() if here is None else _join_origins(here, hosts), scheme)


def _parse_origin(url: str) -> str | None:
    try:
        return get_origin(url)
    except ValueError:
        return None


_SETTINGS = "SELECT module, settings FROM core.services WHERE tenant_id = $1"
