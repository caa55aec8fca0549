"""A person's browser without a window: our pages in this process, every other site by the network, one cookie jar."""

import html
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2
from starlette.types import ASGIApp

PUBLIC_URL = "https://mcpist.test"
_GOES_ON = re.compile(r'http-equiv="refresh" content="0; url=([^"]+)"')


class Browser:
    """Follows redirects and our pages that go on, from our pages to a provider and back."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http
        self.trail: list[str] = []

    async def get(self, url: str) -> httpx2.Response:
        """Open an address of ours, or another, and follow where it leads."""
        return await self._follow(await self._sent("GET", urljoin(PUBLIC_URL, url)))

    async def post(self, path: str, **fields: str) -> httpx2.Response:
        """Send a form of one of our pages, and follow where it leads."""
        return await self._follow(await self.send(path, **fields))

    async def send(self, path: str, **fields: str) -> httpx2.Response:
        """Send a form of one of our pages, and stay there."""
        headers = {"Origin": PUBLIC_URL, "Sec-Fetch-Site": "same-origin"}
        return await self._sent("POST", urljoin(PUBLIC_URL, path), data=fields, headers=headers)

    async def start(self, provider: str = "company", next_path: str = "") -> str:
        """Press a provider's button; the address that the browser is sent to, without going there."""
        response = await self.send("/sign-in/start", provider=provider, next=next_path)
        assert response.status_code == 200, response.text
        return going_on(response)

    async def answer(self, url: str) -> str:
        """Go to a provider and through it; the address of ours that it sends the browser back to, unopened."""
        response = await self._sent("GET", url)
        while not (target := urljoin(str(response.url), response.headers["location"])).startswith(PUBLIC_URL):
            response = await self._sent("GET", target)
        return target

    @property
    def cookies(self) -> Mapping[str, str]:
        """Those for us."""
        return {one.name: one.value or "" for one in self.http.cookies.jar if one.domain.startswith("mcpist.test")}

    async def _follow(self, response: httpx2.Response) -> httpx2.Response:
        for _ in range(20):
            self.trail.append(str(response.url))
            if "location" in response.headers:
                response = await self._sent("GET", urljoin(str(response.url), response.headers["location"]))
            elif response.status_code == 200 and (found := _GOES_ON.search(response.text)):
                response = await self._sent("GET", html.unescape(found[1]))
            else:
                return response
        raise AssertionError(f"it never ends: {self.trail}")

    async def _sent(self, method: str, url: str, **options: Any) -> httpx2.Response:
        return await self.http.request(method, url, follow_redirects=False, **options)


def going_on(response: httpx2.Response) -> str:
    """Where a page of ours sends the browser on to."""
    found = _GOES_ON.search(response.text)
    assert found, response.text
    return html.unescape(found[1])


def parameters(url: str) -> dict[str, str]:
    return dict(httpx2.QueryParams(urlsplit(url).query))


@asynccontextmanager
async def browser_on(app: ASGIApp, address: str = "192.0.2.7") -> AsyncIterator[Browser]:
    """A browser with no cookie yet."""
    ours = httpx2.ASGITransport(app=app, client=(address, 50000))
    async with httpx2.AsyncClient(
        mounts={PUBLIC_URL: ours}, headers={"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0"}
    ) as http:
        yield Browser(http)
