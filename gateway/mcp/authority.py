"""Authority of a running request: who calls, asked anew while it runs, so that a revocation, a suspension or a lost
permission holds for it too."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from core.caller import Caller
from core.errors import MCPistError
from gateway.mcp.errors import InsufficientScope, Unauthenticated

REVOKED = "the credential of this call was revoked, or its user suspended"
GIVEN_UP = "the client cancelled the request"
UNVERIFIED = "your permissions may have changed and cannot be checked: "
RECHECK_SECONDS = 0.25
UNVERIFIED_SECONDS = 5.0
"""How long a running request may go on after a change that cannot be looked at."""


class ToolExecution(Protocol):
    """A tool that runs for a caller."""

    @property
    def has_changed(self) -> bool:
        """Check whether it has changed something, or may have."""
        ...

    def check(self, caller: Caller) -> None:
        """Stop it if `caller` may not use it any more."""
        ...

    def stop(self, reason: str) -> None: ...


class Authority(msgspec.Struct, eq=False):
    """Authority that a request runs under: the caller in their current state, and once it ends, `ended` with the
    reason. The call supervisor has it renewed.

    `_authenticate` verifies the caller anew, and `_is_current` tells whether that is due; without them the caller stays
    who they are, as for an operator who calls locally.
    """

    caller: Caller
    _authenticate: Callable[[], Awaitable[Caller]] | None = None
    _is_current: Callable[[Caller], bool] | None = None
    ended: str = ""
    is_given_up: bool = False
    """The client has cancelled the request, or left where that cancels it."""
    _executions: set[ToolExecution] = msgspec.field(default_factory=set[ToolExecution])
    _next_check: float = 0.0
    _unverified_since: float | None = None
    _renewing: asyncio.Task[None] | None = None
    _is_revoked: bool = False

    def enter(self, execution: ToolExecution) -> None:
        """Add a tool that begins to run under this authority."""
        self._executions.add(execution)

    def leave(self, execution: ToolExecution) -> None:
        """Remove a tool that has ended."""
        self._executions.discard(execution)

    def renew_if_due(self, now: float) -> None:
        """Begin to verify the caller anew, if what is known of them is old. `now` is the event loop's time."""
        if now >= self._next_check:
            self._begin_renewal()

    async def refresh(self) -> None:
        """Verify the caller anew if what is known of them is old, and wait for it; for work that begins long after its
        request came."""
        self._begin_renewal()
        if self._renewing is not None:
            await asyncio.shield(self._renewing)

    def close(self) -> None:
        """Stop renewing: the request has ended."""
        if self._renewing is not None:
            self._renewing.cancel()

    def give_up(self) -> bool:
        """Start no further tool of a request that its client has given up. Where tools have changed something, they run
        to their end and the others are stopped; return whether there are any."""
        self.is_given_up = True
        executions = tuple(self._executions)
        if not any(execution.has_changed for execution in executions):
            return False
        self.ended = self.ended or GIVEN_UP
        for execution in executions:
            if not execution.has_changed:
                execution.stop(GIVEN_UP)
        return True

    def _begin_renewal(self) -> None:
        if self._authenticate is None or self._is_current is None or self._renewing is not None or self._is_revoked:
            return
        if not self._is_current(self.caller):
            self._renewing = asyncio.create_task(self._renew(self._authenticate))

    async def _renew(self, authenticate: Callable[[], Awaitable[Caller]]) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._replace_caller(await authenticate())
            self._unverified_since = None
        except (Unauthenticated, InsufficientScope):
            self._end(REVOKED)
        except MCPistError as error:  # the broker or the database is away
            self._unverified_since = self._unverified_since or loop.time()
            if loop.time() - self._unverified_since > UNVERIFIED_SECONDS:
                self._end(f"{UNVERIFIED}{error}")
        finally:
            self._renewing, self._next_check = None, loop.time() + RECHECK_SECONDS

    def _replace_caller(self, caller: Caller) -> None:
        """Take the caller's new state; tools that they may not use any more stop."""
        self.caller = caller
        for execution in tuple(self._executions):
            execution.check(caller)

    def _end(self, reason: str) -> None:
        """End the authority, whose credential is no longer valid: running tools stop, and none begins."""
        self.ended, self._is_revoked = reason, True
        for execution in tuple(self._executions):
            execution.stop(reason)
