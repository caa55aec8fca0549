"""Several keepers of keys as one: the first wraps, each opens what its own keys have wrapped."""

from collections.abc import Sequence

from broker.vault.keys import KeyMissing, KeyProvider, Wrapped


class KeyRing:
    """Implements :class:`KeyProvider`. So a deployment moves from one keeper to another: both are named, the new one
    first, until nothing hangs on the keys of the old one."""

    def __init__(self, keepers: Sequence[KeyProvider]) -> None:
        self._keepers = tuple(keepers)

    async def active(self) -> str:
        return await self._keepers[0].active()

    @property
    def kek_ids(self) -> frozenset[str]:
        return frozenset[str]().union(*(keeper.kek_ids for keeper in self._keepers))

    def has(self, kek_id: str) -> bool:
        return any(keeper.has(kek_id) for keeper in self._keepers)

    async def wrap(self, plain: bytes, context: bytes) -> Wrapped:
        return await self._keepers[0].wrap(plain, context)

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        return await self._of(kek_id).unwrap(kek_id, wrapped, context)

    def check(self, kek_id: str) -> bytes:
        return self._of(kek_id).check(kek_id)

    async def trouble(self) -> str:
        told = [await keeper.trouble() for keeper in self._keepers]
        return "; ".join(one for one in told if one)

    def _of(self, kek_id: str) -> KeyProvider:
        for keeper in self._keepers:
            if keeper.has(kek_id):
                return keeper
        raise KeyMissing(kek_id)
