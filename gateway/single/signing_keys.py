"""The operator's way to the keys that sign access tokens."""

import contextlib
from collections.abc import AsyncGenerator

from broker.oauth.signing_key_store import SigningKeyStore
from broker.vault.key_checks import check_keys
from gateway.deployment import Deployment
from gateway.single.operator import BROKER, connected, now
from gateway.single.vault_access import opened_keys


@contextlib.asynccontextmanager
async def opened_signing_keys(deployment: Deployment) -> AsyncGenerator[SigningKeyStore]:
    """To change them; the vault's key file is made where nothing was ever sealed.

    Raises:
        core.errors.Invalid: a key of the vault is missing, wrong or readable by others; the text names it.
    """
    async with opened_keys(deployment) as keys, connected(deployment, BROKER, most=2) as database:
        await check_keys(database, keys)
        yield SigningKeyStore(database, keys, await database.call("SELECT id FROM core.deployment"), clock=now)


@contextlib.asynccontextmanager
async def listed_signing_keys(deployment: Deployment) -> AsyncGenerator[SigningKeyStore]:
    """To look at them, which opens none."""
    async with (
        opened_keys(deployment, make=False) as keys,
        connected(deployment, BROKER, most=2) as database,
    ):
        yield SigningKeyStore(database, keys, await database.call("SELECT id FROM core.deployment"), clock=now)
