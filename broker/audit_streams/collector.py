"""Post records to a log collector: signed as Standard Webhooks says, JSON Lines, by the guarded client."""

from datetime import datetime
from typing import TypeAlias
from uuid import UUID, uuid4

import orjson

from broker.audit_streams.record_batches import RecordBatch
from broker.notifications.settings import WebhookSettings
from broker.notifications.webhook import is_accepted, post_signed
from broker.oauth_client.vendor_http import VendorHttpClient, VendorResponse
from broker.providers import error_reasons

MEDIA_TYPE = "application/jsonl"
TRIAL_KIND = "mcpist.test"
TOO_LARGE_ERROR = "status_413"
SECRET_ERROR = "secret"  # noqa: S105 the code of an error
CollectorTarget: TypeAlias = WebhookSettings
"""URL and signing secret of a collector."""

_TEXTS = {
    error_reasons.URL_REFUSED: "its URL may not be asked: use https, or list the host in MCPIST_ALLOWED_PRIVATE_HOSTS",
    error_reasons.ADDRESS: "its address may not be reached: list a host in a private network in "
    "MCPIST_ALLOWED_PRIVATE_HOSTS",
    error_reasons.NAME: "the name server does not know its host",
    error_reasons.CONNECT: "its server does not take connections",
    error_reasons.CONNECT_TIMEOUT: "its server does not take connections in time",
    error_reasons.TLS: "its certificate is not valid",
    error_reasons.TIMEOUT: "it does not answer within ten seconds",
    error_reasons.CUT_OFF: "it ends the connection without an answer",
    error_reasons.TOO_LARGE: "its answer is too long to be read",
    error_reasons.UNREADABLE: "its answer cannot be read",
    TOO_LARGE_ERROR: "it answers 413 even to a single record",
    SECRET_ERROR: "the signing secret cannot be opened: store it again, and look at `mcpist doctor`",
}


class Collector:
    """Posts to collectors. It keeps nothing between two requests."""

    def __init__(self, http: VendorHttpClient) -> None:
        self._http = http

    async def post_batch(self, target: CollectorTarget, stream_id: UUID, batch: RecordBatch, now: datetime) -> str:
        """Post a batch; return the code of the error, empty if the collector has taken it (2xx)."""
        return await self._post(target, f"{stream_id}.{batch.first}-{batch.last}", batch.body, now)

    async def post_trial(self, target: CollectorTarget, tenant_id: UUID, now: datetime) -> str:
        """Post a record of the kind `mcpist.test`, which has no number; return the code of the error."""
        record = {"kind": TRIAL_KIND, "occurred_at": now, "detail": {"tenant": str(tenant_id)}}
        return await self._post(target, str(uuid4()), orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE), now)

    async def _post(self, target: CollectorTarget, id: str, body: bytes, now: datetime) -> str:
        reply = await post_signed(self._http, target, id, body, MEDIA_TYPE, now)
        if is_accepted(reply):
            return ""
        return f"status_{reply.status}" if isinstance(reply, VendorResponse) else reply.reason


def describe_delivery_error(code: str) -> str:
    """Describe why a collector has not taken records."""
    if code in _TEXTS:
        return f"the collector has not taken the records: {_TEXTS[code]}"
    answer = f"it answers {code.removeprefix('status_')}" if code.startswith("status_") else "it cannot be asked now"
    return f"the collector has not taken the records: {answer}"
