"""Wrapping data keys anew under the active key-encryption key. No secret is touched, and nobody waits for it.

Each data key is unwrapped and wrapped outside of any transaction, so that no row is locked while a key service is
asked, and stored only if nobody else has rewrapped it meanwhile: to run it twice at once, or again after a kill, does
no harm.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from broker.vault.envelope import KeyProvider, WrappedKey
from broker.vault.key_checks import confirm_key_use, record_key_use
from broker.vault.vault import build_wrap_context
from core.db import Database, UnitOfWork
from core.failpoints import failpoint

BATCH_SIZE = 50

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True, repr=False)
class WrappedRow:
    """Something that a key-encryption key seals by itself: its name, and what it is bound to."""

    name: str
    kek_id: str
    wrapped: bytes
    context: bytes


class WrappedRows(Protocol):
    """The rows of one table for one tenant (or for the deployment) that key-encryption keys seal by themselves."""

    @property
    def tenant_id(self) -> UUID:
        """Under which tenant the rows are read and written."""
        ...

    async def list_outdated(self, work: UnitOfWork, kek_id: str, after: str, limit: int) -> Sequence[WrappedRow]:
        """Rows that other keys than `kek_id` wrap, by name, after the name `after`."""
        ...

    async def store(self, work: UnitOfWork, row: WrappedRow, wrapped: WrappedKey) -> bool:
        """Put `wrapped` in the place of what `row` has; False if that has changed."""
        ...


class DataKeyRows:
    """The data keys of one tenant. Implements :class:`WrappedRows`."""

    def __init__(self, deployment_id: UUID, tenant_id: UUID) -> None:
        self._deployment_id = deployment_id
        self._tenant_id = tenant_id

    @property
    def tenant_id(self) -> UUID:
        return self._tenant_id

    async def list_outdated(self, work: UnitOfWork, kek_id: str, after: str, limit: int) -> Sequence[WrappedRow]:
        rows = await work.fetch(_OTHERS, kek_id, after, limit)
        return [
            WrappedRow(
                str(row["id"]), row["kek_id"], row["wrapped"],
                build_wrap_context(self._deployment_id, self._tenant_id, row["id"]),
            )
            for row in rows
        ]  # fmt: skip

    async def store(self, work: UnitOfWork, row: WrappedRow, wrapped: WrappedKey) -> bool:
        return bool(await work.execute(_STORE, UUID(row.name), row.kek_id, row.wrapped, wrapped.kek_id, wrapped.blob))


async def rewrap_keys(database: Database, provider: KeyProvider, rows: WrappedRows, done: Callable[[], None]) -> int:
    """Wrap all `rows` under the active key; how many were changed. `done` is called after each.

    Raises:
        broker.vault.envelope.DecryptionError: a row was changed in the database; those before it are done.
        core.errors.Invalid: the active key is not the one that was used before, or was retired.
        core.errors.Unavailable: a key or the database is away; run it again.
    """
    active, changed, after = await provider.get_active_id(), 0, ""
    while True:
        async with database.tenant(rows.tenant_id) as work:
            batch = await rows.list_outdated(work, active, after, BATCH_SIZE)
        for row in batch:
            changed += await _rewrap_row(database, provider, rows, row)
            done()
        if not batch:
            return changed
        after = batch[-1].name


async def _rewrap_row(database: Database, provider: KeyProvider, rows: WrappedRows, row: WrappedRow) -> bool:
    plain = await provider.unwrap(row.kek_id, row.wrapped, row.context)
    wrapped = await provider.wrap(plain, row.context)
    async with database.tenant(rows.tenant_id) as work:
        await record_key_use(work, provider, wrapped.kek_id)
        stored = await rows.store(work, row, wrapped)
        await failpoint("rewrapping")
        await confirm_key_use(work, provider, wrapped.kek_id)
    await failpoint("rewrapped")
    return stored


_OTHERS = """SELECT id, kek_id, wrapped FROM vault.deks
    WHERE tenant_id = $1 AND kek_id <> $2 AND id::text > $3 ORDER BY id::text LIMIT $4"""
_STORE = """UPDATE vault.deks SET kek_id = $5, wrapped = $6, rewrapped = true
    WHERE tenant_id = $1 AND id = $2 AND kek_id = $3 AND wrapped = $4"""
