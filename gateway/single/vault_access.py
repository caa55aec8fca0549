"""The operator's way to the vault: by the broker's own database role, as the broker itself goes."""

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import UUID

from broker.vault.credentials import Credentials
from broker.vault.deployment_guard import FILE, DeploymentGuard
from broker.vault.keepers import opened_keepers
from broker.vault.keys import KeyProvider, LocalKeys
from broker.vault.vault import Vault, open_vault
from core.db import Database
from gateway.deployment import KEYS, TRANSIT_TOKEN, VAULT_KEYS, Deployment, KeeperSettings
from gateway.single.operator import BROKER, connected, now

NO_DEPLOYMENT = UUID(int=0)


def key_file(deployment: Deployment) -> Path:
    """Where the vault's keys are, unless a key service keeps them."""
    return deployment.home / KEYS / VAULT_KEYS


def id_file(deployment: Deployment) -> Path:
    """Where the data folder's own id is. Not among the keys, which are copied for a restored copy."""
    return deployment.home / FILE


@contextlib.asynccontextmanager
async def opened_keys(
    deployment: Deployment, keepers: KeeperSettings | None = None, *, make: bool = True
) -> AsyncGenerator[KeyProvider]:
    """The vault's keys. With `make` a missing key file is made; else there are no keys while it is missing.

    Raises:
        core.errors.Invalid: the file can be read by others, or is damaged; a keeper's package is missing.
    """
    chosen = keepers or deployment.keepers
    token = chosen.transit_token or deployment.home / KEYS / TRANSIT_TOKEN
    async with opened_keepers(chosen.names, key_file(deployment), token, make=make) as keys:
        yield keys


async def guard_of(deployment: Deployment, database: Database) -> DeploymentGuard:
    """What says whether vendors may be asked; it has looked."""
    guard = DeploymentGuard(database, id_file(deployment))
    await guard.look()
    return guard


@contextlib.asynccontextmanager
async def opened_credentials(deployment: Deployment) -> AsyncGenerator[Credentials]:
    """Stored credentials with their vault; its key file is made where nothing was ever sealed.

    Raises:
        core.errors.Invalid: a key is missing, wrong or readable by others; the text names it.
    """
    async with connected(deployment, BROKER, most=2) as database, opened_keys(deployment) as keys:
        guard = await guard_of(deployment, database)
        yield Credentials(database, await open_vault(database, keys, clock=now, guard=guard), clock=now)


@contextlib.asynccontextmanager
async def closed_credentials(deployment: Deployment) -> AsyncGenerator[Credentials]:
    """Stored credentials to list and to remove, which needs no key: it works where the keys are lost."""
    async with connected(deployment, BROKER, most=2) as database:
        yield Credentials(database, Vault(LocalKeys("", {}), NO_DEPLOYMENT, clock=now), clock=now)
