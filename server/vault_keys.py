"""The operator's way to the vault: by the broker's own database role, as the broker itself goes."""

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import UUID

from broker.vault.deployment_guard import DEPLOYMENT_ID_FILE, DeploymentGuard
from broker.vault.key_providers import open_key_providers
from broker.vault.key_wrapping import KeyProvider
from core.db import Database
from server.deployment import KEYS_FOLDER, TRANSIT_TOKEN_FILE, VAULT_KEYS_FILE, Deployment, KeyProviderSettings

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
    """The vault's keys. With `make` a missing key file is made; else there are no keys while it is missing.

    Raises:
        core.errors.Invalid: the file can be read by others, or is damaged; a keeper's package is missing.
    """
    chosen = keepers or deployment.key_providers
    token = chosen.transit_token or deployment.home / KEYS_FOLDER / TRANSIT_TOKEN_FILE
    async with open_key_providers(chosen.names, get_key_file_path(deployment), token, make=make) as keys:
        yield keys


async def load_deployment_guard(deployment: Deployment, database: Database) -> DeploymentGuard:
    """Load the guard that says whether requests to vendors are allowed."""
    guard = DeploymentGuard(database, get_id_file_path(deployment))
    await guard.verify_deployment()
    return guard
