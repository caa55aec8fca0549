"""Checks before every route: authentication, the origin of browsers' requests, rate limits."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime

from starlette.requests import Request

from core.api.principal import CrossOriginRequest, Principal, RequestAuthenticator
from core.concurrency.rate_limits import AttemptLimits, CallerLimits
from core.http.same_origin import SAFE_METHODS, is_same_origin

REQUESTS_PER_SECOND, REQUEST_BURST, MAX_CONCURRENT_REQUESTS = 20.0, 100, 16
"""Of one person: requests a second over time, at once, and running at the same time."""

ANONYMOUS_PER_MINUTE = 30
"""Requests without a credential that one address may make."""


def _create_caller_limits() -> CallerLimits:
    return CallerLimits(REQUESTS_PER_SECOND, REQUEST_BURST, MAX_CONCURRENT_REQUESTS, clock=time.monotonic)


def _create_anonymous_limits() -> AttemptLimits:
    return AttemptLimits(ANONYMOUS_PER_MINUTE, ANONYMOUS_PER_MINUTE, clock=time.monotonic)


@dataclass(frozen=True, slots=True)
class ApiSecurity:
    """`public_url` has no trailing slash. `challenge` is the WWW-Authenticate value of a 401. `own_clients` are the ids
    of OAuth clients that are part of MCPist and may ask for what other clients may not (the command line).
    `client_address` tells where a request comes from, proxies taken into account.
    """

    authenticate: RequestAuthenticator
    public_url: str
    clock: Callable[[], datetime]
    client_address: Callable[[Request], str]
    challenge: str = 'Bearer realm="mcpist"'
    own_clients: frozenset[str] = frozenset()
    callers: CallerLimits = field(default_factory=_create_caller_limits)
    anonymous: AttemptLimits = field(default_factory=_create_anonymous_limits)

    async def authenticate_request(self, request: Request) -> Principal:
        """Return the principal of the request.

        Raises:
            core.api.principal.AuthenticationRequired: it has no valid credential.
            CrossOriginRequest: a browser sent it with its cookie from another site.
        """
        principal = await self.authenticate(request)
        if principal.authentication_method == "session" and request.method not in SAFE_METHODS:
            _check_same_origin(request, self.public_url)
        return principal

    def track(self, principal: Principal) -> AbstractContextManager[None]:
        """Count a request in and out.

        Raises:
            core.errors.LimitReached: this person asks for too much.
        """
        return self.callers.track(str(principal.user_id))

    def limit_anonymous(self, request: Request) -> None:
        """Count a request that needs no credential.

        Raises:
            core.errors.LimitReached: too many came from that address.
        """
        address = self.client_address(request)
        self.anonymous.check(address)
        self.anonymous.record_failure(address)


def get_security(request: Request) -> ApiSecurity:
    """Return the security of the application that serves `request`."""
    return request.app.state.door


def _check_same_origin(request: Request, public_url: str) -> None:
    fetch_site = request.headers.get("sec-fetch-site")
    if not is_same_origin(request.headers.get("origin"), fetch_site, public_url):
        raise CrossOriginRequest("a browser may ask for this from MCPist's own pages only")
