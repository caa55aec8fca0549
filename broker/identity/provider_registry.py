"""The identity providers that people can sign in at now: those of identity.toml, and those that operators store.

Stored ones are read at each use, which is rare, so a change counts on every process at once. A name of the file wins
over the same name in the database.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from broker.identity.providers.identity_provider import IdentityProvider
from broker.identity.providers.provider_factory import IdentityProviderFactory
from broker.identity.providers.provider_metadata import Clock
from broker.identity.settings import ProviderSettings
from broker.identity.stored_providers import build_stored_settings
from broker.vault.deployment_settings import DeploymentSetting, DeploymentSettingsStore
from broker.vault.envelope import DecryptionError
from core.errors import Invalid
from core.http.json_documents import JsonDocumentFetcher

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ListedProvider:
    """A provider as pages show it. `issuers` are what its accounts are known by, as far as the settings tell."""

    id: str
    label: str
    issuers: tuple[str, ...]


class StoredProviders:
    """The providers in the database. `http` reaches public hosts, and the private ones that the machine's settings
    list: none becomes reachable by being stored."""

    def __init__(self, store: DeploymentSettingsStore, http: JsonDocumentFetcher, *, clock: Clock) -> None:
        self._store = store
        self._factory = IdentityProviderFactory(http, clock=clock)
        self._built: dict[str, tuple[int, IdentityProvider]] = {}

    async def list(self) -> list[ListedProvider]:
        """All of them, by name."""
        return [_build_listed(row) for row in await self._store.list("identity_provider")]

    async def find(self, provider_id: str) -> IdentityProvider | None:
        """The provider of that name, as it is stored now; None if there is none that can be used.

        Raises:
            core.errors.Unavailable: the database or the key-encryption key is away.
        """
        row = await self._store.find("identity_provider", provider_id)
        if row is None:
            self._built.pop(provider_id, None)
            return None
        kept = self._built.get(provider_id)
        if kept is not None and kept[0] == row.version:
            return kept[1]
        provider = await self._build(row)
        if provider is not None:
            self._built[provider_id] = row.version, provider
        return provider

    async def _build(self, row: DeploymentSetting) -> IdentityProvider | None:
        try:
            secret = await self._store.unwrap_secret(row)
            return self._factory.build(build_stored_settings(row.name, row.settings, secret))
        except (DecryptionError, Invalid):
            log.error(
                "stored identity provider cannot be used; store it again",
                extra={"event": "stored_setting_unusable", "kind": row.kind, "setting": row.name},
            )
            return None


class IdentityProviderRegistry:
    """Both kinds together; `stored` is None where nothing is kept in the database."""

    def __init__(
        self,
        configured: Iterable[ProviderSettings],
        http: JsonDocumentFetcher,
        stored: StoredProviders | None,
        *,
        clock: Clock,
    ) -> None:
        factory, of_file = IdentityProviderFactory(http, clock=clock), tuple(configured)
        self._listed = [ListedProvider(one.id, one.label, _list_issuers(one.issuer, one.base_url)) for one in of_file]
        self._configured = {one.id: factory.build(one) for one in of_file}
        self._stored = stored

    async def list(self) -> list[ListedProvider]:
        """Those of the file in its order, then the stored ones by name.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        stored = await self._stored.list() if self._stored is not None else []
        return [*self._listed, *(one for one in stored if one.id not in self._configured)]

    async def find(self, provider_id: str) -> IdentityProvider | None:
        """The provider of that id; None if there is none.

        Raises:
            core.errors.Unavailable: the database or the key-encryption key is away.
        """
        configured = self._configured.get(provider_id)
        if configured is not None or self._stored is None:
            return configured
        return await self._stored.find(provider_id)


def _build_listed(row: DeploymentSetting) -> ListedProvider:
    issuers = _list_issuers(row.settings.get("issuer"), row.settings.get("base_url"))
    return ListedProvider(row.name, str(row.settings["label"]), issuers)


def _list_issuers(*candidates: object) -> tuple[str, ...]:
    return tuple(text for text in candidates if isinstance(text, str) and text)
