"""Enterprise-managed authorization: an identity provider that the tenant trusts says who is there and what for
(draft-ietf-oauth-identity-assertion-authz-grant, MCP extension enterprise-managed-authorization).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, cast
from uuid import UUID

from broker.authorization_server.client_authentication import ReplayCache
from broker.authorization_server.client_keys import verify_with_jwks
from broker.authorization_server.client_registry import JWT_BEARER, Client
from broker.authorization_server.errors import OAuthError
from broker.authorization_server.jose import (
    InvalidToken,
    SignedJwt,
    check_times,
    parse_jwt,
    read_text_claim,
    read_time_claim,
)
from broker.authorization_server.jwks_cache import JwksCache
from broker.authorization_server.trusted_issuers import MAX_ISSUER_LENGTH, TrustedIssuers
from broker.identity.admission import AdmissionDenied
from broker.identity.providers.identity_provider import MAX_NAME_LENGTH, MAX_SUBJECT_LENGTH, VerifiedAccount
from core.email_address import normalize_address
from core.errors import Invalid
from core.scopes import MCP_SCOPES

ID_JAG_TYPE = "oauth-id-jag+jwt"
MAX_ASSERTION_LIFETIME = 3_600.0
LEEWAY = 30.0


@dataclass(frozen=True, slots=True)
class VerifiedAssertion:
    """Subject and scopes of a verified assertion; admin scopes are never among them."""

    tenant_id: UUID
    user_id: UUID
    scopes: frozenset[str]
    resource: str
    issuer: str


class SubjectResolver(Protocol):
    """Finds the user that an account is in a tenant."""

    async def admit(self, tenant_id: UUID, account: VerifiedAccount) -> UUID | AdmissionDenied: ...


class IdentityAssertionVerifier:
    """Checks assertions for `issuer`, our own name, and `resource`."""

    def __init__(
        self,
        trusted: TrustedIssuers,
        published_keys: JwksCache,
        admission: SubjectResolver,
        single_use: ReplayCache,
        *,
        issuer: str,
        resource: str,
        clock: Callable[[], datetime],
    ) -> None:
        self._trusted = trusted
        self._published_keys = published_keys
        self._admission = admission
        self._single_use = single_use
        self._issuer = issuer
        self._resource = resource
        self._clock = clock

    async def verify(self, assertion: str, client: Client) -> VerifiedAssertion:
        """Verify an assertion and return its subject.

        `client` is authenticated; the assertion is valid only in the tenant that registered it.

        Raises:
            OAuthError: invalid_grant, with what is wrong; unauthorized_client; invalid_scope.
            core.errors.Unavailable: the database or the issuer's keys are away.
        """
        if client.tenant_id is None or client.auth_method == "none" or JWT_BEARER not in client.grant_types:
            raise OAuthError("unauthorized_client", "this client is not registered for identity assertions")
        try:
            issuer, claims = await self._verify_signature(assertion, client.tenant_id)
            jti, ends = self._check_claims(claims, client.id)
            account = _build_account(issuer, claims)
            scopes = _parse_scopes(claims)
        except InvalidToken as error:
            raise OAuthError("invalid_grant", f"invalid assertion: {error.cause}") from None
        if not await self._single_use.take("id_jag", f"{client.tenant_id} {issuer} {jti}", ends):
            raise OAuthError(
                "invalid_grant", "assertion was already used; request a new one from the identity provider"
            )
        user_id = await self._admission.admit(client.tenant_id, account)
        if isinstance(user_id, AdmissionDenied):
            raise OAuthError("invalid_grant", f"the assertion's subject is not admitted: {user_id.reason}")
        return VerifiedAssertion(client.tenant_id, user_id, scopes, self._resource, issuer)

    async def _verify_signature(self, assertion: str, tenant_id: UUID) -> tuple[str, Mapping[str, Any]]:
        """The issuer, which the tenant trusts, and the claims that it has signed."""
        token = parse_jwt(assertion)
        if _normalize_type(token) != ID_JAG_TYPE:
            raise InvalidToken("typ")
        issuer = _read_printable(token.unverified_claims, "iss", MAX_ISSUER_LENGTH)
        jwks_uri = await self._trusted.find_jwks_uri(tenant_id, issuer)
        if jwks_uri is None:
            raise InvalidToken("iss")
        return issuer, await verify_with_jwks(token, self._published_keys.get_key_set(jwks_uri))

    def _check_claims(self, claims: Mapping[str, Any], client_id: str) -> tuple[str, datetime]:
        """The assertion's id and end."""
        now = self._clock().timestamp()
        for name, right in (("aud", self._issuer), ("client_id", client_id), ("resource", self._resource)):
            if claims.get(name) != right and (name == "client_id" or claims.get(name) != [right]):
                raise InvalidToken(name)
        if read_time_claim(claims, "iat") is None:
            raise InvalidToken("iat")
        ends = check_times(claims, now, leeway=LEEWAY)
        if ends > now + MAX_ASSERTION_LIFETIME + LEEWAY:
            raise InvalidToken("exp")
        return read_text_claim(claims, "jti", most=256), datetime.fromtimestamp(ends, UTC)


def _normalize_type(token: SignedJwt) -> str:
    """RFC 7515 §4.1.9: the part before a single slash may be left out, and letters count in either case."""
    return token.typ.lower().removeprefix("application/")


def _build_account(issuer: str, claims: Mapping[str, Any]) -> VerifiedAccount:
    """The account at the issuer. Its address counts only where the issuer says itself that it has been verified."""
    email, name = "", claims.get("name")
    if claims.get("email_verified") is True:
        try:
            email = normalize_address(read_text_claim(claims, "email", most=320))
        except Invalid:
            raise InvalidToken("email") from None
    shown = "".join(filter(str.isprintable, name[:MAX_NAME_LENGTH])) if isinstance(name, str) else ""
    return VerifiedAccount(issuer, _read_printable(claims, "sub", MAX_SUBJECT_LENGTH), email, bool(email), shown)


def _read_printable(claims: Mapping[str, Any], name: str, most: int) -> str:
    """A text without the characters that no database takes."""
    text = read_text_claim(claims, name, most=most)
    if not text.isprintable():
        raise InvalidToken(name)
    return text


def _parse_scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    """Those of our scopes that the issuer allows; all of MCP's where it says nothing of scopes."""
    claim = cast("object", claims.get("scope"))
    if claim is None:
        return MCP_SCOPES
    if not isinstance(claim, str):
        raise InvalidToken("scope")
    scopes = MCP_SCOPES.intersection(claim.split(" "))
    if not scopes:
        raise OAuthError("invalid_scope", "the assertion allows none of this server's scopes")
    return scopes
