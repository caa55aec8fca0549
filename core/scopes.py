"""Scopes: what a credential may do with what exists for its user (roles decide what exists)."""

from collections.abc import Mapping
from types import MappingProxyType

from core.errors import Invalid

READ = "mcp:read"
WRITE = "mcp:write"
ADMIN_READ = "admin:read"
ADMIN_WRITE = "admin:write"

MCP_SCOPES = frozenset({READ, WRITE})
ADMIN_SCOPES = frozenset({ADMIN_READ, ADMIN_WRITE})
ALL_SCOPES = MCP_SCOPES | ADMIN_SCOPES
MAX_SCOPES = 10

_COVERED_BY: Mapping[str, str] = MappingProxyType({READ: WRITE, ADMIN_READ: ADMIN_WRITE})


def covers(granted: frozenset[str], needed: str) -> bool:
    """Check whether `granted` covers the scope `needed`; writing covers reading."""
    return needed in granted or _COVERED_BY.get(needed) in granted


def parse_scopes(text: str | None) -> frozenset[str]:
    """Parse the scopes of a text in which single spaces separate them (RFC 6749 §3.3); none for nothing.

    Raises:
        Invalid: a scope is unknown, or there are more than ten.
    """
    if not text:
        return frozenset()
    scopes = text.split(" ", MAX_SCOPES)
    if len(scopes) > MAX_SCOPES or not ALL_SCOPES.issuperset(scopes):
        raise Invalid(f"scopes are any of {', '.join(sorted(ALL_SCOPES))}, separated by single spaces")
    return frozenset(scopes)


def format_scopes(scopes: frozenset[str]) -> str:
    """Scopes as one text, always in the same order."""
    return " ".join(sorted(scopes))
