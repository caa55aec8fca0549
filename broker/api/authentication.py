"""Authentication of admin API requests: the bearer credential, or else the session in the cookie."""

from collections.abc import Callable
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from starlette.requests import Request

from broker.identity.browser_sessions import Sessions
from broker.interface import CredentialRefusal, Verifier
from broker.web.cookies import Cookies
from core.api.principal import ADMIN_SYSTEM_ROLE, PASSIVE_REQUEST, AuthenticationRequired, Principal
from core.caller import Credential
from core.db import Database, Row
from core.scopes import ADMIN_READ, ADMIN_SCOPES, ADMIN_WRITE, ALL_SCOPES, MCP_SCOPES, READ, WRITE
from core.secret import Secret
from core.token_format import is_jwt, parse_token

MAX_HEADER_BYTES = 8_192
_READ_SCOPE_BY_WRITE = {WRITE: READ, ADMIN_WRITE: ADMIN_READ}


class AuthFailureRecorder(Protocol):
    """What happens besides the 401; the gateway's, so that one limit holds for both doors."""

    def admit(self, client: str) -> None: ...

    def record_malformed(self, client: str) -> None: ...

    async def record_refused(self, client: str, refusal: CredentialRefusal) -> None: ...


class ApiAuthenticator:
    """Implements :class:`core.api.principal.RequestAuthenticator`.

    Nothing is cached: the user's role and status are those of
    this moment. `operator_tenant` is the slug of the tenant whose administrators operate the deployment; nobody does
    over the network where it is empty.
    """

    def __init__(
        self,
        database: Database,
        verifier: Verifier,
        sessions: Sessions,
        cookies: Cookies,
        refusals: AuthFailureRecorder,
        client_address: Callable[[Request], str],
        operator_tenant: str = "",
    ) -> None:
        self._database = database
        self._verifier = verifier
        self._sessions = sessions
        self._cookies = cookies
        self._refusals = refusals
        self._client_address = client_address
        self._operator_tenant = operator_tenant

    async def __call__(self, request: Request) -> Principal:
        """The principal; raises as the protocol says."""
        address = self._client_address(request)
        headers = request.headers.getlist("authorization")
        cookie = None if headers else self._cookies.read(request, "session")
        if not headers and cookie is None:
            raise AuthenticationRequired("sign in, or send an API token as a bearer token")
        self._refusals.admit(address)
        if cookie is not None:
            is_use = not request.scope.get(PASSIVE_REQUEST, False)
            return await self._authenticate_session(cookie, address, is_use)
        return await self._authenticate_bearer(headers, address)

    async def _authenticate_session(self, cookie: Secret, address: str, is_use: bool) -> Principal:
        session = await self._sessions.find(cookie, is_use=is_use)
        if session is None:
            self._refusals.record_malformed(address)
            raise _build_invalid_credentials()
        row = await self._fetch_user(session.tenant_id, session.user_id, None)
        return self._build_principal(
            session.tenant_id, session.user_id, row, ALL_SCOPES, session.authenticated_at, "session", str(session.id)
        )

    async def _authenticate_bearer(self, headers: list[str], address: str) -> Principal:
        scheme, _, token = headers[0].partition(" ")
        token = token.strip()
        if (
            len(headers) > 1
            or scheme.lower() != "bearer"
            or len(token) > MAX_HEADER_BYTES
            or not _is_credential_form(token)
        ):
            self._refusals.record_malformed(address)
            raise _build_invalid_credentials()
        verdict = await self._verifier.verify(Secret(token))
        if isinstance(verdict, CredentialRefusal):
            await self._refusals.record_refused(address, verdict)
            raise _build_invalid_credentials()
        return await self._load_principal(verdict)

    async def _load_principal(self, credential: Credential) -> Principal:
        grant_id = _get_grant_id(credential)
        row = await self._fetch_user(credential.tenant_id, credential.user_id, grant_id)
        by = "token" if credential.kind == "api_token" else "oauth"
        scopes = _restrict_to_reading(credential.scopes) if credential.read_only else credential.scopes
        signed_in = None if by == "token" else row["authenticated_at"]
        return self._build_principal(
            credential.tenant_id, credential.user_id, row, scopes, signed_in, by, credential.id
        )

    async def _fetch_user(self, tenant_id: UUID, user_id: UUID, grant_id: UUID | None) -> Row:
        async with self._database.tenant(tenant_id) as work:
            row = await work.fetchrow(_PERSON, user_id, grant_id)
        if row is None:
            raise _build_invalid_credentials()
        return row

    def _build_principal(
        self,
        tenant_id: UUID,
        user_id: UUID,
        row: Row,
        scopes: frozenset[str],
        authenticated_at: datetime | None,
        by: Literal["session", "token", "oauth"],
        credential_id: str,
    ) -> Principal:
        administers = row["system_role"] == ADMIN_SYSTEM_ROLE
        return Principal(
            tenant_id=tenant_id,
            user_id=user_id,
            email=row["email"],
            system_role=row["system_role"],
            scopes=scopes & (MCP_SCOPES | ADMIN_SCOPES if administers else MCP_SCOPES),
            authenticated_at=authenticated_at,
            authentication_method=by,
            credential_id=credential_id,
            client=row["client_id"] or "",
            operator=administers and bool(self._operator_tenant) and row["slug"] == self._operator_tenant,
        )


# A grant says when the person had signed in who agreed to it, however late they did and its tokens are used; nobody has
# signed in for a machine or by an assertion.
_PERSON = """SELECT u.email, u.system_role, t.slug, g.client_id, g.authenticated_at
    FROM core.users u JOIN core.tenants t ON t.tenant_id = u.tenant_id
    LEFT JOIN auth.grants g ON g.tenant_id = u.tenant_id AND g.id = $3 AND g.kind = 'code'
    WHERE u.tenant_id = $1 AND u.id = $2 AND u.status = 'active' AND t.status = 'active'"""


def _is_credential_form(token: str) -> bool:
    """Whether it may be an API token or an access token; noise costs no query and no audit record of its own."""
    return parse_token(token) is not None or is_jwt(token)


def _get_grant_id(credential: Credential) -> UUID | None:
    if credential.kind != "oauth":
        return None
    try:
        return UUID(credential.id)
    except ValueError:
        return None


def _restrict_to_reading(scopes: frozenset[str]) -> frozenset[str]:
    return frozenset(_READ_SCOPE_BY_WRITE.get(scope, scope) for scope in scopes)


def _build_invalid_credentials() -> AuthenticationRequired:
    return AuthenticationRequired("this credential does not count, or does not any more: sign in again")
