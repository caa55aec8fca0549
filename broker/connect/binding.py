"""Where a credential may be sent: what stood when it was connected or stored, and no place that is set afterwards.

An administrator who gives a service another base URL would otherwise have its members' tokens sent there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from broker.connect.oauth_clients import Chosen
from broker.connect.offers import Offered
from broker.connect.refusals import ConnectRefused
from broker.providers.model import Provider
from broker.providers.templates import filled_url, settings_of
from core.credential_headers import BEARER, CredentialScheme
from core.db import UnitOfWork
from core.errors import Invalid
from core.outbound.origins import leads_to, origin_of


async def settings_of_services(work: UnitOfWork) -> Mapping[str, Mapping[str, Any]]:
    """What the tenant has set for each of its services, by module."""
    return {row["module"]: orjson.loads(row["settings"]) for row in await work.fetch(_SETTINGS)}


async def service_url(work: UnitOfWork, module: Offered) -> str:
    """The base URL that the tenant's service has now."""
    return url_of(module, await settings_of_services(work))


def url_of(module: Offered, settings: Mapping[str, Mapping[str, Any]]) -> str:
    """The same, where the settings of all services are known."""
    found = settings.get(module.name, {}).get("base_url")
    return found if isinstance(found, str) and found else module.base_url


def takes_keys(url: str) -> bool:
    """Whether a key can be used at a base URL: of a site, which would be a part of it, nothing is known of a key."""
    return "{" not in url


async def bound_origins(
    work: UnitOfWork, provider: Provider, settings: Mapping[str, str], modules: Sequence[Offered]
) -> Mapping[str, Sequence[str]]:
    """Where each module may send a provider's tokens from now on; `settings` are those of the OAuth client.

    Raises:
        ConnectRefused: a service is set to an address that the provider's tokens are not for.
    """
    found: dict[str, Sequence[str]] = {}
    for module in modules:
        origins = origins_for(provider, settings, await service_url(work, module))
        if not origins:
            raise ConnectRefused("connect_elsewhere", title=provider.title, module=modules[0].name)
        found[module.name] = origins
    return found


def origins_for(provider: Provider, settings: Mapping[str, str], url: str) -> tuple[str, ...]:
    """The origins for a credential of a service at `url`: those of the provider's API, or that of `url` where its
    document leaves them open. None where `url` leads elsewhere."""
    own, here = _api(provider, settings), _origin(url)
    if here is None or (own and here not in own):
        return ()
    return own or (here,)


def _api(provider: Provider, settings: Mapping[str, str]) -> tuple[str, ...]:
    values = settings_of(provider, settings)
    return tuple(origin for url in provider.api if (origin := _origin(filled_url(url, values))) is not None)


@dataclass(frozen=True, slots=True)
class KeyBound:
    """Where a key that is pasted now may be sent, and how. `provider` asks whose it is, by its own request and with
    `settings`; without one the module does, at its service's address."""

    origins: tuple[str, ...]
    scheme: CredentialScheme = BEARER
    provider: Provider | None = None
    settings: Mapping[str, str] = field(default_factory=dict[str, str])


async def key_bound(work: UnitOfWork, provider: Provider | None, client: Chosen | None, module: Offered) -> KeyBound:
    """The bound of a key; the OAuth client tells which server the provider's request would go to, where there is one.
    A key goes to no server but its service's, so the provider is asked only where both are the same vendor's. How a key
    is sent is the provider's to say wherever the service is."""
    url = await service_url(work, module)
    key = provider.key if provider else None
    settings: Mapping[str, str] = client.settings if client else {}
    scheme = BEARER if key is None else key.sent
    try:
        if provider is not None and key is not None and key.check_url is not None:
            origins = origins_for(provider, settings, url)
            if leads_to(filled_url(key.check_url, settings_of(provider, settings)), origins):
                return KeyBound(origins, scheme, provider, settings)
    except Invalid:  # a setting that only an OAuth client has
        pass
    here = _origin(url)
    return KeyBound(() if here is None else (here,), scheme)


def _origin(url: str) -> str | None:
    try:
        return origin_of(url)
    except ValueError:
        return None


_SETTINGS = "SELECT module, settings FROM core.services WHERE tenant_id = $1"
