"""Error texts for failures at vendors: neither the vendor's text nor a library's ever becomes part of them."""

import math
import ssl

from core.http.outbound_addresses import AddressNotAllowed
from gateway.vendor_session.answer_reader import (
    AnswerTooLarge,
    ConnectionBroken,
    ConnectionDropped,
    ExchangeFailure,
    UnreadableAnswer,
)
from gateway.vendor_session.connection_pool import TooManyConnections, VendorConnectFailure
from gateway.vendor_session.target import build_refused_host_problem
from modules.kit import VendorAnswer, VendorProblem
from modules.kit.vendor import TRY_LATER, VendorProblemKind

REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
LINK_STATUSES = frozenset({302, 303})
"""What leads to another thing for the moment. The others say where this one is: 307 too, at GitHub."""
AMBIGUOUS_STATUS = 302
"""After a write some servers say with it that it was done (RFC 9110 §15.4.3, note), others that it was not."""
SCOPE_MISSING_TEXT = (
    "the connected account was not granted the scope that this needs; connect it again and agree to what the tool needs"
)
REJECTED_TEXT = "the vendor does not accept the credential; connect the account again"
RATE_LIMITED_TEXT = "the vendor's rate limit for this credential is used up"


class OriginNotAllowed(VendorProblem):
    """The credential is not for the place that the request would go to; nothing was sent."""

    def __init__(self) -> None:
        super().__init__("refused", "the service's base URL has changed since the credential was stored")


EXCHANGE_ERRORS = (
    VendorConnectFailure,
    TooManyConnections,
    ConnectionDropped,
    ConnectionBroken,
    AnswerTooLarge,
    UnreadableAnswer,
    OSError,
    ValueError,
)
"""What an exchange may end in instead of an answer."""


def classify_error(error: Exception) -> ExchangeFailure:
    """Sort what an exchange has ended in."""
    if isinstance(error, VendorConnectFailure):
        return _classify_connect_error(error.cause)
    if isinstance(error, TooManyConnections):
        text = "your organisation has too many requests to vendors running"
        return ExchangeFailure(
            "rate_limited", text, "wait until some are done, then try again", unsent=True, retry_after=1.0
        )
    if isinstance(error, TimeoutError):
        return ExchangeFailure("unavailable", "the vendor did not answer in time", f"ask for less, or {TRY_LATER}")
    if isinstance(error, AnswerTooLarge):
        return ExchangeFailure("too_large", "the vendor's answer is larger than MCPist accepts", "ask for less at once")
    if isinstance(error, ConnectionDropped | ConnectionBroken):
        text = "the connection to the vendor was closed before its answer was complete"
        return ExchangeFailure("unavailable", text, TRY_LATER, transient=True)
    return ExchangeFailure("unavailable", "the vendor's answer cannot be read", TRY_LATER)


def _classify_connect_error(cause: Exception) -> ExchangeFailure:
    if isinstance(cause, AddressNotAllowed):
        return ExchangeFailure("refused", str(build_refused_host_problem()), unsent=True)
    if isinstance(cause, ssl.SSLError):
        text = "the vendor's TLS certificate is not valid for its host; the operator checks the base URL"
        return ExchangeFailure("unavailable", text, unsent=True)
    return ExchangeFailure("unavailable", "the vendor cannot be reached", TRY_LATER, unsent=True, transient=True)


def build_failure_problem(failure: ExchangeFailure, *, writes: bool) -> VendorProblem:
    """Build the problem of a failed request. A write that may have arrived says so: repeating it could do it twice."""
    unknown = writes and not failure.unsent
    return VendorProblem(
        failure.kind, failure.text, retry=failure.retry, retry_after=failure.retry_after, unknown=unknown
    )


def build_answer_problem(answer: VendorAnswer, *, wait: float | None, limited: bool) -> VendorProblem:
    """Build the error for a status of 400 and above, or for a redirect that is not followed. `wait` is the pause that
    the vendor asks for."""
    if limited:
        kind, text, retry = "rate_limited", RATE_LIMITED_TEXT, format_retry(wait or 1.0)
    else:
        kind, text = _explain_status(answer.status)
        retry = "" if kind != "unavailable" else TRY_LATER if wait is None else format_retry(wait)
    unknown = answer.write and (answer.status >= 500 or answer.status == AMBIGUOUS_STATUS)
    if unknown and wait is not None:
        text += f" and asks to wait {round_up_seconds(wait)} s"
    return VendorProblem(kind, text, retry=retry, retry_after=wait, answer=answer, unknown=unknown)


def format_retry(seconds: float) -> str:
    """Format when to try again."""
    return f"try again in {round_up_seconds(seconds)} s"


def round_up_seconds(seconds: float) -> int:
    """Round up, to at least one: the text never asks for an immediate retry."""
    return max(1, math.ceil(seconds))


_MEANINGS: dict[int, tuple[VendorProblemKind, str]] = {
    401: ("unauthorized", REJECTED_TEXT),
    402: (
        "forbidden",
        "the vendor requires payment: the plan of the account does not cover it, or its quota is used up",
    ),
    403: (
        "forbidden",
        "the vendor does not permit this to the credential: its account or its scopes lack the right",
    ),
    404: (
        "not_found",
        "the vendor has nothing of that name, or this credential may not see it; check names and permissions",
    ),
    409: ("conflict", "this conflicts with what the vendor has now; read it again, then retry"),
    412: ("conflict", "it has changed at the vendor meanwhile; read it again, then retry"),
}
_SAME_AS = {410: 404, 423: 409, 451: 403}


def _explain_status(status: int) -> tuple[VendorProblemKind, str]:
    status = _SAME_AS.get(status, status)
    if status in _MEANINGS:
        return _MEANINGS[status]
    if status in LINK_STATUSES:
        return "refused", (
            "the vendor answers with a link to another address, such as a sign-in page or a file's; MCPist does not "
            "follow it here"
        )
    if status in REDIRECT_STATUSES:
        return "refused", (
            "the vendor points to another address, which MCPist does not follow here; "
            "if the thing was renamed or moved, use its new name"
        )
    if status >= 500 or status == 408:
        return "unavailable", f"the vendor failed (status {status})"
    return "invalid", f"the vendor rejects the request as invalid (status {status}); check the arguments"
