"""What went wrong, in words of our own: the vendor's text and the library's never get into them."""

import ssl

from core.outbound.addresses import RefusedAddress
from gateway.vendor_session.answers import Broken, Dropped, Failure, TooLarge, Unreadable
from gateway.vendor_session.pool import ConnectFailed, TooManyConnections
from gateway.vendor_session.target import refused_host
from modules.kit import VendorAnswer, VendorProblem
from modules.kit.vendor import Problem

UNKNOWN = "; whether the change was made is not known, so look before you try again"
MOVED = frozenset({301, 302, 303, 307, 308})


class Elsewhere(VendorProblem):
    """The credential is not for the place that the request would go to; nothing was sent."""

    def __init__(self) -> None:
        super().__init__("refused", "the credential was stored for another address than the service has now")


FAULTS = (ConnectFailed, TooManyConnections, Dropped, Broken, TooLarge, Unreadable, OSError, ValueError)
"""What an exchange may end in instead of an answer."""


def failure_of(error: Exception) -> Failure:
    """Sort what an exchange has ended in."""
    if isinstance(error, ConnectFailed):
        return _not_connected(error.cause)
    if isinstance(error, TooManyConnections):
        text = "too many requests of your company to vendors are running; wait until some are done, then try again"
        return Failure("rate_limited", text, unsent=True, retry_after=1.0)
    if isinstance(error, TimeoutError):
        return Failure("unavailable", "the vendor did not answer in time; ask for less, or try again later")
    if isinstance(error, TooLarge):
        return Failure("too_large", "the vendor's answer is larger than MCPist takes; ask for less at once")
    if isinstance(error, Dropped | Broken):
        text = "the connection to the vendor broke before its answer was whole; try again later"
        return Failure("unavailable", text, passing=True)
    return Failure("unavailable", "the vendor's answer cannot be read; try again later")


def _not_connected(cause: Exception) -> Failure:
    if isinstance(cause, RefusedAddress):
        return Failure("refused", str(refused_host()), unsent=True)
    if isinstance(cause, ssl.SSLError):
        text = "the vendor's TLS certificate is not valid for its host; the operator checks the base URL"
        return Failure("unavailable", text, unsent=True)
    return Failure("unavailable", "the vendor cannot be reached; try again later", unsent=True, passing=True)


def problem_of_failure(failure: Failure, *, writes: bool) -> VendorProblem:
    """A write that may have arrived says so: repeating it blindly could do it twice."""
    text = failure.text + UNKNOWN if writes and not failure.unsent else failure.text
    return VendorProblem(failure.kind, text, retry_after=failure.retry_after)


def problem_of_answer(answer: VendorAnswer, *, wait: float | None, limited: bool, writes: bool) -> VendorProblem:
    """What a status of 400 and above, or a redirect that is not followed, means to whoever called."""
    kind, text = ("rate_limited", limited_text(wait or 1.0)) if limited else _meaning(answer.status)
    if writes and answer.status >= 500:
        text += UNKNOWN
    return VendorProblem(kind, text, retry_after=wait, answer=answer)


def limited_text(wait: float) -> str:
    seconds = max(1, -int(-wait // 1))
    return f"the vendor's rate limit for this credential is used up; try again in {seconds} s"


_MEANINGS: dict[int, tuple[Problem, str]] = {
    401: ("unauthorized", "the vendor does not accept the credential; connect the account again"),
    403: (
        "forbidden",
        "the vendor does not permit this to the credential: its account or its scopes lack the right",
    ),
    404: (
        "not_found",
        "the vendor has nothing of that name, or does not show it to this credential; check the names and the rights",
    ),
    409: ("conflict", "this conflicts with what the vendor has now; read it again, then try anew"),
    412: ("conflict", "it has changed at the vendor meanwhile; read it again, then try anew"),
}
_SAME_AS = {410: 404, 423: 409, 451: 403}


def _meaning(status: int) -> tuple[Problem, str]:
    status = _SAME_AS.get(status, status)
    if status in _MEANINGS:
        return _MEANINGS[status]
    if status in MOVED:
        return "refused", (
            "the vendor points to another address, which MCPist does not follow here; "
            "if the thing was renamed or moved, use its new name"
        )
    if status >= 500 or status == 408:
        return "unavailable", f"the vendor has a problem of its own (status {status}); try again later"
    return "invalid", f"the vendor refuses the request as wrong (status {status}); check the arguments"
