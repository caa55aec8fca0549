"""Trial of a tenant's key at its vendor, by the smallest request that the key is for."""

from dataclasses import dataclass
from typing import Literal

import orjson

from broker.oauth_client.vendor_http import VendorHttpClient, VendorRequest, VendorResponse
from broker.providers import error_reasons
from broker.tenant_keys.key_kinds import TenantKeyKind
from core.bilingual_text import BilingualText, say
from core.http.credential_headers import BEARER, build_credential_header
from core.secret import Secret

KeyTrialOutcome = Literal["ok", "refused", "unknown", "untried"]
_ACCEPTED, _REFUSED, _NO_ACCESS, _THROTTLED = 200, 401, 403, 429


@dataclass(frozen=True, slots=True)
class KeyTrialResult:
    """What a vendor says of a key. `refused`: it does not take the key; `unknown`: it could not be asked, or answered
    otherwise; `untried`: this kind has no trial. `message` is a text of ours."""

    outcome: KeyTrialOutcome
    message: BilingualText

    @property
    def failed(self) -> bool:
        """Whether the key is not known to work, though it was tried."""
        return self.outcome in ("refused", "unknown")

    @property
    def message_ja(self) -> str:
        return self.message.ja


class TenantKeyTrial:
    """Asks vendors. What they say is never shown, for it may repeat the key."""

    def __init__(self, http: VendorHttpClient) -> None:
        self._http = http

    async def try_key(self, kind: TenantKeyKind, key: Secret) -> KeyTrialResult:
        """Try a key whose form was checked. Vendor behaviour never raises."""
        if kind.probe is None:
            return KeyTrialResult("untried", say("the key was not tried", "キーは確認していません"))
        name, value = build_credential_header(BEARER, key)
        headers = {name: value, "Content-Type": "application/json"}
        reply = await self._http.send(VendorRequest("POST", kind.probe.url, headers, orjson.dumps(kind.probe.body)))
        status = reply.status if isinstance(reply, VendorResponse) else None
        if status == _ACCEPTED:
            return KeyTrialResult(
                "ok", say("{title} takes the key", "{title} はキーを受け付けました", title=kind.title)
            )
        if status in (_REFUSED, _NO_ACCESS):
            return KeyTrialResult("refused", _describe_refusal(kind))
        reason = "" if isinstance(reply, VendorResponse) else reply.reason
        return KeyTrialResult("unknown", _describe_doubt(kind, status, reason))


def _describe_refusal(kind: TenantKeyKind) -> BilingualText:
    return say(
        "{title} does not take the key: it is wrong or revoked, or may not be used for embeddings",
        "{title} がキーを受け付けません。誤っているか失効しているか、埋め込みに使えないキーです",
        title=kind.title,
    )


def _describe_doubt(kind: TenantKeyKind, status: int | None, reason: str) -> BilingualText:
    if status == _THROTTLED:
        return say(
            "{title} answers that too much was asked, or that the account has no credit left",
            "{title} は、要求が多すぎるか、アカウントの残高がないと応答しました",
            title=kind.title,
        )
    if status is not None:
        return say("{title} answers {status}", "{title} の応答は {status} です", title=kind.title, status=status)
    if reason in (error_reasons.ADDRESS, error_reasons.URL_REFUSED):
        return say(
            "the address of {title} may not be reached from here",
            "ここから {title} のアドレスには接続できません",
            title=kind.title,
        )
    return say("{title} could not be asked", "{title} に問い合わせできませんでした", title=kind.title)
