"""Idempotency keys of jobs: whoever repeats a call whose answer was lost finds the job that the first one made."""

import hashlib
from collections.abc import Mapping

from core.errors import Invalid
from gateway.mcp.request_context import GivenResponse, RequestContext

IDEMPOTENCY_META = "mcpist/idempotencyKey"
"""The member of a request's `_meta`."""
MAX_KEY = 200


def has_idempotency_key(request: RequestContext) -> bool:
    """Check whether the call can be repeated, and finds its job then."""
    return IDEMPOTENCY_META in request.meta


def compute_idempotency_key(request: RequestContext, given: Mapping[str, GivenResponse]) -> str | None:
    """Compute the key of the caller's client and this call; None where the request has none.

    The same call with answers of the client is another one: the first has ended with the questions.

    Raises:
        Invalid: the key is none.
    """
    if (key := request.meta.get(IDEMPOTENCY_META)) is None:
        return None
    if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY or not key.isprintable():
        raise Invalid(f"_meta[{IDEMPOTENCY_META!r}] must be a string of 1 to {MAX_KEY} printable characters")
    credential = request.caller.credential
    answer = ",".join(sorted(response.digest for response in given.values()))
    parts = (credential.client or credential.id, answer, key)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
