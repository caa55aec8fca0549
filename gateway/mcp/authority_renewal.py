"""Asks anew who calls while a request runs: a revocation, a suspension or a lost permission holds for it too."""

import asyncio
from collections.abc import Awaitable, Callable

from core.caller import Caller
from core.errors import MCPistError
from gateway.mcp.errors import InsufficientScope, Unauthenticated
from gateway.mcp.request_context import Authority

REVOKED = "the credential of this call was revoked, or its user suspended"
UNVERIFIED = "your permissions may have changed and cannot be checked: MCPist's broker is unavailable"
RECHECK_SECONDS = 0.25
UNVERIFIED_SECONDS = 5.0
"""How long a running request may go on after a change that cannot be looked at."""


class AuthorityRenewal:
    """Keeps one running request's authority up to date; checked periodically by the call supervisor."""

    __slots__ = ("_again", "_authenticate", "_authority", "_is_current", "_task", "_unverified_since")

    def __init__(
        self, authority: Authority, authenticate: Callable[[], Awaitable[Caller]], is_current: Callable[[Caller], bool]
    ) -> None:
        self._authority = authority
        self._authenticate = authenticate
        self._is_current = is_current
        self._again = 0.0
        self._unverified_since: float | None = None
        self._task: asyncio.Task[None] | None = None
        authority.refresh = self.refresh

    def start_if_due(self, now: float) -> None:
        """Begin to ask, if what is known of the caller is old. `now` is the event loop's time."""
        if now >= self._again:
            self._begin()

    async def refresh(self) -> None:
        """Ask, if what is known of the caller is old, and wait for the answer."""
        self._begin()
        if self._task is not None:
            await asyncio.shield(self._task)

    def _begin(self) -> None:
        authority = self._authority
        if self._task is None and not authority.ended and not self._is_current(authority.caller):
            self._task = asyncio.create_task(self._renew())

    def close(self) -> None:
        """Stop renewing: the request has ended."""
        if self._task is not None:
            self._task.cancel()

    async def _renew(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._authority.renew(await self._authenticate())
            self._unverified_since = None
        except (Unauthenticated, InsufficientScope):
            self._authority.end(REVOKED)
        except MCPistError:  # the broker or the database is away
            self._unverified_since = self._unverified_since or loop.time()
            if loop.time() - self._unverified_since > UNVERIFIED_SECONDS:
                self._authority.end(UNVERIFIED)
        finally:
            self._task, self._again = None, loop.time() + RECHECK_SECONDS
