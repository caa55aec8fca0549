"""Records a failure of our OAuth client that a code exchange shows, as a refresh records it."""

from broker.connections.oauth_client_store import SealedOAuthClient
from broker.providers import error_reasons
from core.db import UnitOfWork

CLIENT_ERRORS = frozenset({error_reasons.CLIENT_REFUSED, error_reasons.SECRET_EXPIRED})
"""What no person and no code of theirs can bring about."""

MISCONFIGURED = "misconfigured"


async def mark_client_refused(work: UnitOfWork, client: SealedOAuthClient, reason: str) -> None:
    """Note that the vendor does not take the client, unless it was changed meanwhile; its administrators are told once.
    Refreshes are not held up: one of them tries it next, and may find it good."""
    await work.execute(_REFUSED, client.id, client.version, reason)


async def mark_client_working(work: UnitOfWork, client: SealedOAuthClient) -> None:
    """Note that the vendor takes it, unless it was changed meanwhile."""
    await work.execute(_WORKS, client.id, client.version)


_REFUSED = """UPDATE vault.oauth_clients SET state = 'misconfigured', cause = left($4, 40), updated_at = vault.clock()
    WHERE tenant_id = $1 AND id = $2 AND version = $3 AND state = 'ok'"""
_WORKS = """UPDATE vault.oauth_clients SET state = 'ok', cause = '', breaker_until = NULL, breaker_failures = 0,
    updated_at = vault.clock() WHERE tenant_id = $1 AND id = $2 AND version = $3 AND state = 'misconfigured'"""
