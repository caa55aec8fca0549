"""Ways to the vendor that a test holds in its hand."""

import asyncio
from collections.abc import Callable, Sequence

from broker.oauth_client.types import (
    ErrorClass,
    OAuthClientConfig,
    RedactedExchange,
    TokenEndpointClient,
    TokenResponse,
    TokenResult,
    TokenSet,
    VendorFailure,
    VendorRevocation,
    allow_sending,
)
from broker.providers.schema import Provider
from core.secret import Secret


def exchange() -> RedactedExchange:
    return RedactedExchange("vendor.test", "/token", "refresh_token", 0.01)


def failed(cls: ErrorClass, reason: str = "revoked", retry_after: float | None = None) -> VendorFailure:
    return VendorFailure(cls, reason, exchange(), retry_after)


class _Refreshing:
    """What a refresh does not use."""

    async def redeem_code(self, *args: object, **kwargs: object) -> TokenResult:
        raise NotImplementedError

    async def revoke(self, *args: object, **kwargs: object) -> VendorRevocation:
        raise NotImplementedError


class Scripted(_Refreshing):
    """Answers as it was told, then grants; it notes what it was shown."""

    def __init__(self, *answers: TokenResult, name: str = "a test", life: float = 3600.0) -> None:
        self.answers: Sequence[TokenResult] = answers
        self.shown: list[str] = []
        self.name = name
        self.life = life

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
        self.shown.append(refresh.reveal())
        if self.answers:
            first, *self.answers = self.answers
            return first
        number = len(self.shown)
        new = Secret(f"rt-{number:08}-of-{self.name}")
        return TokenResponse(TokenSet(Secret(f"at-{number:08}-of-{self.name}"), new, self.life, None), exchange())


class Held(_Refreshing):
    """A vendor that is asked, and whose answer arrives when the test lets it."""

    def __init__(self, endpoint: TokenEndpointClient) -> None:
        self._endpoint = endpoint
        self.answered = asyncio.Event()
        self.go = asyncio.Event()

    async def refresh(
        self,
        provider: Provider,
        client: OAuthClientConfig,
        refresh: Secret,
        *,
        may_send: Callable[[], bool] = allow_sending,
    ) -> TokenResult:
        answer = await self._endpoint.refresh(provider, client, refresh, may_send=may_send)
        self.answered.set()
        await self.go.wait()
        return answer


class Broken(_Refreshing):
    """A client of the vendor with an error of its own."""

    async def refresh(self, *args: object, **kwargs: object) -> TokenResult:
        raise RuntimeError("what this says may hold anything")
