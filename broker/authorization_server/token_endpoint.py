"""Token endpoint (RFC 6749 §3.2) and revocation endpoint (RFC 7009), without HTTP."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID, uuid4

from broker.authorization_server.authorization_codes import CodeProof, is_verifier
from broker.authorization_server.authorization_request import drop_empty_parameters, validate_resource
from broker.authorization_server.client_registry import (
    AUTHORIZATION_CODE,
    CLIENT_CREDENTIALS,
    JWT_BEARER,
    REFRESH_TOKEN,
    Client,
    get_machine_user,
)
from broker.authorization_server.consents import parse_scope_parameter, restrict_to_client
from broker.authorization_server.errors import OAuthError
from broker.authorization_server.grant_records import ClientGrant
from broker.authorization_server.grants import Grants
from core.scopes import MCP_SCOPES, covers, format_scopes
from core.secret import Secret

MAX_ASSERTION_LENGTH = 16_384
MAX_REDIRECT_URI_LENGTH = 2_000

Form = Mapping[str, str]


class ClientAuthenticator(Protocol):
    """Tells which client a request comes from."""

    async def authenticate(self, headers: Mapping[str, str], form: Form) -> Client: ...


class UsageRecorder(Protocol):
    """Notes that a client has got tokens."""

    async def record_use(self, client: Client) -> None: ...


class TokenIssuer(Protocol):
    """Makes access tokens: the token, and the seconds that it lives."""

    async def mint(self, grant: ClientGrant, now: datetime) -> tuple[Secret, int]: ...


class AssertionSubject(Protocol):
    """Subject of a verified assertion; `resource` is the audience that it was issued for."""

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


class AssertionVerifier(Protocol):
    """Checks an identity assertion of a tenant's identity provider (ID-JAG)."""

    async def verify(self, assertion: str, client: Client) -> AssertionSubject: ...


class TokenEndpoint:
    """Gives out tokens for our one `resource`."""

    def __init__(
        self,
        *,
        authentication: ClientAuthenticator,
        clients: UsageRecorder,
        grants: Grants,
        access_tokens: TokenIssuer,
        assertions: AssertionVerifier,
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
            AUTHORIZATION_CODE: self._redeem_code,
            REFRESH_TOKEN: self._refresh_grant,
            CLIENT_CREDENTIALS: self._grant_client_credentials,
            JWT_BEARER: self._grant_by_assertion,
        }

    async def handle_request(self, headers: Mapping[str, str], form: Form) -> Mapping[str, Any]:
        """The answer to a token request (RFC 6749 §5.1).

        Raises:
            OAuthError: for the client to read.
            core.errors.MCPistError: the database, or somebody else's server, is away or asked too often.
        """
        parameters = drop_empty_parameters(form)
        client = await self._authentication.authenticate(headers, parameters)
        kind = _require_parameter(parameters, "grant_type")
        if kind not in self._kinds:
            raise OAuthError(
                "unsupported_grant_type", "unsupported grant_type; grant_types_supported lists the valid ones"
            )
        # Whoever may have codes gets refresh tokens: many clients register for the one and use both.
        if (AUTHORIZATION_CODE if kind == REFRESH_TOKEN else kind) not in client.grant_types:
            raise OAuthError("unauthorized_client", f"this client is not registered for {kind}")
        validate_resource(parameters.get("resource"), self._resource)
        return await self._kinds[kind](client, parameters)

    async def _redeem_code(self, client: Client, form: Form) -> dict[str, Any]:
        code, verifier = Secret(_require_parameter(form, "code")), _require_parameter(form, "code_verifier")
        if not is_verifier(verifier):
            raise OAuthError(
                "invalid_request", "code_verifier must be 43 to 128 characters of A-Z, a-z, 0-9, -, ., _ and ~"
            )
        redirect_uri = form.get("redirect_uri")
        if redirect_uri is not None and len(redirect_uri) > MAX_REDIRECT_URI_LENGTH:
            raise OAuthError("invalid_request", "redirect_uri is too long")
        issued = await self._grants.redeem_code(code, CodeProof(client.id, redirect_uri, verifier))
        await self._clients.record_use(client)
        return {**await self._issue_access_token(issued.grant), "refresh_token": issued.refresh_token.reveal()}

    async def _refresh_grant(self, client: Client, form: Form) -> dict[str, Any]:
        token = Secret(_require_parameter(form, "refresh_token"))
        issued = await self._grants.refresh(token, client.id, parse_scope_parameter(form.get("scope")))
        await self._clients.record_use(client)
        return {**await self._issue_access_token(issued.grant), "refresh_token": issued.refresh_token.reveal()}

    async def _grant_client_credentials(self, client: Client, form: Form) -> dict[str, Any]:
        tenant_id, user_id = get_machine_user(client)
        scopes = restrict_to_client(parse_scope_parameter(form.get("scope")), client.scopes)
        return await self._issue_direct_grant(CLIENT_CREDENTIALS, client, tenant_id, user_id, scopes)

    async def _grant_by_assertion(self, client: Client, form: Form) -> dict[str, Any]:
        assertion = _require_parameter(form, "assertion")
        if len(assertion) > MAX_ASSERTION_LENGTH:
            raise OAuthError("invalid_grant", f"the assertion is longer than {MAX_ASSERTION_LENGTH} characters")
        verified = await self._assertions.verify(assertion, client)
        validate_resource(verified.resource, self._resource)
        issuer_scopes = verified.scopes or MCP_SCOPES
        requested_scopes = restrict_to_client(parse_scope_parameter(form.get("scope")) or issuer_scopes, client.scopes)
        scopes = frozenset(scope for scope in requested_scopes if covers(issuer_scopes, scope))
        if not scopes:
            raise OAuthError("invalid_scope", "the assertion does not allow the requested scopes")
        return await self._issue_direct_grant(
            "id_jag", client, verified.tenant_id, verified.user_id, scopes, verified.issuer
        )

    async def _issue_direct_grant(
        self, kind: str, client: Client, tenant_id: UUID, user_id: UUID, scopes: frozenset[str], issuer: str = ""
    ) -> dict[str, Any]:
        name = (client.id, client.name)
        grant = ClientGrant(tenant_id, user_id, uuid4(), kind, *name, scopes, self._resource, issuer)
        return await self._issue_access_token(await self._grants.get_or_create_grant(grant))

    async def _issue_access_token(self, grant: ClientGrant) -> dict[str, Any]:
        token, seconds = await self._access_tokens.mint(grant, self._clock())
        return {
            "access_token": token.reveal(),
            "token_type": "Bearer",
            "expires_in": seconds,
            "scope": format_scopes(grant.scopes),
        }


def _require_parameter(form: Form, name: str) -> str:
    value = form.get(name)
    if value is None:
        raise OAuthError("invalid_request", f"{name} is missing")
    return value


MAX_TOKEN_LENGTH = 8_192


class TokenLookup(Protocol):
    """Tells which grant an access token hangs on."""

    async def find_grant(self, token: Secret) -> tuple[UUID, UUID] | None: ...


class TokenRevocation:
    """Ends grants for their clients."""

    def __init__(self, authentication: ClientAuthenticator, grants: Grants, access_tokens: TokenLookup) -> None:
        self._authentication = authentication
        self._grants = grants
        self._access_tokens = access_tokens

    async def revoke(self, headers: Mapping[str, str], form: Mapping[str, str]) -> bool:
        """End the grant of a token: all tokens of it die. Whether there was one; the client is told nothing of that.

        A token that is not this client's, or no token at all, is no error (RFC 7009 §2.2).

        Raises:
            OAuthError: invalid_client, or invalid_request if there is no token.
        """
        parameters = drop_empty_parameters(form)
        client = await self._authentication.authenticate(headers, parameters)
        token = parameters.get("token")
        if token is None:
            raise OAuthError("invalid_request", "token is missing")
        grant = await self._find_grant(Secret(token)) if len(token) <= MAX_TOKEN_LENGTH else None
        return grant is not None and await self._grants.revoke_by_client(*grant, client.id)

    async def _find_grant(self, token: Secret) -> tuple[UUID, UUID] | None:
        return await self._grants.find_grant(token) or await self._access_tokens.find_grant(token)
