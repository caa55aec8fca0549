"""What stands before every route: authentication, the origin of browsers' requests, limits."""

import contextlib
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from datetime import datetime

from starlette.requests import Request

from core.api.principal import Authenticate, CrossOrigin, Principal
from core.limits import AttemptLimits, CallerLimits
from core.same_origin import SAFE_METHODS, is_own

RATE, BURST, CONCURRENCY = 20.0, 100, 16
"""Of one person: requests a second over time, at once, and running at the same time."""

ANONYMOUS_PER_MINUTE = 30
"""Requests without a credential that one address may make."""


def _callers() -> CallerLimits:
    return CallerLimits(RATE, BURST, CONCURRENCY, clock=time.monotonic)


def _anonymous() -> AttemptLimits:
    return AttemptLimits(ANONYMOUS_PER_MINUTE, ANONYMOUS_PER_MINUTE, clock=time.monotonic)


@dataclass(frozen=True, slots=True)
class Door:
    """`public_url` has no trailing slash. `challenge` is the WWW-Authenticate value of a 401. `own_clients` are the ids
    of OAuth clients that are part of MCPist and may ask for what other clients may not (the command line).
    `client_address` tells where a request comes from, proxies taken into account.
    """

    authenticate: Authenticate
    public_url: str
    clock: Callable[[], datetime]
    client_address: Callable[[Request], str]
    challenge: str = 'Bearer realm="mcpist"'
    own_clients: frozenset[str] = frozenset()
    callers: CallerLimits = field(default_factory=_callers)
    anonymous: AttemptLimits = field(default_factory=_anonymous)

    async def principal(self, request: Request) -> Principal:
        """Whom the request speaks for.

        Raises:
            core.api.principal.Unauthenticated: nobody.
            CrossOrigin: a browser sent it with its cookie from another site.
        """
        principal = await self.authenticate(request)
        if principal.by == "session" and request.method not in SAFE_METHODS:
            _same_origin(request, self.public_url)
        return principal

    @contextlib.contextmanager
    def entered(self, principal: Principal) -> Generator[None]:
        """Count a request in and out.

        Raises:
            core.errors.LimitReached: this person asks for too much.
        """
        key = str(principal.user_id)
        self.callers.enter(key)
        try:
            yield
        finally:
            self.callers.leave(key)

    def stranger(self, request: Request) -> None:
        """Count a request that needs no credential.

        Raises:
            core.errors.LimitReached: too many came from that address.
        """
        address = self.client_address(request)
        self.anonymous.check(address)
        self.anonymous.failed(address)


def door_of(request: Request) -> Door:
    """The door of the application that serves `request`."""
    return request.app.state.door


def _same_origin(request: Request, public_url: str) -> None:
    site = request.headers.get("sec-fetch-site")
    if not is_own(request.headers.get("origin"), site, public_url):
        raise CrossOrigin("a browser may ask for this from MCPist's own pages only")
