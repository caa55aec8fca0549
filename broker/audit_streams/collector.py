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
from core.bilingual_text import BilingualText, say

MEDIA_TYPE = "application/jsonl"
TRIAL_KIND = "mcpist.test"
TOO_LARGE_ERROR = "status_413"
SECRET_ERROR = "secret"  # noqa: S105 the code of an error
CollectorTarget: TypeAlias = WebhookSettings
"""URL and signing secret of a collector."""

_TEXTS = {
    error_reasons.URL_REFUSED: say(
        "its URL may not be asked: use https, or list the host in MCPIST_ALLOWED_PRIVATE_HOSTS",
        "この URL には送信できません。https を使うか、ホストを MCPIST_ALLOWED_PRIVATE_HOSTS に追加してください",
    ),
    error_reasons.ADDRESS: say(
        "its address may not be reached: list a host in a private network in MCPIST_ALLOWED_PRIVATE_HOSTS",
        "アドレスに接続できません。プライベートネットワークのホストは MCPIST_ALLOWED_PRIVATE_HOSTS に追加してください",
    ),
    error_reasons.NAME: say("the name server does not know its host", "ネームサーバーにホストがありません"),
    error_reasons.CONNECT: say("its server does not take connections", "サーバーが接続を受け付けません"),
    error_reasons.CONNECT_TIMEOUT: say(
        "its server does not take connections in time", "サーバーが時間内に接続を受け付けません"
    ),
    error_reasons.TLS: say("its certificate is not valid", "証明書が無効です"),
    error_reasons.TIMEOUT: say("it does not answer within ten seconds", "10 秒以内に応答がありません"),
    error_reasons.CUT_OFF: say("it ends the connection without an answer", "応答せずに接続が切断されました"),
    error_reasons.TOO_LARGE: say("its answer is too long to be read", "応答が長すぎて読み取れません"),
    error_reasons.UNREADABLE: say("its answer cannot be read", "応答を読み取れません"),
    TOO_LARGE_ERROR: say("it answers 413 even to a single record", "1 件の記録にも 413 を返します"),
    SECRET_ERROR: say(
        "the signing secret cannot be opened: store it again, and look at `mcpist doctor`",
        "署名シークレットを復号できません。保存し直し、`mcpist doctor` を確認してください",
    ),
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


def describe_delivery_error(code: str) -> BilingualText:
    """Describe why a collector has not taken records."""
    why = _TEXTS.get(code)
    if why is None and code.startswith("status_"):
        why = say("it answers {status}", "応答は {status} です", status=code.removeprefix("status_"))
    return say(
        "the collector has not taken the records: {why}",
        "コレクターが記録を受け付けていません：{why}",
        why=why or say("it cannot be asked now", "接続できません"),
    )
