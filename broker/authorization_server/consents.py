"""Scopes that a client gets (RFC 6749 §3.3), and a person's consent to them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from broker.authorization_server.errors import OAuthError
from broker.authorization_server.redirect_uris import is_loopback
from core.audit.event import AuditEventKind
from core.db import Database, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.errors import Invalid
from core.scopes import ADMIN_SCOPES, MCP_SCOPES, covers, format_scopes, parse_scopes

UNVERIFIED_CONSENT_LIFETIME = timedelta(days=30)
_PORT = re.compile(r"^(http://[^/:\[]+|http://\[::1\]):[0-9]+")


@dataclass(frozen=True, slots=True)
class ConsentRequest:
    """The subject of a consent. `sure`: nobody else can take the client's place, see :func:`is_verified_client`."""

    tenant_id: UUID
    user_id: UUID
    client_id: str
    redirect_uri: str
    scopes: frozenset[str]
    client_verified: bool


@dataclass(frozen=True, slots=True)
class ConsentStatus:
    """Coverage of a request by stored consents, and whether the person has ever approved the client."""

    covers_request: bool
    has_prior_consent: bool


class Consents:
    """Store of the consents of all tenants, behind the broker's own database role."""

    def __init__(self, database: Database, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def get_status(self, consent_request: ConsentRequest) -> ConsentStatus:
        """Return the person's consent status for the request.

        It was given if they have agreed to exactly this client and redirect URI, and to at least these scopes. Of a
        client that another could pass itself off as, that counts for 30 days, and never for administration; of any
        other, until it is withdrawn.
        """
        async with self._database.tenant(consent_request.tenant_id) as work:
            rows = await work.fetch(_FIND, consent_request.user_id, consent_request.client_id)
        place, now = normalize_redirect_uri(consent_request.redirect_uri), self._clock()
        unsure_life = timedelta() if consent_request.scopes & ADMIN_SCOPES else UNVERIFIED_CONSENT_LIFETIME
        agreed = frozenset[str]().union(
            *(
                row["scopes"]
                for row in rows
                if row["redirect_uri"] == place
                and (consent_request.client_verified or now - row["given_at"] < unsure_life)
            )
        )
        return ConsentStatus(all(covers(agreed, scope) for scope in consent_request.scopes), bool(rows))

    async def grant_consent(self, actor: Actor, consent_request: ConsentRequest) -> None:
        """Store the person's consent in place of an earlier one."""
        place, now = normalize_redirect_uri(consent_request.redirect_uri), self._clock()
        async with self._database.tenant(consent_request.tenant_id) as work:
            await work.execute(
                _GIVE, consent_request.user_id, consent_request.client_id, place, sorted(consent_request.scopes), now
            )
            detail = {
                "client": consent_request.client_id,
                "redirect_uri": place,
                "scopes": format_scopes(consent_request.scopes),
            }
            await audit_change(work, actor, AuditEventKind.CONSENT_GIVEN, **detail)


async def withdraw_consents(work: UnitOfWork, user_id: UUID, client_id: str) -> None:
    """Forget all that a person has agreed to for a client: it has to ask again. A code that it keeps counts no more."""
    await work.execute(_WITHDRAW, user_id, client_id)
    await work.execute(_FORGET_CODES, user_id, client_id)


def is_verified_client(client_kind: str, redirect_uri: str) -> bool:
    """Check whether no other party can impersonate the client.

    True where its host is known or an administrator registered it, and the response goes to a host that is
    authenticated by TLS (RFC 8252 §8.6).
    """
    return client_kind in ("registered", "metadata") and redirect_uri.startswith("https://")


def normalize_redirect_uri(redirect_uri: str) -> str:
    """The redirect URI that a consent is for: as it is, but for a loopback port, which is another one each time."""
    return _PORT.sub(r"\1", redirect_uri) if is_loopback(redirect_uri) else redirect_uri


_FIND = """SELECT redirect_uri, scopes, given_at FROM auth.consents
    WHERE tenant_id = $1 AND user_id = $2 AND client_id = $3"""
_GIVE = """INSERT INTO auth.consents (tenant_id, user_id, client_id, redirect_uri, scopes, given_at)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (tenant_id, user_id, client_id, redirect_uri) DO UPDATE SET scopes = $5, given_at = $6"""
_WITHDRAW = "DELETE FROM auth.consents WHERE tenant_id = $1 AND user_id = $2 AND client_id = $3"
# One that is being used at this moment was used before; the lists show what comes of it.
_FORGET_CODES = """DELETE FROM auth.codes WHERE tenant_id = $1 AND hash IN (
    SELECT hash FROM auth.codes WHERE tenant_id = $1 AND user_id = $2 AND client_id = $3 AND consumed_at IS NULL
    FOR UPDATE SKIP LOCKED)"""


IGNORED_SCOPE = "offline_access"
"""Asks for a refresh token, which every client gets that came by a code."""


def parse_scope_parameter(text: str | None) -> frozenset[str] | None:
    """The scopes of a parameter; None if it names none.

    Raises:
        OAuthError: invalid_scope.
    """
    words = " ".join(word for word in (text or "")[:1000].split(" ") if word != IGNORED_SCOPE)
    try:
        return parse_scopes(words) or None
    except Invalid:
        raise OAuthError("invalid_scope", "unknown scope; scopes_supported lists the valid ones") from None


def restrict_to_client(scopes: frozenset[str] | None, allowed: frozenset[str]) -> frozenset[str]:
    """Return the requested scopes that the client may request; without a request, all of its scopes but the admin ones.

    Raises:
        OAuthError: invalid_scope, nothing is left.
    """
    restricted = frozenset(scope for scope in scopes or MCP_SCOPES if covers(allowed, scope))
    if not restricted:
        raise OAuthError("invalid_scope", "this client is not registered for these scopes")
    return restricted


def restrict_to_role(scopes: frozenset[str], system_role: str) -> frozenset[str]:
    """Return the scopes that the user may grant: admin scopes only while they are an administrator.

    Raises:
        OAuthError: invalid_scope, nothing is left.
    """
    allowed = scopes if system_role == "admin" else scopes - ADMIN_SCOPES
    if not allowed:
        raise OAuthError("invalid_scope", "only an administrator can grant these scopes")
    return allowed


def narrow_scopes(granted: frozenset[str], requested: frozenset[str] | None) -> frozenset[str]:
    """The scopes of a refreshed access token: all that was granted, or less, and never more (RFC 6749 §6).

    Raises:
        OAuthError: invalid_scope.
    """
    if requested is None:
        return granted
    if not requested <= granted:
        raise OAuthError(
            "invalid_scope", "not all of these scopes were granted; start a new authorization to request them"
        )
    return requested
