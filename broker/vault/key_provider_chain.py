"""Several keepers of keys as one: the first wraps, each opens what its own keys have wrapped."""

from collections.abc import Sequence

from broker.vault.key_wrapping import KeyMissing, KeyProvider, WrappedKey


class KeyProviderChain:
    """Implements :class:`KeyProvider`. So a deployment moves from one keeper to another: both are named, the new one
    first, until nothing hangs on the keys of the old one."""

    def __init__(self, keepers: Sequence[KeyProvider]) -> None:
        self._keepers = tuple(keepers)

    async def get_active_id(self) -> str:
        return await self._keepers[0].get_active_id()

    @property
    def kek_ids(self) -> frozenset[str]:
        return frozenset[str]().union(*(keeper.kek_ids for keeper in self._keepers))

    def has(self, kek_id: str) -> bool:
        return any(keeper.has(kek_id) for keeper in self._keepers)

    async def wrap(self, plain: bytes, context: bytes) -> WrappedKey:
        return await self._keepers[0].wrap(plain, context)

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        return await self._find_provider(kek_id).unwrap(kek_id, wrapped, context)

    def compute_check_value(self, kek_id: str) -> bytes:
        return self._find_provider(kek_id).compute_check_value(kek_id)

    async def find_problem(self) -> str:
        told = [await keeper.find_problem() for keeper in self._keepers]
        return "; ".join(one for one in told if one)

    def _find_provider(self, kek_id: str) -> KeyProvider:
        for keeper in self._keepers:
            if keeper.has(kek_id):
                return keeper
        raise KeyMissing(kek_id)
