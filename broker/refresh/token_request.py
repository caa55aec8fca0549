"""Step `present`: send the refresh token to the vendor, once."""

import logging

from broker.oauth_client.types import ErrorClass, RedactedExchange, TokenEndpointClient, TokenResult, VendorFailure
from broker.refresh.attempt import Attempt, Boottime
from broker.refresh.timing import RefreshTiming
from core.failpoints import failpoint
from core.log_events import describe_error

log = logging.getLogger(__name__)

INTERRUPTED = "cut_off"


async def present(
    endpoint: TokenEndpointClient, attempt: Attempt, timing: RefreshTiming, boottime: Boottime
) -> TokenResult:
    """Send the request and return the vendor's response.

    A failure in our own code counts as uncertain: the token may have been sent.
    """
    prepared = attempt.prepared
    await failpoint("before_send")

    def may_send() -> bool:
        """Return False if the process was suspended so long that another may take the lease before the call ends."""
        return boottime() + timing.call_timeout < attempt.claim_boottime + timing.lease

    if not may_send():
        return _build_failure(attempt, ErrorClass.NOT_SENT, "withdrawn")
    try:
        answer = await endpoint.refresh(prepared.provider, prepared.client, prepared.refresh_token, may_send=may_send)
    except Exception as error:  # noqa: BLE001 whatever it is, the intent must get its outcome
        log.error(
            "refresh request failed unexpectedly",
            extra={"event": "refresh_request_failed", "account": str(attempt.ref.id), **describe_error(error)},
        )
        return _build_failure(attempt, ErrorClass.UNCERTAIN, INTERRUPTED)
    await failpoint("answered")
    return answer


def _build_failure(attempt: Attempt, cls: ErrorClass, reason: str) -> VendorFailure:
    exchange = RedactedExchange("", "", "refresh_token", 0.0, error_class=cls, reason=reason)
    return VendorFailure(cls, reason, exchange)
