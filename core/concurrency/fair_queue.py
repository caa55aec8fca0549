"""Fair queue for the calls of one process: tenants take turns, and a tenant's calls begin in the order in which they
came (deficit-free round robin, as in RFC 970; docs/decisions/0101-a-fair-queue-per-tenant.md).

A call holds a turn while it works here. While it waits for its vendor it holds none, and comes back without a wait.
"""

import asyncio
from collections import deque
from functools import cached_property
from typing import TypeAlias
from uuid import UUID

import msgspec

from core.errors import LimitReached

RESERVED_TURNS = 2
"""Calls of each tenant that never wait for another tenant's."""
MAX_WAITING = 512
"""Calls of one tenant that may wait; the next one is refused."""
MAX_WAIT_SECONDS = 10.0
"""Seconds that a call may wait for its turn; then it is refused."""
TICK_SECONDS = 0.1
"""While calls wait: how often it is looked whether a call holds its turn for longer than this. Then it waits for
something, such as a module's own server, and its turn is given on."""
REST_SECONDS = 10.0
"""Seconds after its last call in which a tenant counts as active."""


class FreeTurn:
    """Turn of a call for which nobody has to wait, as of the command line's own."""

    waiter = None

    async def wait(self) -> None:
        """Begin at once."""

    def release(self) -> None:
        """Do nothing: nobody waits."""

    def resume(self) -> None:
        """Do nothing, as above."""

    def fork(self) -> "FreeTurn":
        """Return itself."""
        return self


AnyTurn: TypeAlias = "Turn | FreeTurn"
FREE_TURN = FreeTurn()


class Turn(msgspec.Struct, eq=False):
    """Turn of one call. `waiter` is there while the call waits for it: then :meth:`wait` comes first."""

    queue: "FairQueue"
    share: "_TenantShare"
    tick: int = 0
    is_held: bool = False
    waiter: "asyncio.Future[None] | None" = None
    since: float = 0.0

    async def wait(self) -> None:
        """Wait until the call may begin.

        Raises:
            LimitReached: it has waited for too long.
        """
        waiter = self.waiter
        if waiter is None:
            return
        try:
            await waiter
        except asyncio.CancelledError:
            self.queue.leave(self)
            raise
        finally:
            self.waiter = None

    def release(self) -> None:
        """Give the turn back: the call has ended, or waits for something that is not this process's."""
        if self.is_held:
            self.is_held = False
            queue, share = self.queue, self.share
            del queue.held[self]
            share.held -= 1
            if queue.waiting:
                queue.grant(share)

    def resume(self) -> None:
        """Take the turn again after such a wait, at once: what has begun is brought to its end first."""
        if not self.is_held:
            queue = self.queue
            self.is_held, self.tick = True, queue.tick
            queue.held[self] = None
            self.share.held += 1

    def fork(self) -> "Turn":
        """Create the turn of a further call of the same tenant, which waits where it has to."""
        return self.queue.take(self.share)


class _TenantShare(msgspec.Struct, eq=False):
    """A tenant's calls: how many hold a turn, and those that wait."""

    held: int = 0
    waiting: "deque[Turn]" = msgspec.field(default_factory=lambda: deque[Turn]())
    is_queued: bool = False
    is_active: bool = True


class FairQueue:
    """Shares out turns among tenants.

    While only one tenant calls, nothing waits. While several do, at most `turns` calls hold a turn, and as many more as
    tenants have fewer than `RESERVED_TURNS`.
    """

    def __init__(self, turns: int) -> None:
        self.held: dict[Turn, None] = {}
        """Turns that calls hold, by when they were taken."""
        self.tick = 0
        self.waiting: deque[_TenantShare] = deque()
        """Tenants with waiting calls, the next one first."""
        self._limit = turns
        self._alone: _TenantShare | None = None
        self._shares: dict[UUID, _TenantShare] = {}
        self._is_ticking = False

    def enter(self, tenant_id: UUID) -> AnyTurn:
        """Count in a call of the tenant; it begins when its turn has no `waiter`. Those of a tenant who is alone are
        not counted: nobody waits for them.

        Raises:
            LimitReached: too many calls of the tenant wait already.
        """
        share = self._shares.get(tenant_id) or self._add_tenant(tenant_id)
        share.is_active = True
        if share is self._alone:
            return FREE_TURN
        if share.waiting and len(share.waiting) >= MAX_WAITING:
            raise LimitReached("Too many calls of this tenant wait for their turn; send fewer calls at a time.")
        return self.take(share)

    def take(self, share: _TenantShare) -> Turn:
        """Create a turn of the tenant: held, or waiting."""
        turn = Turn(self, share)
        if (len(self.held) < self._limit and not share.waiting) or share.held < RESERVED_TURNS:
            turn.is_held, turn.tick = True, self.tick
            self.held[turn] = None
            share.held += 1
        else:
            self._enqueue(share, turn)
        return turn

    def grant(self, first: _TenantShare) -> None:
        """Let calls begin: those of `first` below its reserve, then one of each tenant in turn."""
        while first.waiting and first.held < RESERVED_TURNS:
            self._begin_next(first)
        while self.waiting and len(self.held) < self._limit:
            share = self.waiting.popleft()
            self._begin_next(share)
            share.is_queued = bool(share.waiting)
            if share.is_queued:
                self.waiting.append(share)

    def leave(self, turn: Turn) -> None:
        """Take a call out that was cancelled while it waited."""
        if turn.is_held:  # the turn came in the very moment in which the waiting ended
            turn.release()
        elif turn in turn.share.waiting:
            turn.share.waiting.remove(turn)

    def count_waiting(self) -> int:
        """Count the calls that wait."""
        return sum(len(share.waiting) for share in self.waiting)

    def __len__(self) -> int:
        """Return the number of active tenants."""
        return len(self._shares)

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The loop of the process, asked for once: until Python 3.12 each question is a system call (getpid)."""
        return asyncio.get_running_loop()

    def _add_tenant(self, tenant_id: UUID) -> _TenantShare:
        if not self._shares:
            self._loop.call_later(REST_SECONDS, self._forget_resting)
        share = self._shares[tenant_id] = _TenantShare()
        self._alone = share if len(self._shares) == 1 else None
        return share

    def _forget_resting(self) -> None:
        """Forget the tenants that have not called since the last time; calls of the only one left wait no more."""
        for tenant_id, share in list(self._shares.items()):
            if not (share.is_active or share.held or share.waiting):
                del self._shares[tenant_id]
            share.is_active = False
        self._alone = next(iter(self._shares.values())) if len(self._shares) == 1 else None
        if self._shares:
            self._loop.call_later(REST_SECONDS, self._forget_resting)

    def _enqueue(self, share: _TenantShare, turn: Turn) -> None:
        turn.waiter, turn.since = self._loop.create_future(), self._loop.time()
        share.waiting.append(turn)
        if not share.is_queued:
            share.is_queued = True
            self.waiting.append(share)
        if not self._is_ticking:
            self._is_ticking = True
            self._loop.call_later(TICK_SECONDS, self._look)

    def _begin_next(self, share: _TenantShare) -> None:
        while share.waiting:
            turn = share.waiting.popleft()
            if turn.waiter is not None and not turn.waiter.done():
                turn.waiter.set_result(None)
                turn.resume()
                return

    def _look(self) -> None:
        """Look after calls that wait for too long, and turns that are held for too long."""
        self.tick += 1
        now = self._loop.time()
        for share in self.waiting:
            _refuse_late(share, now - MAX_WAIT_SECONDS)
        while self.waiting and (turn := next(iter(self.held), None)) is not None and turn.tick < self.tick - 1:
            turn.release()
        self._is_ticking = bool(self.waiting)
        if self._is_ticking:
            self._loop.call_later(TICK_SECONDS, self._look)


def _refuse_late(share: _TenantShare, latest: float) -> None:
    while share.waiting and share.waiting[0].since <= latest:
        waiter = share.waiting.popleft().waiter
        if waiter is not None and not waiter.done():
            waiter.set_exception(LimitReached("MCPist is busy with this tenant's other calls; send fewer at a time."))
