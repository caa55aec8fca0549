"""The vault: seals and opens secrets of one tenant's rows under that tenant's data keys."""

import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from broker.vault.envelope import KEY_BYTES, Place, Unreadable, dek_id_of, joined, opened, sealed
from broker.vault.keys import KeyProvider, check_keys, note_use
from core.db import Database, Row, UnitOfWork

WRAP_LABEL = b"mcpist.vault.dek.1"
MOST_USES = 2**20
LONGEST_USE = timedelta(days=90)
CACHED_SECONDS = 300.0
MOST_CACHED = 10_000


class Vault:
    """Data keys per tenant: one active, a new one every 2^20 uses or 90 days, unwrapped for at most five minutes."""

    def __init__(
        self,
        provider: KeyProvider,
        deployment_id: UUID,
        *,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._provider = provider
        self._deployment_id = deployment_id
        self._clock = clock
        self._monotonic = monotonic
        self._cached: OrderedDict[tuple[UUID, UUID], tuple[AESGCM, float]] = OrderedDict()

    async def seal(self, work: UnitOfWork, place: Place, plain: bytes) -> bytes:
        """`plain` encrypted for one place of the tenant's rows. Counts one use of the tenant's active key.

        Raises:
            core.errors.Invalid: the key-encryption key is not the one that was used before.
        """
        dek_id, key = await self._active(work)
        return sealed(key, dek_id, plain, place.context(self._deployment_id, work.tenant_id))

    async def open(self, work: UnitOfWork, place: Place, blob: bytes) -> bytes:
        """What was sealed for this place.

        Raises:
            Unreadable: it was changed, moved here from elsewhere, or its data key is gone.
            broker.vault.keys.KeyMissing: the key-encryption key is not at hand.
        """
        dek_id = dek_id_of(blob)
        key = self._kept(work.tenant_id, dek_id)
        if key is None:
            row = await work.fetchrow(_FIND, dek_id)
            if row is None:
                raise Unreadable
            key = await self._unwrapped(work.tenant_id, row)
        return opened(key, blob, place.context(self._deployment_id, work.tenant_id))

    async def _active(self, work: UnitOfWork) -> tuple[UUID, AESGCM]:
        row = await work.fetchrow(_USE, MOST_USES, self._clock() - LONGEST_USE)
        if row is None:
            await work.execute(_LOCK)
            row = await work.fetchrow(_USE, MOST_USES, self._clock() - LONGEST_USE)  # whoever was first made one
        if row is None:
            return await self._renewed(work)
        return row["id"], self._kept(work.tenant_id, row["id"]) or await self._unwrapped(work.tenant_id, row)

    async def _renewed(self, work: UnitOfWork) -> tuple[UUID, AESGCM]:
        """A new active key in the place of the old one, which stays for what it has sealed."""
        await note_use(work, self._provider)
        dek_id, plain = uuid4(), AESGCM.generate_key(KEY_BYTES * 8)
        wrapped = await self._provider.wrap(plain, self._wrap_context(work.tenant_id, dek_id))
        await work.execute(_RETIRE)
        await work.execute(_INSERT, dek_id, self._provider.kek_id, wrapped, self._clock())
        return dek_id, AESGCM(plain)  # cached when it is read back: this transaction may not commit

    async def _unwrapped(self, tenant_id: UUID, row: Row) -> AESGCM:
        context = self._wrap_context(tenant_id, row["id"])
        key = AESGCM(await self._provider.unwrap(row["kek_id"], row["wrapped"], context))
        self._cached[tenant_id, row["id"]] = key, self._monotonic() + CACHED_SECONDS
        if len(self._cached) > MOST_CACHED:
            self._cached.popitem(last=False)
        return key

    def _kept(self, tenant_id: UUID, dek_id: UUID) -> AESGCM | None:
        key, until = self._cached.get((tenant_id, dek_id), (None, 0.0))
        if self._monotonic() < until:
            return key
        self._cached.pop((tenant_id, dek_id), None)
        return None

    def _wrap_context(self, tenant_id: UUID, dek_id: UUID) -> bytes:
        return joined(WRAP_LABEL, self._deployment_id.bytes, tenant_id.bytes, dek_id.bytes)


async def open_vault(database: Database, provider: KeyProvider, *, clock: Callable[[], datetime]) -> Vault:
    """The deployment's vault, `database` being logged in as the broker; its keys are checked first.

    Raises:
        core.errors.Invalid: a key in use is missing or wrong; the text names it.
        core.errors.Unavailable: the database is away.
    """
    await check_keys(database, provider)
    return Vault(provider, await database.call("SELECT id FROM core.deployment"), clock=clock)


_USE = """UPDATE vault.deks SET uses = uses + 1
    WHERE tenant_id = $1 AND state = 'active' AND uses < $2 AND created_at > $3 RETURNING id, kek_id, wrapped"""
_FIND = "SELECT id, kek_id, wrapped FROM vault.deks WHERE tenant_id = $1 AND id = $2"
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('vault.deks ' || $1::uuid, 0))"
_RETIRE = "UPDATE vault.deks SET state = 'retired' WHERE tenant_id = $1 AND state = 'active'"
_INSERT = """INSERT INTO vault.deks (tenant_id, id, kek_id, wrapped, uses, created_at)
    VALUES ($1, $2, $3, $4, 1, $5)"""
