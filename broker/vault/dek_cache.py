"""Unwrapped data keys in memory: few, for minutes, and for no longer than their rows exist."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from core.concurrency.single_flight import SingleFlight

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
        if (kept := self.get(name)) is not None:  # somebody else was done while this one read the row
            self.mark_seen(name)
            return kept
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
        if len(self._entries) > MAX_CACHED:
            self._entries.popitem(last=False)
        return key
