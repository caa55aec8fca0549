"""The token endpoint (RFC 6749 §3.2): one function for each kind of grant. It knows no HTTP but a form and headers."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID, uuid4

from broker.oauth.authorization import checked_resource, said
from broker.oauth.clients import AUTHORIZATION_CODE, CLIENT_CREDENTIALS, JWT_BEARER, REFRESH_TOKEN, Client, machine_user
from broker.oauth.codes import Proof, is_verifier
from broker.oauth.errors import OAuthError
from broker.oauth.grant_records import Grant
from broker.oauth.grants import Grants
from broker.oauth.scope_rules import asked, of_client
from core.scopes import MCP, covers, shown
from core.secret import Secret

MOST_ASSERTION = 16_384
MOST_URI = 2_000

Form = Mapping[str, str]


class AuthenticatesClients(Protocol):
    """Tells which client a request comes from."""

    async def authenticate(self, headers: Mapping[str, str], form: Form) -> Client: ...


class RemembersUse(Protocol):
    """Notes that a client has got tokens."""

    async def used(self, client: Client) -> None: ...


class MintsTokens(Protocol):
    """Makes access tokens: the token, and the seconds that it lives."""

    async def mint(self, grant: Grant, now: datetime) -> tuple[Secret, int]: ...


class Asserted(Protocol):
    """Whom an assertion speaks for; `resource` is the one that it is for."""

    @property
    def tenant_id(self) -> UUID: ...
    @property
    def user_id(self) -> UUID: ...
    @property
    def scopes(self) -> frozenset[str]: ...
    @property
    def resource(self) -> str: ...
    @property
    def issuer(self) -> str: ...


class VerifiesAssertions(Protocol):
    """Checks an identity assertion of a tenant's identity provider (ID-JAG)."""

    async def verify(self, assertion: str, client: Client) -> Asserted: ...


class TokenEndpoint:
    """Gives out tokens for our one `resource`."""

    def __init__(
        self,
        *,
        authentication: AuthenticatesClients,
        clients: RemembersUse,
        grants: Grants,
        access_tokens: MintsTokens,
        assertions: VerifiesAssertions,
        resource: str,
        clock: Callable[[], datetime],
    ) -> None:
        self._authentication = authentication
        self._clients = clients
        self._grants = grants
        self._access_tokens = access_tokens
        self._assertions = assertions
        self._resource = resource
        self._clock = clock
        self._kinds: dict[str, Callable[[Client, Form], Awaitable[dict[str, Any]]]] = {
            AUTHORIZATION_CODE: self._code,
            REFRESH_TOKEN: self._refresh,
            CLIENT_CREDENTIALS: self._machine,
            JWT_BEARER: self._assertion,
        }

    async def answer(self, headers: Mapping[str, str], form: Form) -> Mapping[str, Any]:
        """The answer to a token request (RFC 6749 §5.1).

        Raises:
            OAuthError: for the client to read.
            core.errors.MCPistError: the database, or somebody else's server, is away or asked too often.
        """
        given = said(form)
        client = await self._authentication.authenticate(headers, given)
        kind = _needed(given, "grant_type")
        if kind not in self._kinds:
            raise OAuthError("unsupported_grant_type", "there is no such grant_type here; the metadata lists them")
        # Whoever may have codes gets refresh tokens: many clients register for the one and use both.
        if (AUTHORIZATION_CODE if kind == REFRESH_TOKEN else kind) not in client.grant_types:
            raise OAuthError("unauthorized_client", f"this client is not registered for {kind}")
        checked_resource(given.get("resource"), self._resource)
        return await self._kinds[kind](client, given)

    async def _code(self, client: Client, form: Form) -> dict[str, Any]:
        code, verifier = Secret(_needed(form, "code")), _needed(form, "code_verifier")
        if not is_verifier(verifier):
            raise OAuthError("invalid_request", "code_verifier has 43 to 128 of A-Z, a-z, 0-9, -, ., _ and ~")
        redirect_uri = form.get("redirect_uri")
        if redirect_uri is not None and len(redirect_uri) > MOST_URI:
            raise OAuthError("invalid_request", "redirect_uri is too long")
        issued = await self._grants.redeem(code, Proof(client.id, redirect_uri, verifier))
        await self._clients.used(client)
        return {**await self._minted(issued.grant), "refresh_token": issued.refresh.reveal()}

    async def _refresh(self, client: Client, form: Form) -> dict[str, Any]:
        token = Secret(_needed(form, "refresh_token"))
        issued = await self._grants.refresh(token, client.id, asked(form.get("scope")))
        await self._clients.used(client)
        return {**await self._minted(issued.grant), "refresh_token": issued.refresh.reveal()}

    async def _machine(self, client: Client, form: Form) -> dict[str, Any]:
        tenant_id, user_id = machine_user(client)
        scopes = of_client(asked(form.get("scope")), client.scopes)
        return await self._direct(CLIENT_CREDENTIALS, client, tenant_id, user_id, scopes)

    async def _assertion(self, client: Client, form: Form) -> dict[str, Any]:
        assertion = _needed(form, "assertion")
        if len(assertion) > MOST_ASSERTION:
            raise OAuthError("invalid_grant", f"the assertion is longer than {MOST_ASSERTION} characters")
        found = await self._assertions.verify(assertion, client)
        checked_resource(found.resource, self._resource)
        said_by_issuer = found.scopes or MCP
        wanted = of_client(asked(form.get("scope")) or said_by_issuer, client.scopes)
        scopes = frozenset(scope for scope in wanted if covers(said_by_issuer, scope))
        if not scopes:
            raise OAuthError("invalid_scope", "the assertion does not allow these scopes")
        return await self._direct("id_jag", client, found.tenant_id, found.user_id, scopes, found.issuer)

    async def _direct(
        self, kind: str, client: Client, tenant_id: UUID, user_id: UUID, scopes: frozenset[str], issuer: str = ""
    ) -> dict[str, Any]:
        name = (client.id, client.name)
        grant = Grant(tenant_id, user_id, uuid4(), kind, *name, scopes, self._resource, issuer)
        return await self._minted(await self._grants.direct(grant))

    async def _minted(self, grant: Grant) -> dict[str, Any]:
        token, seconds = await self._access_tokens.mint(grant, self._clock())
        return {
            "access_token": token.reveal(),
            "token_type": "Bearer",
            "expires_in": seconds,
            "scope": shown(grant.scopes),
        }


def _needed(form: Form, name: str) -> str:
    value = form.get(name)
    if value is None:
        raise OAuthError("invalid_request", f"{name} is missing")
    return value
