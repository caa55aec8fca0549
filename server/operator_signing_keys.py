"""The operator's way to the keys that sign access tokens."""

import contextlib
from collections.abc import AsyncGenerator

from broker.authorization_server.signing_key_store import SigningKeyStore
from broker.vault.key_checks import check_keys
from server.deployment import Deployment
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database
from server.vault_keys import open_key_provider


@contextlib.asynccontextmanager
async def open_signing_key_store(deployment: Deployment) -> AsyncGenerator[SigningKeyStore]:
    """Open the signing keys to change them; the vault's key file is created where nothing was ever sealed.

    Raises:
        core.errors.Invalid: a key of the vault is missing, wrong or readable by others; the text names it.
    """
    async with (
        open_key_provider(deployment) as keys,
        open_role_database(deployment, BROKER_ROLE, max_connections=2) as database,
    ):
        await check_keys(database, keys)
        yield SigningKeyStore(database, keys, await database.call("SELECT id FROM core.deployment"), clock=get_utc_now)


@contextlib.asynccontextmanager
async def open_signing_key_store_without_keys(deployment: Deployment) -> AsyncGenerator[SigningKeyStore]:
    """Open the signing keys to list them, without the vault's keys."""
    async with (
        open_key_provider(deployment, make=False) as keys,
        open_role_database(deployment, BROKER_ROLE, max_connections=2) as database,
    ):
        yield SigningKeyStore(database, keys, await database.call("SELECT id FROM core.deployment"), clock=get_utc_now)
