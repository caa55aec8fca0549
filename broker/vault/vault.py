"""The vault: seals and opens secrets of one tenant's rows under that tenant's data keys."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID, uuid4

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from broker.vault.envelope import (
    KEY_BYTES,
    CiphertextContext,
    DecryptionError,
    KeyMissing,
    KeyProvider,
    TenantSealer,
    decrypt_blob,
    encrypt_blob,
    join_length_prefixed,
    read_dek_id,
)
from broker.vault.key_checks import check_keys, confirm_key_use, record_key_use
from core.concurrency.single_flight import SingleFlight
from core.db import Database, Row, UnitOfWork
from core.errors import Unavailable

CACHED_SECONDS = 300.0
ROW_SEEN_SECONDS = 1.0
MAX_CACHED = 10_000

DekName = tuple[UUID, UUID]
"""Tenant and data key."""


@dataclass(slots=True)
class _Entry:
    """`seen` is when its row was last known to exist."""

    key: AESGCM
    until: float
    seen: float


class DekCache:
    """Data keys by tenant and id. Of several who miss the same one at once, one unwraps it for all."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._entries: OrderedDict[DekName, _Entry] = OrderedDict()
        self._unwrapping = SingleFlight[DekName, AESGCM]()
        self._filled = asyncio.Event()

    async def wait_until_filled(self) -> None:
        """Wait until a key is kept."""
        if not self._entries:
            self._filled.clear()
            await self._filled.wait()

    def get(self, name: DekName) -> AESGCM | None:
        """The key, unless it was kept for too long. Whether its row still exists is another question: see `seen`."""
        entry = self._entries.get(name)
        if entry is None:
            return None
        if self._monotonic() < entry.until:
            self._entries.move_to_end(name)
            return entry.key
        del self._entries[name]
        return None

    def is_recently_seen(self, name: DekName) -> bool:
        """Check whether the key's row was seen in the database within the last second."""
        entry = self._entries.get(name)
        return entry is not None and self._monotonic() < entry.seen + ROW_SEEN_SECONDS

    def mark_seen(self, name: DekName) -> None:
        """The key's row is there."""
        if name in self._entries:
            self._entries[name].seen = self._monotonic()

    async def fill(self, name: DekName, unwrap: Callable[[], Awaitable[AESGCM]]) -> AESGCM:
        """Unwrap a key that is not kept, and keep it. It is unwrapped to the end even if whoever began gives up."""
        if (cached := self.get(name)) is not None:  # somebody else was done while this one read the row
            self.mark_seen(name)
            return cached
        return await self._unwrapping.join(name, lambda: self._unwrap_and_cache(name, unwrap))

    def forget(self, tenant_id: UUID) -> None:
        """Drop all keys of a tenant."""
        for name in [name for name in self._entries if name[0] == tenant_id]:
            del self._entries[name]

    def drop(self, name: DekName) -> None:
        """Drop one key, whose row is gone."""
        self._entries.pop(name, None)

    def evict_expired(self) -> frozenset[UUID]:
        """Drop what was kept for long enough; the tenants of the rest."""
        now = self._monotonic()
        for name in [name for name, entry in self._entries.items() if now >= entry.until]:
            del self._entries[name]
        return frozenset(tenant_id for tenant_id, _ in self._entries)

    async def _unwrap_and_cache(self, name: DekName, unwrap: Callable[[], Awaitable[AESGCM]]) -> AESGCM:
        key, now = await unwrap(), self._monotonic()
        self._entries[name] = _Entry(key, now + CACHED_SECONDS, now)
        self._filled.set()
        if len(self._entries) > MAX_CACHED:
            self._entries.popitem(last=False)
        return key


WRAP_LABEL = b"mcpist.vault.dek.1"
MAX_DEK_USES = 2**20
MAX_DEK_AGE = timedelta(days=90)


class OutboundGuard(Protocol):
    """Check that this deployment may use its tokens: :class:`broker.vault.deployment_guard.DeploymentGuard`."""

    def is_outbound_allowed(self) -> bool: ...

    def require_adopted(self) -> None: ...


class Vault:
    """Data keys per tenant: one active, a new one every 2^20 uses or 90 days, unwrapped for at most five minutes.

    With a `guard` nothing is opened in a copy of the deployment that nobody has adopted.
    """

    def __init__(
        self,
        provider: KeyProvider,
        deployment_id: UUID,
        *,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
        guard: OutboundGuard | None = None,
    ) -> None:
        self._provider = provider
        self._deployment_id = deployment_id
        self._clock = clock
        self._guard = guard
        self._cached = DekCache(monotonic)

    async def seal(self, work: UnitOfWork, place: CiphertextContext, plain: bytes) -> bytes:
        """`plain` encrypted for one place of the tenant's rows. Counts one use of the tenant's active key.

        Raises:
            core.errors.Invalid: the key-encryption key is not the one that was used before, or was retired.
            core.errors.Unavailable: the key-encryption key cannot be used now.
        """
        dek_id, key = await self._use_active_key(work)
        return encrypt_blob(key, dek_id, plain, place.build_associated_data(self._deployment_id, work.tenant_id))

    async def get_sealer(self, work: UnitOfWork) -> TenantSealer:
        """The tenant's active key, in hand. Counts one use of it: the limit is far below what the key could bear.

        Raises:
            core.errors.Invalid: the key-encryption key is not the one that was used before.
        """
        dek_id, key = await self._use_active_key(work)
        return TenantSealer(key, dek_id, self._deployment_id, work.tenant_id)

    async def open(self, work: UnitOfWork, place: CiphertextContext, blob: bytes) -> bytes:
        """Decrypt a secret that was sealed for this place.

        Raises:
            Unreadable: it was changed, moved here from elsewhere, or its data key is gone.
            broker.vault.envelope.KeyMissing: the key-encryption key is not at hand.
            broker.vault.vault.NotAdopted: this is a copy, and nobody has said that it may be used.
        """
        self.require_adopted()
        key = await self._get_key(work, read_dek_id(blob))
        return decrypt_blob(key, blob, place.build_associated_data(self._deployment_id, work.tenant_id))

    async def preload_key(self, work: UnitOfWork, dek_id: UUID) -> None:
        """Have a data key in memory, so that what comes next does not wait for the keeper of keys.

        Raises:
            Unreadable: it is gone, or was changed in the database.
            core.errors.Unavailable: the key-encryption key cannot be used now.
        """
        await self._get_key(work, dek_id)

    async def rotate_data_key(self, work: UnitOfWork) -> UUID:
        """Put a new active key in the place of the tenant's: its id. The old ones stay for what they have sealed."""
        await work.execute(_LOCK)
        dek_id, _ = await self._create_data_key(work, uses=0)
        return dek_id

    @property
    def outbound_allowed(self) -> bool:
        """Check whether this is the original deployment, whose tokens may be used."""
        return self._guard is None or self._guard.is_outbound_allowed()

    def require_adopted(self) -> None:
        """Raises:
        broker.vault.vault.NotAdopted: this is a copy, and nobody has said that it may be used.
        """
        if self._guard is not None:
            self._guard.require_adopted()

    def forget(self, tenant_id: UUID) -> None:
        """Drop every unwrapped key of a tenant at once, because the tenant is gone."""
        self._cached.forget(tenant_id)

    async def wait_until_cached(self) -> None:
        """Wait until there is an unwrapped key, which may have to be dropped."""
        await self._cached.wait_until_filled()

    async def evict_expired(self, database: Database) -> int:
        """Drop unwrapped keys that are too old, and those of tenants that are gone; of how many tenants it has keys."""
        tenants = self._cached.evict_expired()
        tenant_ids = ",".join(map(str, tenants))
        query = "SELECT tenant_id FROM core.tenants"
        rows = await database.lookup("lookup_tenants", tenant_ids, query) if tenants else ()
        for tenant_id in tenants - {row["tenant_id"] for row in rows}:
            self._cached.forget(tenant_id)
        return len(tenants)

    async def _get_key(self, work: UnitOfWork, dek_id: UUID) -> AESGCM:
        name = work.tenant_id, dek_id
        key = self._cached.get(name)
        if key is not None and self._cached.is_recently_seen(name):
            return key
        row = await work.fetchrow(_FIND, dek_id)
        if row is None:
            self._cached.drop(name)
            raise DecryptionError
        self._cached.mark_seen(name)
        return key or await self._unwrap_row(work, row)

    async def _use_active_key(self, work: UnitOfWork) -> tuple[UUID, AESGCM]:
        row = await work.fetchrow(_USE, MAX_DEK_USES, self._clock() - MAX_DEK_AGE)
        if row is None:
            await work.execute(_LOCK)
            row = await work.fetchrow(_USE, MAX_DEK_USES, self._clock() - MAX_DEK_AGE)  # whoever was first made one
        if row is None:
            return await self._create_data_key(work, uses=1)
        return row["id"], self._cached.get((work.tenant_id, row["id"])) or await self._unwrap_row(work, row)

    async def _create_data_key(self, work: UnitOfWork, *, uses: int) -> tuple[UUID, AESGCM]:
        """A new active key in the place of the old one, which stays for what it has sealed."""
        dek_id, plain = uuid4(), AESGCM.generate_key(KEY_BYTES * 8)
        wrapped = await self._provider.wrap(plain, build_wrap_context(self._deployment_id, work.tenant_id, dek_id))
        await record_key_use(work, self._provider, wrapped.kek_id)
        await work.execute(_RETIRE)
        await work.execute(_INSERT, dek_id, wrapped.kek_id, wrapped.blob, uses, self._clock())
        await confirm_key_use(work, self._provider, wrapped.kek_id)
        return dek_id, AESGCM(plain)  # cached when it is read back: this transaction may not commit

    async def _unwrap_row(self, work: UnitOfWork, row: Row) -> AESGCM:
        try:
            return await self._unwrap_cached(work.tenant_id, row)
        except KeyMissing as missing:
            # It may have been rewrapped and the old key taken away since the row was read.
            now = await work.fetchrow(_FIND, row["id"])
            if now is None or now["kek_id"] == row["kek_id"]:
                raise missing from None
            return await self._unwrap_cached(work.tenant_id, now)

    async def _unwrap_cached(self, tenant_id: UUID, row: Row) -> AESGCM:
        context = build_wrap_context(self._deployment_id, tenant_id, row["id"])

        async def unwrap() -> AESGCM:
            return AESGCM(await self._provider.unwrap(row["kek_id"], row["wrapped"], context))

        return await self._cached.fill((tenant_id, row["id"]), unwrap)


def build_wrap_context(deployment_id: UUID, tenant_id: UUID, dek_id: UUID) -> bytes:
    """Return the encryption context that binds a wrapped data key to its row."""
    return join_length_prefixed(WRAP_LABEL, deployment_id.bytes, tenant_id.bytes, dek_id.bytes)


async def open_vault(
    database: Database, provider: KeyProvider, *, clock: Callable[[], datetime], guard: OutboundGuard | None = None
) -> Vault:
    """The deployment's vault, `database` being logged in as the broker; its keys are checked first.

    Raises:
        core.errors.Invalid: a key in use is missing or wrong; the text names it.
        core.errors.Unavailable: the database is away.
    """
    await check_keys(database, provider)
    return Vault(provider, await database.call("SELECT id FROM core.deployment"), clock=clock, guard=guard)


_USE = """UPDATE vault.deks SET uses = uses + 1
    WHERE tenant_id = $1 AND state = 'active' AND uses < $2 AND created_at > $3 RETURNING id, kek_id, wrapped"""
_FIND = "SELECT id, kek_id, wrapped FROM vault.deks WHERE tenant_id = $1 AND id = $2"
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('vault.deks ' || $1::uuid, 0))"
_RETIRE = "UPDATE vault.deks SET state = 'retired' WHERE tenant_id = $1 AND state = 'active'"
_INSERT = """INSERT INTO vault.deks (tenant_id, id, kek_id, wrapped, uses, created_at)
    VALUES ($1, $2, $3, $4, $5, $6)"""


class NotAdopted(Unavailable):
    """Refusal of outbound use in a copy of a deployment that was not adopted."""

    def __init__(self) -> None:
        super().__init__(
            "this MCPist runs on a copy of its database and talks to no service until its operator adopts the copy "
            "(`mcpist adopt`; it is noticed within some seconds)",
            retry_after=60.0,
        )
