"""The operator's way to providers and to the OAuth clients at them: by the broker's own database role."""

import contextlib
from collections.abc import AsyncGenerator
from uuid import UUID

from broker.connect.oauth_clients import OAuthClients
from broker.connect.provider_book import ProviderBook
from broker.providers.catalogue import own_providers
from broker.vault.keys import LocalKeys
from broker.vault.vault import Vault, open_vault
from core.db import Database
from core.errors import NotFound
from gateway.deployment import Deployment
from gateway.single.operator import BROKER, connected, now
from gateway.single.vault_access import NO_DEPLOYMENT, guard_of, opened_keys


@contextlib.asynccontextmanager
async def opened_oauth_clients(deployment: Deployment) -> AsyncGenerator[OAuthClients]:
    """OAuth clients with their vault, to register one.

    Raises:
        core.errors.Invalid: a key is missing, wrong or readable by others; the text names it.
    """
    async with connected(deployment, BROKER, most=2) as database, opened_keys(deployment) as keys:
        guard = await guard_of(deployment, database)
        yield _clients(database, await open_vault(database, keys, clock=now, guard=guard))


@contextlib.asynccontextmanager
async def closed_oauth_clients(deployment: Deployment) -> AsyncGenerator[OAuthClients]:
    """OAuth clients to list and to remove, which needs no key."""
    async with connected(deployment, BROKER, most=2) as database:
        yield _clients(database, Vault(LocalKeys("", {}), NO_DEPLOYMENT, clock=now))


async def role_id_of(deployment: Deployment, tenant_id: UUID, name: str | None) -> UUID | None:
    """The role of that name; None for no name.

    Raises:
        NotFound: the tenant has no such role.
    """
    if name is None:
        return None
    async with connected(deployment, BROKER, most=2) as database, database.tenant(tenant_id) as work:
        found: UUID | None = await work.fetchval(_ROLE, name)
    if found is None:
        raise NotFound(f"there is no role {name[:100]!r}; `mcpist role list` shows them")
    return found


def _clients(database: Database, vault: Vault) -> OAuthClients:
    return OAuthClients(database, vault, ProviderBook(own_providers()))


_ROLE = "SELECT id FROM core.roles WHERE tenant_id = $1 AND name = $2"
