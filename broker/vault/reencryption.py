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

from broker.vault.envelope import CiphertextContext, DecryptionError, KeyProvider, TenantSealer
from broker.vault.vault import Vault
from core.db import Database, Row, UnitOfWork
from core.failpoints import failpoint


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A column of a tenant's table. `version` is an expression that gives the version that a value is bound to."""

    table: LiteralString
    column: LiteralString
    field: str
    version: LiteralString = "version"

    def build_context(self, row_id: UUID, version: int) -> CiphertextContext:
        """Return the encryption context that binds a value to its row."""
        return CiphertextContext(self.table, row_id, self.field, version)


SEALED_COLUMNS = (
    SealedColumn("vault.credentials", "secret", "access"),
    SealedColumn("vault.oauth_clients", "secret", "client_secret"),
    SealedColumn("vault.accounts", "access", "access"),
    SealedColumn("vault.accounts", "refresh", "refresh"),
    SealedColumn("vault.candidates", "access", "access", version="presented_version"),
    SealedColumn("vault.candidates", "refresh", "refresh", version="presented_version"),
    SealedColumn("vault.connect_flows", "pkce", "pkce", version="1::bigint"),
    SealedColumn("vault.audit_streams", "secret", "secret", version="secret_version"),
    SealedColumn("vault.tenant_keys", "secret", "secret"),
)


BATCH_SIZE = 50
MAX_ROUNDS = 20
ROUND_PAUSE_SECONDS = 0.5  # seconds
FIRST_ID = UUID(int=0)


@dataclass(slots=True)
class ReencryptionResult:
    """Counts of a re-encryption run: secrets done, `busy` (locked by another process) and `damaged` (unreadable)."""

    data_keys: int = 0
    secrets: int = 0
    busy: int = 0
    damaged: int = 0

    def add(self, other: "ReencryptionResult") -> None:
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

    async def reencrypt_tenant(self, tenant_id: UUID, *, fresh: bool) -> ReencryptionResult:
        """Bring all secrets of a tenant under its newest data key; with `fresh` that is a new one in any case.

        Raises:
            core.errors.Invalid, core.errors.Unavailable: see :meth:`broker.vault.vault.Vault.seal`.
        """
        done = ReencryptionResult()
        renewed = await self._renew_data_key(tenant_id, fresh)
        if renewed is None:
            return done
        done.data_keys = renewed
        for column in SEALED_COLUMNS:
            await self._preload_keys(tenant_id, column)
            done.add(await self._reencrypt_column(tenant_id, column))
        return done

    async def count_pending(self, tenant_id: UUID) -> int:
        """How many secrets of a tenant are under another data key than its active one."""
        return await count_pending_secrets(self._database, tenant_id)

    async def _renew_data_key(self, tenant_id: UUID, fresh: bool) -> int | None:
        """Make a new data key, unless the active one was born under the active key; how many. None: nothing was ever
        sealed for the tenant."""
        active = await self._provider.get_active_id()
        async with self._database.tenant(tenant_id) as work:
            row = await work.fetchrow(_ACTIVE)
            if row is None:
                return None
            if row["kek_id"] == active and not row["rewrapped"] and not fresh:
                return 0
            await self._vault.rotate_data_key(work)
            return 1

    async def _preload_keys(self, tenant_id: UUID, column: SealedColumn) -> None:
        """Unwrap what a column needs before any row is locked: a key service may take its time."""
        async with self._database.tenant(tenant_id) as work:
            for row in await work.fetch(_build_data_keys_query(column)):
                with contextlib.suppress(DecryptionError):  # the rows that name it are counted as damaged
                    await self._vault.preload_key(work, UUID(bytes=row["id"]))

    async def _reencrypt_column(self, tenant_id: UUID, column: SealedColumn) -> ReencryptionResult:
        done = ReencryptionResult()
        for turn in range(MAX_ROUNDS):
            if turn:
                await self._sleep(ROUND_PAUSE_SECONDS)
            done.damaged = 0
            await self._run_round(tenant_id, column, done)
            async with self._database.tenant(tenant_id) as work:
                done.busy = await work.fetchval(_build_pending_query(column)) - done.damaged
            if done.busy <= 0:
                break
        done.busy = max(0, done.busy)
        return done

    async def _run_round(self, tenant_id: UUID, column: SealedColumn, done: ReencryptionResult) -> None:
        after: UUID | None = FIRST_ID
        while after is not None:
            async with self._database.tenant(tenant_id) as work:
                # The data key's row first: whoever stores a secret locks it before the secret's own row, too.
                sealer = await self._vault.get_sealer(work)
                rows = await work.fetch(_build_batch_query(column), after, BATCH_SIZE)
                for row in rows:
                    await self._reencrypt_row(work, sealer, column, row, done)
                await failpoint("reencrypting")
            await failpoint("reencrypted")
            self._done(len(rows))
            after = rows[-1]["id"] if rows else None

    async def _reencrypt_row(
        self, work: UnitOfWork, sealer: TenantSealer, column: SealedColumn, row: Row, done: ReencryptionResult
    ) -> None:
        place = column.build_context(row["id"], row["version"])
        try:
            plain = await self._vault.open(work, place, row["sealed"])
        except DecryptionError:
            done.damaged += 1
            return
        blob = sealer.seal(place, plain)
        done.secrets += await work.execute(_build_replace_query(column), row["id"], row["sealed"], blob)


async def count_pending_secrets(database: Database, tenant_id: UUID) -> int:
    """How many secrets of a tenant are under another data key than its active one."""
    async with database.tenant(tenant_id) as work:
        return sum([await work.fetchval(_build_pending_query(column)) for column in SEALED_COLUMNS])


# A blob names its data key in bytes 2 to 17 (broker/vault/envelope.py).
_ACTIVE = "SELECT id, kek_id, rewrapped FROM vault.deks WHERE tenant_id = $1 AND state = 'active'"


def _build_batch_query(column: SealedColumn) -> LiteralString:
    return (
        f"SELECT id, {column.version} AS version, {column.column} AS sealed FROM {column.table} "  # noqa: S608 constants
        f"WHERE tenant_id = $1 AND id > $2 AND {_build_outdated_condition(column)} "
        "ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED"
    )


def _build_data_keys_query(column: SealedColumn) -> LiteralString:
    return (
        f"SELECT substring({column.column} FROM 2 FOR 16) AS id FROM {column.table} "  # noqa: S608 constants
        f"WHERE tenant_id = $1 AND {column.column} IS NOT NULL "
        "UNION SELECT uuid_send(id) FROM vault.deks WHERE tenant_id = $1 AND state = 'active'"
    )


def _build_pending_query(column: SealedColumn) -> LiteralString:
    return f"SELECT count(*) FROM {column.table} WHERE tenant_id = $1 AND {_build_outdated_condition(column)}"  # noqa: S608 constants


def _build_replace_query(column: SealedColumn) -> LiteralString:
    set_, where = f"SET {column.column} = $4", f"id = $2 AND {column.column} = $3"
    return f"UPDATE {column.table} {set_} WHERE tenant_id = $1 AND {where}"


def _build_outdated_condition(column: SealedColumn) -> LiteralString:
    return (
        f"{column.column} IS NOT NULL AND substring({column.column} FROM 2 FOR 16) <> "  # noqa: S608 constants
        "(SELECT uuid_send(d.id) FROM vault.deks d WHERE d.tenant_id = $1 AND d.state = 'active')"
    )
