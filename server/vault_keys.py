"""The vault's keys of a deployment, and the vault for a process that may do without."""

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import UUID

from broker.vault.deployment_guard import DEPLOYMENT_ID_FILE, DeploymentGuard
from broker.vault.key_providers import open_key_providers
from broker.vault.key_wrapping import InMemoryKeyProvider, KeyMissing, KeyProvider, WrappedKey
from broker.vault.vault import Vault, open_vault
from core.db import Database
from core.errors import Invalid, Unavailable
from server.deployment import KEYS_FOLDER, TRANSIT_TOKEN_FILE, VAULT_KEYS_FILE, Deployment, KeyProviderSettings
from server.role_database import get_utc_now

NO_DEPLOYMENT = UUID(int=0)


def get_key_file_path(deployment: Deployment) -> Path:
    """Return the path of the vault's keys, unless a key service keeps them."""
    return deployment.home / KEYS_FOLDER / VAULT_KEYS_FILE


def get_id_file_path(deployment: Deployment) -> Path:
    """Return the path of the deployment's id. It is not among the keys, which are copied for a restored copy."""
    return deployment.home / DEPLOYMENT_ID_FILE


@contextlib.asynccontextmanager
async def open_key_provider(
    deployment: Deployment, keepers: KeyProviderSettings | None = None, *, make: bool = True
) -> AsyncGenerator[KeyProvider]:
    """Open the vault's keys. With `make` a missing key file is made; else there are no keys while it is missing.

    Raises:
        core.errors.Invalid: the file can be read by others, or is damaged; a keeper's package is missing.
    """
    settings = keepers or deployment.key_providers
    token = settings.transit_token or deployment.home / KEYS_FOLDER / TRANSIT_TOKEN_FILE
    async with open_key_providers(settings.names, get_key_file_path(deployment), token, make=make) as keys:
        yield keys


async def load_deployment_guard(deployment: Deployment, database: Database) -> DeploymentGuard:
    """Load the guard that says whether requests to vendors are allowed."""
    guard = DeploymentGuard(database, get_id_file_path(deployment))
    await guard.verify_deployment()
    return guard


@contextlib.asynccontextmanager
async def open_vault_if_possible(deployment: Deployment, database: Database) -> AsyncGenerator[Vault]:
    """Open the vault for a command. Where its keys are lost, everything works that encrypts and decrypts nothing, and
    disconnecting without a word to the vendor."""
    async with contextlib.AsyncExitStack() as stack:
        try:
            keys = await stack.enter_async_context(open_key_provider(deployment))
            guard = await load_deployment_guard(deployment, database)
            vault = await open_vault(database, keys, clock=get_utc_now, guard=guard)
        except Invalid as error:
            vault = Vault(_NoKeys(error), NO_DEPLOYMENT, clock=get_utc_now)
        yield vault


class _UnusableKeys(KeyMissing):
    """The vault's keys are missing or wrong. Using one raises the reason; disconnecting works without them."""

    status, code, exit_code = Invalid.status, Invalid.code, Invalid.exit_code

    def __init__(self, error: Invalid) -> None:
        Unavailable.__init__(self, str(error))


class _NoKeys(InMemoryKeyProvider):
    """A provider in the place of one that could not be opened."""

    def __init__(self, error: Invalid) -> None:
        super().__init__("", {})
        self._error = error

    async def wrap(self, plain: bytes, context: bytes) -> WrappedKey:
        raise _UnusableKeys(self._error)

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        raise _UnusableKeys(self._error)
