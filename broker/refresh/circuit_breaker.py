"""Circuit breaker of an OAuth client: failures that say nothing about the account release it for a later attempt."""

import logging

from broker.connections.account_snapshot import AccountEventKind, append_event
from broker.oauth_client.types import ErrorClass, VendorFailure
from broker.providers.error_reasons import TOKEN_TYPE
from broker.refresh.decision import RefreshTiming
from broker.refresh.outcome import Attempt
from core.db import UnitOfWork

log = logging.getLogger(__name__)

MAX_RETRY_AFTER = 3600.0


async def release_after_failure(
    work: UnitOfWork, attempt: Attempt, failed: VendorFailure, timing: RefreshTiming
) -> None:
    """Release the lease. The intent of an uncertain call is kept; that of an unprocessed one is deleted."""
    service = failed.error_class is ErrorClass.SERVICE
    wait = 0.0 if service else _choose_delay(attempt, failed, timing)
    # A token of a type that we cannot use was granted all the same: the one before it may be spent.
    uncertain = failed.error_class is ErrorClass.UNCERTAIN or failed.reason == TOKEN_TYPE
    row = attempt.ref.id, attempt.version, attempt.lease_owner
    if await work.execute(_RELEASE, *row, wait, failed.error_class.value, uncertain, service):
        await append_event(work, attempt.ref.id, AccountEventKind.FAILED, failed.error_class, failed.exchange.as_json())
    if service:
        await _open_breaker(work, attempt, failed, timing)


async def close_breaker(work: UnitOfWork, attempt: Attempt) -> None:
    """Close the breaker: the vendor judged the grant, so it accepts our OAuth client."""
    if attempt.prepared.snapshot.misconfigured:
        await work.execute(_CLOSE, attempt.prepared.snapshot.client_row_id, attempt.prepared.snapshot.client_version)


def _choose_delay(attempt: Attempt, failed: VendorFailure, timing: RefreshTiming) -> float:
    if failed.retry_after is not None:
        return min(max(failed.retry_after, timing.min_backoff), MAX_RETRY_AFTER)
    return timing.choose_backoff(attempt.number)


async def _open_breaker(work: UnitOfWork, attempt: Attempt, failed: VendorFailure, timing: RefreshTiming) -> None:
    """Stop refreshes by this OAuth client until the backoff is over; then one process probes it."""
    snapshot = attempt.prepared.snapshot
    failures = await work.fetchval(_FAILED, snapshot.client_row_id, snapshot.client_version, failed.reason)
    if failures is None:  # the administrator has changed it meanwhile
        return
    await work.execute(_OPEN, snapshot.client_row_id, timing.choose_backoff(failures))
    log.error(
        "vendor rejects an OAuth client; check its settings (mcpist oauth-client list)",
        extra={
            "event": "oauth_client_rejected",
            "provider": snapshot.provider,
            "client": str(snapshot.client_row_id),
            "cause": failed.reason,
        },
    )


_RELEASE = """UPDATE vault.accounts SET lease_owner = NULL, lease_until = NULL, last_error_class = $6,
    uncertain = uncertain OR $7, presented_at = CASE WHEN uncertain OR $7 THEN presented_at END,
    next_try_at = CASE WHEN $8 THEN NULL ELSE vault.clock() + make_interval(secs => $5) END,
    attempt_no = CASE WHEN $8 THEN greatest(attempt_no - 1, 0) ELSE attempt_no END
    WHERE tenant_id = $1 AND id = $2 AND version = $3 AND lease_owner = $4"""
_FAILED = """UPDATE vault.oauth_clients SET state = 'misconfigured', cause = left($4, 40),
    breaker_failures = breaker_failures + 1, updated_at = vault.clock()
    WHERE tenant_id = $1 AND id = $2 AND version = $3 RETURNING breaker_failures"""
_OPEN = """UPDATE vault.oauth_clients SET breaker_until = vault.clock() + make_interval(secs => $3)
    WHERE tenant_id = $1 AND id = $2"""
_CLOSE = """UPDATE vault.oauth_clients SET state = 'ok', cause = '', breaker_until = NULL, breaker_failures = 0,
    updated_at = vault.clock() WHERE tenant_id = $1 AND id = $2 AND version = $3"""
