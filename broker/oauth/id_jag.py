"""Enterprise-managed authorization: an identity provider that the tenant trusts says who is there and what for
(draft-ietf-oauth-identity-assertion-authz-grant, MCP extension enterprise-managed-authorization).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, cast
from uuid import UUID

from broker.identity.admission import NotAdmitted
from broker.identity.providers.provider import MOST_NAME, MOST_SUBJECT, VerifiedAccount
from broker.oauth.client_keys import PublishedKeys
from broker.oauth.clients import JWT_BEARER, Client
from broker.oauth.errors import OAuthError
from broker.oauth.jose import NotGenuine, SignedJwt, check_times, moment, read, text
from broker.oauth.single_use import SingleUse
from broker.oauth.trusted_issuers import LONGEST_ISSUER, TrustedIssuers
from core.email_address import normal_address
from core.errors import Invalid
from core.scopes import MCP

TYPE = "oauth-id-jag+jwt"
LONGEST_LIFE = 3_600.0
LEEWAY = 30.0


@dataclass(frozen=True, slots=True)
class Asserted:
    """Whom an assertion speaks for, and what it allows: never administration."""

    tenant_id: UUID
    user_id: UUID
    scopes: frozenset[str]
    resource: str
    issuer: str


class Admits(Protocol):
    """Finds the user that an account is in a tenant."""

    async def admit(self, tenant_id: UUID, account: VerifiedAccount) -> UUID | NotAdmitted: ...


class IdentityAssertions:
    """Checks assertions for `issuer`, our own name, and `resource`."""

    def __init__(
        self,
        trusted: TrustedIssuers,
        published_keys: PublishedKeys,
        admission: Admits,
        single_use: SingleUse,
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

    async def verify(self, assertion: str, client: Client) -> Asserted:
        """Whom the assertion speaks for. `client` has proved who it is; only the tenant that registered it is meant.

        Raises:
            OAuthError: invalid_grant, with what is wrong; unauthorized_client; invalid_scope.
            core.errors.Unavailable: the database or the issuer's keys are away.
        """
        if client.tenant_id is None or client.auth_method == "none" or JWT_BEARER not in client.grant_types:
            raise OAuthError("unauthorized_client", "this client is not registered for identity assertions")
        try:
            issuer, claims = await self._genuine(assertion, client.tenant_id)
            jti, ends = self._checked(claims, client.id)
            account = _account(issuer, claims)
            scopes = _scopes(claims)
        except NotGenuine as error:
            raise OAuthError("invalid_grant", f"the assertion does not count: {error.cause}") from None
        if not await self._single_use.take("id_jag", f"{client.tenant_id} {issuer} {jti}", ends):
            raise OAuthError("invalid_grant", "the assertion was used before; ask the identity provider for a new one")
        user_id = await self._admission.admit(client.tenant_id, account)
        if isinstance(user_id, NotAdmitted):
            raise OAuthError("invalid_grant", f"the assertion's subject does not get in here: {user_id.reason}")
        return Asserted(client.tenant_id, user_id, scopes, self._resource, issuer)

    async def _genuine(self, assertion: str, tenant_id: UUID) -> tuple[str, Mapping[str, Any]]:
        """The issuer, which the tenant trusts, and the claims that it has signed."""
        token = read(assertion)
        if _type(token) != TYPE:
            raise NotGenuine("typ")
        issuer = _readable(token.unverified, "iss", LONGEST_ISSUER)
        jwks_uri = await self._trusted.keys_of(tenant_id, issuer)
        if jwks_uri is None:
            raise NotGenuine("iss")
        return issuer, await self._published_keys.claims(token, jwks_uri)

    def _checked(self, claims: Mapping[str, Any], client_id: str) -> tuple[str, datetime]:
        """The assertion's id and end."""
        now = self._clock().timestamp()
        for name, right in (("aud", self._issuer), ("client_id", client_id), ("resource", self._resource)):
            if claims.get(name) != right and (name == "client_id" or claims.get(name) != [right]):
                raise NotGenuine(name)
        if moment(claims, "iat") is None:
            raise NotGenuine("iat")
        ends = check_times(claims, now, leeway=LEEWAY)
        if ends > now + LONGEST_LIFE + LEEWAY:
            raise NotGenuine("exp")
        return text(claims, "jti", most=256), datetime.fromtimestamp(ends, UTC)


def _type(token: SignedJwt) -> str:
    """RFC 7515 §4.1.9: the part before a single slash may be left out, and letters count in either case."""
    return token.typ.lower().removeprefix("application/")


def _account(issuer: str, claims: Mapping[str, Any]) -> VerifiedAccount:
    """The account at the issuer. Its address counts only where the issuer says itself that it has been verified."""
    email, name = "", claims.get("name")
    if claims.get("email_verified") is True:
        try:
            email = normal_address(text(claims, "email", most=320))
        except Invalid:
            raise NotGenuine("email") from None
    shown = "".join(filter(str.isprintable, name[:MOST_NAME])) if isinstance(name, str) else ""
    return VerifiedAccount(issuer, _readable(claims, "sub", MOST_SUBJECT), email, bool(email), shown)


def _readable(claims: Mapping[str, Any], name: str, most: int) -> str:
    """A text without the characters that no database takes."""
    found = text(claims, name, most=most)
    if not found.isprintable():
        raise NotGenuine(name)
    return found


def _scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    """Those of our scopes that the issuer allows; all of MCP's where it says nothing of scopes."""
    told = cast("object", claims.get("scope"))
    if told is None:
        return MCP
    if not isinstance(told, str):
        raise NotGenuine("scope")
    scopes = MCP.intersection(told.split(" "))
    if not scopes:
        raise OAuthError("invalid_scope", "the assertion allows none of our scopes")
    return scopes
