"""Authorization of API routes. Every route declares one :class:`RouteAccess`, or the application is not built."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from fastapi import Request, Response
from fastapi.routing import APIRoute

from core.api.principal import PASSIVE_REQUEST, REQUEST_ID, MissingCredentialScope, Principal, RecentSignInRequired
from core.api.security import get_security
from core.errors import Forbidden
from core.scopes import covers

RequiredRole = Literal["anyone", "user", "admin", "operator"]


@dataclass(frozen=True, slots=True)
class RouteAccess:
    """A declaration, and the dependency that gives a route its principal.

    One of `scopes` is enough; none means that any credential is. `recent_sign_in` routes make credentials: they need a
    person who signed in less than ten minutes ago, in a browser or with one of MCPist's own clients, never an API
    token. The operator's credential is no user's: routes of users take it only if `operator_allowed`, and are told
    which user is meant. It needs no sign-in: whoever has it could give themselves any credential. A `passive` route is
    asked by a page by itself: it does not count as a use that keeps a session alive.
    """

    required_role: RequiredRole
    scopes: tuple[str, ...] = ()
    recent_sign_in: bool = False
    operator_allowed: bool = False
    passive: bool = False

    async def __call__(self, request: Request) -> Principal:
        """Return the principal, checked before anything else of the request is read."""
        return request.state.principal

    async def authorize(self, request: Request) -> Principal:
        """Authenticate the caller and check that they may call.

        Raises:
            core.errors.MCPistError: they may not; the error says why.
        """
        security = get_security(request)
        request.scope[PASSIVE_REQUEST] = self.passive
        principal = await security.authenticate_request(request)
        if self.required_role == "user" and principal.is_operator_credential and not self.operator_allowed:
            raise Forbidden("the operator's credential is no user's: this needs a signed-in person")
        if self.required_role == "operator" and not principal.operator:
            raise Forbidden("only the operator of this MCPist may do this")
        if self.required_role == "admin" and principal.system_role != "admin":
            raise Forbidden("only administrators may do this")
        if self.scopes and not any(covers(principal.scopes, scope) for scope in self.scopes):
            raise MissingCredentialScope(self.scopes[0])
        if self.recent_sign_in and not has_signed_in_recently(principal, security.own_clients, security.clock()):
            raise RecentSignInRequired(
                "sign in again: this needs a sign-in of the last ten minutes, and no token will do"
            )
        return replace(principal, request_id=request.scope.get(REQUEST_ID, ""))

    def to_openapi(self) -> dict[str, Any]:
        """Return the fields that describe this access in the OpenAPI document."""
        return {
            "required_role": self.required_role,
            "scopes": list(self.scopes),
            "recent_sign_in": self.recent_sign_in,
            "operator_allowed": self.operator_allowed or self.required_role in ("admin", "operator"),
        }


def allow(
    required_role: RequiredRole,
    *,
    scope: str | tuple[str, ...] = (),
    recent_sign_in: bool = False,
    operator_allowed: bool = False,
    passive: bool = False,
) -> RouteAccess:
    """Declare who may call a route: ``Annotated[Principal, Depends(allow("admin", scope=ADMIN_WRITE))]``."""
    scopes = (scope,) if isinstance(scope, str) else scope
    return RouteAccess(required_role, scopes, recent_sign_in, operator_allowed, passive)


class DeclaredRoute(APIRoute):
    """A route that asks who calls before it reads a byte of the body. It cannot be made without a declaration."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        access = self.access
        handle = super().get_route_handler()

        async def admit(request: Request) -> Response:
            if access.required_role == "anyone":
                request.state.principal = None
                return await handle(request)
            principal = request.state.principal = await access.authorize(request)
            with get_security(request).track(principal):
                return await handle(request)

        return admit

    @property
    def access(self) -> RouteAccess:
        """The route's declaration.

        Raises:
            TypeError: it has none, or several.
        """
        accesses = [
            dependency.call for dependency in self.dependant.dependencies if isinstance(dependency.call, RouteAccess)
        ]
        if len(accesses) != 1:
            raise TypeError(f"{self.path} has to declare who may call it, once: core.api.authorization.allow")
        return accesses[0]


def has_signed_in_recently(principal: Principal, own_clients: frozenset[str], now: datetime) -> bool:
    """Check whether a principal may call what needs a recent sign-in, with this credential at this time."""
    if principal.is_operator_credential:
        return True
    if principal.authentication_method == "token" or (
        principal.authentication_method == "oauth" and principal.client not in own_clients
    ):
        return False
    signed_in = principal.authenticated_at or datetime.min.replace(tzinfo=UTC)
    return now - signed_in < timedelta(minutes=RecentSignInRequired.minutes)
