"""The operator's way to the vault: by the broker's own database role, as the broker itself goes."""

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import UUID

from broker.vault.credentials import Credentials
from broker.vault.keys import LocalKeys
from broker.vault.vault import Vault, open_vault
from gateway.deployment import KEYS, Deployment
from gateway.single.operator import BROKER, connected, now

VAULT_KEYS = "vault-kek.json"
NO_DEPLOYMENT = UUID(int=0)


def key_file(deployment: Deployment) -> Path:
    """Where the vault's keys are."""
    return deployment.home / KEYS / VAULT_KEYS


def keys_at_hand(path: Path) -> LocalKeys:
    """The keys of the file, which is not made where it is missing: then there are none.

    Raises:
        core.errors.Invalid: it can be read by others, or is damaged.
    """
    return LocalKeys.from_file(path) if path.exists() else LocalKeys("", {})


@contextlib.asynccontextmanager
async def opened_credentials(deployment: Deployment) -> AsyncGenerator[Credentials]:
    """Stored credentials with their vault; its key file is made where nothing was ever sealed.

    Raises:
        core.errors.Invalid: a key is missing, wrong or readable by others; the text names it.
    """
    async with connected(deployment, BROKER, most=2) as database:
        keys = LocalKeys.from_file(key_file(deployment))
        yield Credentials(database, await open_vault(database, keys, clock=now), clock=now)


@contextlib.asynccontextmanager
async def closed_credentials(deployment: Deployment) -> AsyncGenerator[Credentials]:
    """Stored credentials to list and to remove, which needs no key: it works where the keys are lost."""
    async with connected(deployment, BROKER, most=2) as database:
        yield Credentials(database, Vault(LocalKeys("", {}), NO_DEPLOYMENT, clock=now), clock=now)
