"""Sealing every secret of a tenant anew under a data key that was born under the active key-encryption key.

It goes on beside everything else: a batch locks its rows for milliseconds, rows that somebody else has locked are left
for later, and a secret that was replaced meanwhile stays as it is. The rows' versions stay, so whoever has read one
before the batch can still store over it, and wins. Killed, it is run again and goes on where it was.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from broker.vault.envelope import Unreadable
from broker.vault.keys import KeyProvider
from broker.vault.sealed_columns import SEALED_COLUMNS, SealedColumn
from broker.vault.vault import Sealer, Vault
from core.db import Database, Row, UnitOfWork
from core.failpoints import failpoint

BATCH = 50
MOST_ROUNDS = 20
BETWEEN_ROUNDS = 0.5  # seconds
FIRST = UUID(int=0)


@dataclass(slots=True)
class Reencrypted:
    """What was done, and what is left: secrets `busy` in somebody else's hands, and `damaged` ones."""

    data_keys: int = 0
    secrets: int = 0
    busy: int = 0
    damaged: int = 0

    def add(self, other: "Reencrypted") -> None:
        """Count another's in."""
        self.data_keys += other.data_keys
        self.secrets += other.secrets
        self.busy += other.busy
        self.damaged += other.damaged


class Reencryption:
    """One run over tenants. `done` is called with the number of secrets of each batch."""

    def __init__(
        self,
        database: Database,
        vault: Vault,
        provider: KeyProvider,
        done: Callable[[int], None],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._database = database
        self._vault = vault
        self._provider = provider
        self._done = done
        self._sleep = sleep

    async def tenant(self, tenant_id: UUID, *, fresh: bool) -> Reencrypted:
        """Bring all secrets of a tenant under its newest data key; with `fresh` that is a new one in any case.

        Raises:
            core.errors.Invalid, core.errors.Unavailable: see :meth:`broker.vault.vault.Vault.seal`.
        """
        done = Reencrypted()
        renewed = await self._renewed(tenant_id, fresh)
        if renewed is None:
            return done
        done.data_keys = renewed
        for column in SEALED_COLUMNS:
            await self._warm(tenant_id, column)
            done.add(await self._column(tenant_id, column))
        return done

    async def waiting(self, tenant_id: UUID) -> int:
        """How many secrets of a tenant are under another data key than its active one."""
        return await secrets_waiting(self._database, tenant_id)

    async def _renewed(self, tenant_id: UUID, fresh: bool) -> int | None:
        """Make a new data key, unless the active one was born under the active key; how many. None: nothing was ever
        sealed for the tenant."""
        active = await self._provider.active()
        async with self._database.tenant(tenant_id) as work:
            row = await work.fetchrow(_ACTIVE)
            if row is None:
                return None
            if row["kek_id"] == active and not row["rewrapped"] and not fresh:
                return 0
            await self._vault.renew(work)
            return 1

    async def _warm(self, tenant_id: UUID, column: SealedColumn) -> None:
        """Unwrap what a column needs before any row is locked: a key service may take its time."""
        async with self._database.tenant(tenant_id) as work:
            for row in await work.fetch(_data_keys(column)):
                with contextlib.suppress(Unreadable):  # the rows that name it are counted as damaged
                    await self._vault.warm(work, UUID(bytes=row["id"]))

    async def _column(self, tenant_id: UUID, column: SealedColumn) -> Reencrypted:
        done = Reencrypted()
        for turn in range(MOST_ROUNDS):
            if turn:
                await self._sleep(BETWEEN_ROUNDS)
            done.damaged = 0
            await self._round(tenant_id, column, done)
            async with self._database.tenant(tenant_id) as work:
                done.busy = await work.fetchval(_left(column)) - done.damaged
            if done.busy <= 0:
                break
        done.busy = max(0, done.busy)
        return done

    async def _round(self, tenant_id: UUID, column: SealedColumn, done: Reencrypted) -> None:
        after: UUID | None = FIRST
        while after is not None:
            async with self._database.tenant(tenant_id) as work:
                # The data key's row first: whoever stores a secret locks it before the secret's own row, too.
                sealer = await self._vault.sealer(work)
                rows = await work.fetch(_batch(column), after, BATCH)
                for row in rows:
                    await self._row(work, sealer, column, row, done)
                await failpoint("reencrypting")
            await failpoint("reencrypted")
            self._done(len(rows))
            after = rows[-1]["id"] if rows else None

    async def _row(self, work: UnitOfWork, sealer: Sealer, column: SealedColumn, row: Row, done: Reencrypted) -> None:
        place = column.place(row["id"], row["version"])
        try:
            plain = await self._vault.open(work, place, row["sealed"])
        except Unreadable:
            done.damaged += 1
            return
        blob = sealer.seal(place, plain)
        done.secrets += await work.execute(_replace(column), row["id"], row["sealed"], blob)


async def secrets_waiting(database: Database, tenant_id: UUID) -> int:
    """How many secrets of a tenant are under another data key than its active one."""
    async with database.tenant(tenant_id) as work:
        return sum([await work.fetchval(_left(column)) for column in SEALED_COLUMNS])


# A blob names its data key in bytes 2 to 17 (broker/vault/envelope.py).
_ACTIVE = "SELECT id, kek_id, rewrapped FROM vault.deks WHERE tenant_id = $1 AND state = 'active'"


def _batch(column: SealedColumn) -> LiteralString:
    return (
        f"SELECT id, {column.version} AS version, {column.column} AS sealed FROM {column.table} "  # noqa: S608 constants
        f"WHERE tenant_id = $1 AND id > $2 AND {_elsewhere(column)} ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED"
    )


def _data_keys(column: SealedColumn) -> LiteralString:
    return (
        f"SELECT substring({column.column} FROM 2 FOR 16) AS id FROM {column.table} "  # noqa: S608 constants
        f"WHERE tenant_id = $1 AND {column.column} IS NOT NULL "
        "UNION SELECT uuid_send(id) FROM vault.deks WHERE tenant_id = $1 AND state = 'active'"
    )


def _left(column: SealedColumn) -> LiteralString:
    return f"SELECT count(*) FROM {column.table} WHERE tenant_id = $1 AND {_elsewhere(column)}"  # noqa: S608 constants


def _replace(column: SealedColumn) -> LiteralString:
    set_, where = f"SET {column.column} = $4", f"id = $2 AND {column.column} = $3"
    return f"UPDATE {column.table} {set_} WHERE tenant_id = $1 AND {where}"


def _elsewhere(column: SealedColumn) -> LiteralString:
    return (
        f"{column.column} IS NOT NULL AND substring({column.column} FROM 2 FOR 16) <> "  # noqa: S608 constants
        "(SELECT uuid_send(d.id) FROM vault.deks d WHERE d.tenant_id = $1 AND d.state = 'active')"
    )
