"""The operator's way to providers and to the OAuth clients at them: by the broker's own database role."""

import contextlib
from collections.abc import AsyncGenerator
from uuid import UUID

from broker.connections.oauth_client_store import OAuthClientStore
from broker.providers.catalogue import ProviderRegistry, load_builtin_providers
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.vault import Vault, open_vault
from core.db import Database
from core.errors import NotFound
from server.deployment import Deployment
from server.operator_vault import NO_DEPLOYMENT, load_deployment_guard, open_key_provider
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database


@contextlib.asynccontextmanager
async def open_oauth_clients(deployment: Deployment) -> AsyncGenerator[OAuthClientStore]:
    """OAuth clients with their vault, to register one.

    Raises:
        core.errors.Invalid: a key is missing, wrong or readable by others; the text names it.
    """
    async with open_role_database(deployment, BROKER_ROLE, most=2) as database, open_key_provider(deployment) as keys:
        guard = await load_deployment_guard(deployment, database)
        yield _build_oauth_clients(database, await open_vault(database, keys, clock=get_utc_now, guard=guard))


@contextlib.asynccontextmanager
async def open_oauth_clients_without_keys(deployment: Deployment) -> AsyncGenerator[OAuthClientStore]:
    """OAuth clients to list and to remove, which needs no key."""
    async with open_role_database(deployment, BROKER_ROLE, most=2) as database:
        yield _build_oauth_clients(database, Vault(InMemoryKeyProvider("", {}), NO_DEPLOYMENT, clock=get_utc_now))


async def find_role_id(deployment: Deployment, tenant_id: UUID, name: str | None) -> UUID | None:
    """The role of that name; None for no name.

    Raises:
        NotFound: the tenant has no such role.
    """
    if name is None:
        return None
    async with open_role_database(deployment, BROKER_ROLE, most=2) as database, database.tenant(tenant_id) as work:
        found: UUID | None = await work.fetchval(_ROLE_QUERY, name)
    if found is None:
        raise NotFound(f"there is no role {name[:100]!r}; `mcpist role list` shows them")
    return found


def _build_oauth_clients(database: Database, vault: Vault) -> OAuthClientStore:
    return OAuthClientStore(database, vault, ProviderRegistry(load_builtin_providers()))


_ROLE_QUERY = "SELECT id FROM core.roles WHERE tenant_id = $1 AND name = $2"
