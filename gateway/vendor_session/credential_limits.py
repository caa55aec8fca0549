"""Concurrency and rate limits of one credential at its vendor."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

Clock = Callable[[], float]

MAX_KEYS = 20_000
MAX_WAITING = 1_000
MAX_SCOPES = 8
MAX_BLOCK_SECONDS = 3600.0
"""Seconds. A vendor that asks for longer is asked once more then: it may have been wrong, or paid since."""
ALL_PATHS = ""


class CredentialLimits:
    """Running requests and the vendor's rate limits for each key. `clock` gives seconds that never go back.

    A key stands for what the vendor counts requests for: one account or one pasted key, and not the next one in its
    place. It is remembered while one of its requests runs or the vendor's limit holds; at most `max_keys` of the
    latter.
    """

    def __init__(self, *, clock: Clock, max_keys: int = MAX_KEYS) -> None:
        self._clock = clock
        self._max_keys = max_keys
        self._gates: dict[str, _KeyState] = {}

    def get_blocked_seconds(self, key: str, path: str) -> float:
        """Seconds until the vendor takes requests below `path` again, as it said itself; 0 for now."""
        gate = self._gates.get(key)
        if gate is None or not gate.blocks:
            return 0.0
        now = self._clock()
        blocks = [
            block
            for scope in (ALL_PATHS, derive_limit_scope(path))
            if (block := gate.blocks.get(scope)) and block.effective_until > now
        ]
        return max((block.announced_until - now for block in blocks), default=0.0)

    def block(self, key: str, scope: str, seconds: float) -> None:
        """Block requests in `scope`, as the vendor asks (see :func:`derive_limit_scope`; ALL_PATHS for all) for so
        long."""
        gate = self._gates.get(key) or self._admit(key)
        if len(gate.blocks) >= MAX_SCOPES and scope not in gate.blocks:
            del gate.blocks[min(gate.blocks, key=gate.blocks.__getitem__)]
        now = self._clock()
        block = _Block(now + min(seconds, MAX_BLOCK_SECONDS), now + seconds)
        gate.blocks[scope] = max(gate.blocks.get(scope, block), block)

    def try_enter(self, key: str, limit: int) -> bool:
        """Count one request in, unless `limit` run already; every success is followed by one :meth:`leave`."""
        gate = self._gates.get(key) or self._admit(key)
        if gate.running >= limit:
            return False
        gate.running += 1
        return True

    async def wait(self, key: str, seconds: float) -> bool:
        """Wait in turn where :meth:`try_enter` said no; whether the request is counted in now."""
        gate = self._gates[key]
        if len(gate.waiting) >= MAX_WAITING:
            return False
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        gate.waiting.append(waiter)
        timer = loop.call_later(seconds, _end_waiting, waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            # The turn may have come in the very moment in which the waiting ended: then it is another's.
            if waiter.done() and not waiter.cancelled() and waiter.result():
                self.leave(key)
            raise
        finally:
            timer.cancel()

    def leave(self, key: str) -> None:
        """Count one request out; the longest waiter is next."""
        gate = self._gates[key]
        while gate.waiting:
            waiter = gate.waiting.popleft()
            if not waiter.done():
                waiter.set_result(True)
                return
        gate.running -= 1
        if not gate.running and not gate.blocks:
            del self._gates[key]

    def __len__(self) -> int:
        """Return the number of remembered keys."""
        return len(self._gates)

    def _admit(self, key: str) -> "_KeyState":
        if len(self._gates) >= self._max_keys:
            self._forget()
        gate = self._gates[key] = _KeyState()
        return gate

    def _forget(self) -> None:
        """Make room for a quarter of the keys at once: those whose limit ends first, if nothing of theirs runs."""
        quiet = [
            (max(gate.blocks.values()).effective_until, key) for key, gate in self._gates.items() if not gate.running
        ]
        for _, key in sorted(quiet)[: self._max_keys // 4 + 1]:
            del self._gates[key]


class _KeyState:
    __slots__ = ("blocks", "running", "waiting")

    def __init__(self) -> None:
        self.running = 0
        self.waiting: deque[asyncio.Future[bool]] = deque()
        self.blocks: dict[str, _Block] = {}


def _end_waiting(waiter: "asyncio.Future[bool]") -> None:
    """Tell a waiter that its time is up, unless its turn has come."""
    if not waiter.done():
        waiter.set_result(False)


class _Block(NamedTuple):
    """Pause of a credential: its end as used, and the end that the vendor stated."""

    effective_until: float
    announced_until: float


def derive_limit_scope(path: str) -> str:
    """Derive the part of a vendor that shares a rate limit, as far as an address tells: its first two segments.

    GitHub counts /search/code, /search/issues and the rest apart. Too narrow costs one request that is refused, too
    wide would keep back what the vendor would take.
    """
    return "/".join(path.split("/", 3)[1:3])
