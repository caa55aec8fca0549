"""Which of the scopes that a client asks for it gets (RFC 6749 §3.3). If it is less, the answer says so."""

from broker.authorization_server.errors import OAuthError
from core.errors import Invalid
from core.scopes import ADMIN_SCOPES, MCP_SCOPES, covers, parse_scopes

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
    kept = frozenset(scope for scope in scopes or MCP_SCOPES if covers(allowed, scope))
    if not kept:
        raise OAuthError("invalid_scope", "this client is not registered for these scopes")
    return kept


def restrict_to_role(scopes: frozenset[str], system_role: str) -> frozenset[str]:
    """Return the scopes that the user may grant: admin scopes only while they are an administrator.

    Raises:
        OAuthError: invalid_scope, nothing is left.
    """
    kept = scopes if system_role == "admin" else scopes - ADMIN_SCOPES
    if not kept:
        raise OAuthError("invalid_scope", "only an administrator can grant these scopes")
    return kept


def narrow_scopes(granted: frozenset[str], wanted: frozenset[str] | None) -> frozenset[str]:
    """The scopes of a refreshed access token: all that was granted, or less, and never more (RFC 6749 §6).

    Raises:
        OAuthError: invalid_scope.
    """
    if wanted is None:
        return granted
    if not wanted <= granted:
        raise OAuthError(
            "invalid_scope", "not all of these scopes were granted; start a new authorization to request them"
        )
    return wanted
