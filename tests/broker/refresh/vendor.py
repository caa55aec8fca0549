"""A vendor for the refresh tests: the certified provider, asked for grants as a browser would, and its faults."""

import asyncio
import base64
import contextlib
import hashlib
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
from yarl import URL

from broker.oauth_client.types import OAuthClientConfig, TokenSet
from broker.providers.schema import Provider
from core.secret import Secret
from tests.support.oauth_provider import OauthProvider, oauth_provider

CALLBACK = "http://127.0.0.1:8000/callback"
HOUR = 3600
GRACE = 120


@dataclass(frozen=True, slots=True)
class Vendor:
    """One vendor and what it does with refresh tokens, by its recovery profile."""

    server: OauthProvider
    profile: str
    kills_siblings: bool = False

    @property
    def id(self) -> str:
        return self.profile.replace("_", "-")

    @property
    def provider(self) -> Provider:
        """As providers.toml would have it."""
        return Provider.model_validate(self.document)

    @property
    def document(self) -> dict[str, Any]:
        refresh: dict[str, Any] = {"profile": self.profile, "reuse_kills_siblings": self.kills_siblings}
        if self.profile == "grace":
            refresh["grace_seconds"] = float(GRACE)
        return {
            "id": self.id,
            "title": self.id,
            "oauth": {
                "authorize_url": f"{self.server.issuer}/auth",
                "token_url": f"{self.server.issuer}/token",
                "client_auth": "basic",
                "refresh": {**refresh, "idle_days": 90},
            },
        }

    @property
    def client(self) -> OAuthClientConfig:
        return OAuthClientConfig(self.server.client_id, Secret(self.server.client_secret))

    @property
    def host(self) -> str:
        return urlsplit(self.server.issuer).netloc

    async def reset(self) -> None:
        """No faults, counters at zero."""
        ttl = {"accessTokenTtl": HOUR}
        await self.server.control({"set": ttl, "faults": [], "reset_counters": True})

    async def fault(self, kind: str, times: int = 1, **more: Any) -> None:
        """The next `times` refreshes go wrong."""
        fault = {"grant": "refresh_token", "kind": kind, "times": times, **more}
        await self.server.control({"faults": [fault]})

    async def counters(self) -> dict[str, int]:
        return (await self.server.told())["counters"]

    async def calls(self) -> int:
        """How many refreshes have arrived."""
        return (await self.counters()).get("asked:refresh_token", 0)

    async def reuses(self) -> int:
        """How often a spent refresh token was shown and noticed."""
        return (await self.counters()).get("refresh_token_reuse_detected", 0)

    async def takes(self, access: Secret) -> bool:
        """Whether the vendor's API accepts an access token."""
        headers = {"Authorization": f"Bearer {access.reveal()}"}
        async with aiohttp.ClientSession() as http, http.get(f"{self.server.issuer}/me", headers=headers) as answer:
            return answer.status == 200

    async def grant(self, person: str) -> TokenSet:
        """What `person` grants in a browser."""
        verifier = secrets.token_urlsafe(48)
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
            code = await self._code(browser, person, verifier)
            form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK}
            basic = aiohttp.encode_basic_auth(self.server.client_id, self.server.client_secret)
            headers = {"Authorization": basic}
            url = f"{self.server.issuer}/token"
            async with browser.post(url, data=form | {"code_verifier": verifier}, headers=headers) as answer:
                answer.raise_for_status()
                told = await answer.json()
        scopes = tuple(told["scope"].split())
        return TokenSet(Secret(told["access_token"]), Secret(told["refresh_token"]), float(told["expires_in"]), scopes)

    async def _code(self, browser: aiohttp.ClientSession, person: str, verifier: str) -> str:
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "client_id": self.server.client_id,
            "response_type": "code",
            "redirect_uri": CALLBACK,
            "scope": "openid email",
            "prompt": "consent",
            "login_hint": person,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        url = URL(f"{self.server.issuer}/auth").with_query(asked)
        while not str(url).startswith(CALLBACK):
            async with browser.get(url, allow_redirects=False) as answer:
                url = url.join(URL(answer.headers["Location"]))
        return parse_qs(urlsplit(str(url)).query)["code"][0]


OPTIONS: dict[str, dict[str, Any]] = {
    "strict": {},
    "grace": {"grace_seconds": GRACE},
    "non_rotating": {"rotate": "false", "omit_unchanged_refresh_token": "true"},
}


@contextlib.asynccontextmanager
async def vendor_of(folder: Path, profile: str) -> AsyncIterator[Vendor]:
    """Run a vendor whose refresh tokens live as `profile` says."""
    options = {"access_token_ttl": HOUR, "refresh_token_ttl": 30 * HOUR, **OPTIONS[profile]}
    async with oauth_provider(folder, redirect_uris=[CALLBACK], **options) as server:
        yield Vendor(server, profile)


@contextlib.asynccontextmanager
async def all_vendors(folder: Path) -> AsyncIterator[dict[str, Vendor]]:
    """One of each profile."""
    async with contextlib.AsyncExitStack() as stack:
        running = (stack.enter_async_context(vendor_of(folder, profile)) for profile in OPTIONS)
        yield {one.profile: one for one in await asyncio.gather(*running)}
