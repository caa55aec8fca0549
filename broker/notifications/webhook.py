"""Notices by webhook, in the form of Standard Webhooks (https://www.standardwebhooks.com): any chat or alarm system
can take them, and knows by the signature that they are ours."""

import base64
import hmac
from collections.abc import Mapping
from datetime import datetime

import orjson

from broker.connections.connection_status import describe_cause
from broker.notifications.outbox import EndedJob, UserNotification
from broker.notifications.settings import WebhookSettings, decode_webhook_secret
from broker.notifications.templates import NotificationText
from broker.oauth_client.vendor_http import TransportFailure, VendorHttpClient, VendorRequest, VendorResponse

EVENT_TYPES = {
    "account": "account.needs_reconnect",
    "account_end": "account.ending",
    "credential": "credential.broken",
    "oauth_client": "oauth_client.refused",
    "job": "job.ended",
}


class WebhookChannel:
    """Posts to one URL, by the guarded client: to other networks' hosts only where the operator lists them."""

    name = "webhook"

    def __init__(self, settings: WebhookSettings, http: VendorHttpClient) -> None:
        self._settings = settings
        self._http = http

    async def send(self, notice: UserNotification, wording: NotificationText, now: datetime) -> bool:
        """Send a notification; return whether the receiver accepted it (2xx)."""
        return await post_event(self._http, self._settings, str(notice.id), self._build_event(notice, wording), now)

    def _build_event(self, notice: UserNotification, wording: NotificationText) -> dict[str, object]:
        data = _describe_job(notice, notice.job, wording) if notice.job else _describe_problem(notice, wording)
        return {"type": EVENT_TYPES[notice.subject_type], "timestamp": notice.created_at.isoformat(), "data": data}


def _describe_job(notice: UserNotification, job: EndedJob, wording: NotificationText) -> dict[str, object]:
    """Describe the end of a job as administrators see it: a schedule is named by its person, and not shown."""
    return {
        "tenant": {"id": str(notice.tenant_id), "name": notice.tenant},
        "job": str(job.id),
        "title": "" if job.is_scheduled else job.title,
        "module": job.module,
        "tool": job.tool,
        "state": notice.cause,
        "created_at": job.began_at.isoformat(),
        "finished_at": notice.created_at.isoformat(),
        "link": wording.link,
        "recipients": list(notice.recipients),
    }


def _describe_problem(notice: UserNotification, wording: NotificationText) -> dict[str, object]:
    return {
        "tenant": {"id": str(notice.tenant_id), "name": notice.tenant},
        "service": notice.service,
        "account": notice.account,
        "shared": notice.role_id is not None,
        "cause": notice.cause,
        "meaning": describe_cause(notice.cause),
        "link": wording.link,
        "ends_at": notice.ends_at and notice.ends_at.isoformat(),
        "recipients": list(notice.recipients),
    }


async def post_event(
    http: VendorHttpClient, settings: WebhookSettings, id: str, event: Mapping[str, object], now: datetime
) -> bool:
    """Post a signed event; return whether the receiver accepted it (2xx)."""
    return is_accepted(await post_signed(http, settings, id, orjson.dumps(event), "application/json", now))


async def post_signed(
    http: VendorHttpClient, settings: WebhookSettings, id: str, body: bytes, media_type: str, now: datetime
) -> VendorResponse | TransportFailure:
    """Post a signed body; the same `id` at every attempt of the same message."""
    stamp = str(int(now.timestamp()))
    headers = {
        "Content-Type": media_type,
        "webhook-id": id,
        "webhook-timestamp": stamp,
        "webhook-signature": sign_event(settings, id, stamp, body),
    }
    return await http.send(VendorRequest("POST", settings.url, headers, body))


def is_accepted(reply: VendorResponse | TransportFailure) -> bool:
    """Check whether a receiver has taken what was posted (2xx)."""
    return isinstance(reply, VendorResponse) and 200 <= reply.status < 300


def sign_event(settings: WebhookSettings, id: str, stamp: str, body: bytes) -> str:
    """``v1,`` and the HMAC-SHA-256 of id, time and body in base64."""
    signed = b".".join((id.encode(), stamp.encode(), body))
    return "v1," + base64.b64encode(hmac.digest(decode_webhook_secret(settings.secret), signed, "sha256")).decode()
