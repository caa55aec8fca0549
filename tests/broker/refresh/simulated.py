"""A vendor in memory, for histories of many steps: refresh tokens that live by a profile, and every fault on demand."""

import asyncio
from collections.abc import Callable
from typing import Literal

from broker.oauth_client.types import (
    ErrorClass,
    OAuthClientConfig,
    TokenResponse,
    TokenResult,
    TokenSet,
    allow_sending,
)
from broker.providers.schema import Provider
from core.secret import Secret
from tests.broker.refresh.endpoints import _Refreshing, exchange, failed

Fault = Literal["", "lost_before", "lost_after", "throttled", "not_sent", "service"]
_CLASSES = {
    "lost_before": ErrorClass.UNCERTAIN,
    "throttled": ErrorClass.THROTTLED,
    "not_sent": ErrorClass.NOT_SENT,
    "service": ErrorClass.SERVICE,
}


class SimulatedVendor(_Refreshing):
    """One grant. `held` keeps an answer on its way until `go` is set."""

    def __init__(self, profile: str, life: float) -> None:
        self.profile = profile
        self.life = life
        self.number = 1
        self.fault: Fault = ""
        self.held = False
        self.go = asyncio.Event()
        self.revoked = False
        self.dead = False
        self.reuses = 0
        self.answers_lost = 0
        self.calling = 0
        self.most_calling = 0
        self.calls = 0
        self.grant = 1

    @property
    def document(self) -> dict[str, object]:
        grace = {"grace_seconds": 600.0} if self.profile == "grace" else {}
        return {
            "id": self.profile.replace("_", "-"),
            "title": self.profile,
            "oauth": {
                "authorize_url": "https://vendor.test/authorize",
                "token_url": "https://vendor.test/token",
                "refresh": {"profile": self.profile, **grace},
            },
        }

    def tokens(self) -> TokenSet:
        """What is granted now."""
        access = Secret(f"at-{self.grant:04}-{self.number:08}-of-a-simulated-vendor")
        return TokenSet(access, Secret(self._refresh(self.number)), self.life, None)

    def granted_anew(self) -> None:
        """The person goes through consent once more: the grant before counts no more, whatever became of it."""
        self.grant += 1
        self.number = 1
        self.revoked = self.dead = False
        self.reuses = 0

    def accepts(self, access: Secret) -> bool:
        """Whether its API takes this access token, its life aside: an old one may live on."""
        return not self.dead and not self.revoked

    async def refresh(
        self,
        provider: Provider,
        client: OAuthClientConfig,
        refresh: Secret,
        *,
        may_send: Callable[[], bool] = allow_sending,
    ) -> TokenResult:
        if not may_send():
            return failed(ErrorClass.NOT_SENT, "withdrawn")
        self.calling += 1
        self.calls += 1
        self.most_calling = max(self.most_calling, self.calling)
        try:
            answer = self._answer(refresh.reveal())
            await asyncio.sleep(0)
        finally:
            self.calling -= 1
        if self.held:  # on its way: as far as the vendor goes, the call is over
            self.held = False
            await self.go.wait()
        return answer

    def _answer(self, shown: str) -> TokenResult:
        fault, self.fault = self.fault, ""
        if fault in _CLASSES:
            return failed(_CLASSES[fault], "revoked" if fault == "lost_before" else fault)
        answer = self._processed(shown)
        if fault == "lost_after":
            self.answers_lost += 1
            return failed(ErrorClass.UNCERTAIN, "cut_off")
        return answer

    def _processed(self, shown: str) -> TokenResult:
        if self.revoked or self.dead:
            return failed(ErrorClass.PERMANENT)
        if shown == self._refresh(self.number):
            if self.profile != "non_rotating":
                self.number += 1
            return TokenResponse(self.tokens(), exchange())
        if not shown.startswith(f"rt-{self.grant:04}-"):
            return failed(ErrorClass.PERMANENT)
        if self.profile == "grace" and shown == self._refresh(self.number - 1):
            return TokenResponse(self.tokens(), exchange())
        self.reuses += 1
        self.dead = True
        return failed(ErrorClass.PERMANENT)

    def _refresh(self, number: int) -> str:
        return f"rt-{self.grant:04}-{number:08}-of-a-simulated-vendor"
