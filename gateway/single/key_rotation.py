"""The operator's ways to change the vault's keys while everything runs. Each may be killed and run again."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from uuid import UUID

from broker.oauth.signing_key_rewrap import SigningKeyRows
from broker.vault.key_checks import check_keys
from broker.vault.key_file import activate_key, add_key, remove_key
from broker.vault.keys import KeyProvider
from broker.vault.reencrypt import Reencrypted, Reencryption
from broker.vault.retire import retire
from broker.vault.rewrap import DataKeys, Report, rewrap
from broker.vault.vault import open_vault
from core.audit.event import DEPLOYMENT, Kind
from core.db import Database
from core.directory.actor import Actor, recorded
from core.directory.tenants import list_tenants
from core.errors import Conflict, Invalid
from gateway.deployment import Deployment
from gateway.single.operator import BROKER, connected, now
from gateway.single.vault_access import key_file, opened_keys

FILE = "file"


@dataclass(frozen=True, slots=True)
class Rewrapped:
    """Which key wraps everything now, and what had to be changed for it."""

    kek_id: str
    data_keys: int
    signing_keys: int


class KeyRotation:
    """The keys of one deployment, in the operator's hands."""

    def __init__(
        self, deployment: Deployment, console: Database, broker: Database, keys: KeyProvider, actor: Actor
    ) -> None:
        self._deployment = deployment
        self._console = console
        self._broker = broker
        self._keys = keys
        self._actor = actor

    async def add(self) -> str:
        """Make one more key in the file, which is not active yet: its id.

        Raises:
            Invalid: no key is kept in a file.
        """
        self._in_file("a key service makes its keys itself: name the new one in MCPIST_KEYS")
        kek_id = add_key(key_file(self._deployment))
        await self._record(Kind.KEY_CREATED, kek_id, "add")
        return kek_id

    async def activate(self, kek_id: str) -> None:
        """Wrap with a key of the file from now on; processes on this machine know at once.

        Raises:
            Conflict: a key service's key is active, by MCPIST_KEYS.
            Invalid: it is not the key of that id that was used before.
            core.errors.NotFound: the file has no such key.
        """
        self._in_file("the first key of MCPIST_KEYS is the active one: change its order, and restart MCPist")
        if self._deployment.keepers.names[0] != FILE:
            raise Conflict("a key service's key is active: put `file` first in MCPIST_KEYS, and restart MCPist")
        await check_keys(self._broker, self._keys)
        activate_key(key_file(self._deployment), kek_id)
        await self._record(Kind.KEY_ROTATED, kek_id, "activate")

    async def rewrap(self, report: Report) -> Rewrapped:
        """Wrap all data keys and signing keys under the active key.

        Raises:
            Invalid: a key is missing, wrong or retired.
            core.errors.Unavailable: a key or the database is away; run it again.
            broker.vault.envelope.Unreadable: a wrapped key was changed in the database.
        """
        await check_keys(self._broker, self._keys)
        active, deployment_id = await self._keys.active(), await self._deployment_id()
        await self._record(Kind.KEY_ROTATED, active, "rewrap")
        done, signing = 0, 0

        def count() -> None:
            nonlocal done
            done += 1
            report(f"Wrapping keys anew: {done}")

        for tenant in await list_tenants(self._console):
            await rewrap(self._broker, self._keys, DataKeys(deployment_id, tenant.id), count)
        data_keys = done
        signing = await rewrap(self._broker, self._keys, SigningKeyRows(deployment_id), count)
        return Rewrapped(active, data_keys, signing)

    async def reencrypt(self, report: Report, *, fresh: bool) -> Reencrypted:
        """Seal all secrets of all tenants under data keys that were born under the active key; with `fresh` under new
        ones in any case.

        Raises:
            Invalid: a key is missing, wrong or retired.
            core.errors.Unavailable: a key or the database is away; run it again.
        """
        vault = await open_vault(self._broker, self._keys, clock=now)
        active = await self._keys.active()
        await self._record(Kind.KEY_ROTATED, active, "reencrypt")
        total = Reencrypted()
        tenants = await list_tenants(self._console)
        for number, tenant in enumerate(tenants, start=1):
            told = f"Sealing secrets anew: tenant {number} of {len(tenants)}"
            report(told)
            sealed = 0

            def count(secrets: int, told: str = told) -> None:
                nonlocal sealed
                sealed += secrets
                report(f"{told}, {sealed} secrets")

            run = Reencryption(self._broker, vault, self._keys, count)
            total.add(await run.tenant(tenant.id, fresh=fresh))
        return total

    async def retire(self, kek_id: str) -> bool:
        """Give up a key on which nothing hangs; whether it was in the file, and is no more.

        Raises:
            Conflict: it is active, or something hangs on it.
            core.errors.NotFound: there is no such key.
        """
        await retire(self._broker, self._keys, self._actor, kek_id, now())
        path = key_file(self._deployment)
        return path.exists() and remove_key(path, kek_id)

    def _in_file(self, otherwise: str) -> None:
        if FILE not in self._deployment.keepers.names:
            raise Invalid(f"MCPIST_KEYS names no file: {otherwise}")

    async def _deployment_id(self) -> UUID:
        return await self._broker.call("SELECT id FROM core.deployment")

    async def _record(self, kind: Kind, kek_id: str, step: str) -> None:
        async with self._broker.tenant(DEPLOYMENT) as work:
            await recorded(work, self._actor, kind, purpose="vault", key=kek_id, step=step)


@contextlib.asynccontextmanager
async def key_rotation(deployment: Deployment, console: Database, actor: Actor) -> AsyncGenerator[KeyRotation]:
    """The operator's hands on the keys.

    Raises:
        Invalid: the key file can be read by others, or is damaged.
    """
    async with opened_keys(deployment) as keys, connected(deployment, BROKER, most=2) as broker:
        yield KeyRotation(deployment, console, broker, keys, actor)
