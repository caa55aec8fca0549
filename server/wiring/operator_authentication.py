"""Authentication of the operator at the admin API, before everybody else (threat-model.md §2, row 50)."""

from urllib.parse import urlsplit
from uuid import UUID

from starlette.requests import Request

from core.api.principal import ADMIN_SYSTEM_ROLE, AuthenticationRequired, Principal, RequestAuthenticator
from core.db import Database
from core.directory.tenants import find_tenant
from core.errors import Forbidden
from core.scopes import ADMIN_SCOPES
from server.bootstrap import OPERATOR_ACTOR
from server.operator_access import TENANT_HEADER, OperatorAccess, is_loopback

NO_ID = UUID(int=0)
FORWARDING_HEADERS = (
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
    "origin",
    "sec-fetch-site",
)
"""Sent by proxies and browsers; a command of this machine sends none of them."""


class OperatorAuthenticator:
    """Implements :class:`core.api.principal.RequestAuthenticator`: the operator's credential gives an operator
    principal, every other one is left to `fallback`."""

    def __init__(self, access: OperatorAccess, console: Database, fallback: RequestAuthenticator) -> None:
        self._access = access
        self._console = console
        self._fallback = fallback

    async def __call__(self, request: Request) -> Principal:
        """Return the principal; raises as the protocol says.

        Raises:
            Forbidden: a caller other than the operator names a tenant.
            core.errors.NotFound: the operator names a tenant that does not exist.
        """
        if self._is_operator(request):
            return await self._build_principal(request)
        principal = await self._fallback(request)
        if TENANT_HEADER in request.headers:
            raise Forbidden(f"only the operator may name a tenant with {TENANT_HEADER}; leave the header out")
        return principal

    def _is_operator(self, request: Request) -> bool:
        """Check the credential, and that the request comes from this machine without a proxy in between.

        A right credential from elsewhere goes on to the others' check, which refuses it as it does any unknown token.
        """
        credentials = request.headers.getlist("authorization")
        if len(credentials) != 1:
            return False
        scheme, _, token = credentials[0].partition(" ")
        if scheme.lower() != "bearer" or not self._access.matches(token.strip()):
            return False
        return _is_direct_loopback_request(request)

    async def _build_principal(self, request: Request) -> Principal:
        slug = request.headers.get(TENANT_HEADER)
        tenant_id = NO_ID if slug is None else (await find_tenant(self._console, slug)).id
        return Principal(
            tenant_id=tenant_id,
            user_id=NO_ID,
            email=OPERATOR_ACTOR.name,
            # Without a tenant there is nothing to be an administrator of: only the operator's own routes are left.
            system_role="" if slug is None else ADMIN_SYSTEM_ROLE,
            scopes=ADMIN_SCOPES,
            authenticated_at=None,
            authentication_method="operator",
            operator=True,
        )


async def refuse_everybody(request: Request) -> Principal:
    """Implement :class:`core.api.principal.RequestAuthenticator` where the operator is the only caller."""
    raise AuthenticationRequired("only the operator's own credential is accepted here")


def _is_direct_loopback_request(request: Request) -> bool:
    if request.client is None or not is_loopback(request.client.host):
        return False
    if any(name in request.headers for name in FORWARDING_HEADERS):
        return False
    hosts = request.headers.getlist("host")
    try:
        return len(hosts) == 1 and is_loopback(urlsplit(f"//{hosts[0]}").hostname or "")
    except ValueError:
        return False
