"""The MCPist that the relay speaks to, and one request to it."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from cli.stdio.lines import MAX_LINE_BYTES
from core.secret import Secret

MAX_RESPONSE_BYTES = 16 * MAX_LINE_BYTES
CONNECT_TIMEOUT = 10.0
REQUEST_TIMEOUT = 3700.0
"""Seconds for one request: longer than any server's own deadline, so that only a lost machine is noticed here."""

ACCEPT = "application/json, text/event-stream"


@dataclass(frozen=True, slots=True)
class UpstreamEndpoint:
    """Where to send messages, and as whom."""

    url: str
    token: Secret


class Upstream(Protocol):
    """Finds the endpoint."""

    async def get_endpoint(self) -> UpstreamEndpoint:
        """Return the endpoint to send messages to.

        Raises:
            core.errors.MCPistError: there is none; the text says what to do.
        """
        ...

    async def renew_endpoint(self, old: UpstreamEndpoint) -> UpstreamEndpoint:
        """Return the endpoint to use after `old` refused a connection or its token; `old` itself where no other is
        known."""
        ...


class FixedUpstream:
    """A MCPist whose URL and token were given."""

    def __init__(self, url: str, token: Secret) -> None:
        self._endpoint = UpstreamEndpoint(complete_mcp_url(url), token)

    async def get_endpoint(self) -> UpstreamEndpoint:
        return self._endpoint

    async def renew_endpoint(self, old: UpstreamEndpoint) -> UpstreamEndpoint:
        return old


class ExposedUpstream:
    """A MCPist whose tools are shown as `exposure` says, the query of a URL (core.tool_exposure)."""

    def __init__(self, upstream: Upstream, exposure: str) -> None:
        self._upstream = upstream
        self._exposure = exposure

    async def get_endpoint(self) -> UpstreamEndpoint:
        return self._add_query(await self._upstream.get_endpoint())

    async def renew_endpoint(self, old: UpstreamEndpoint) -> UpstreamEndpoint:
        plain = replace(old, url=urlunsplit(urlsplit(old.url)._replace(query="")))
        return self._add_query(await self._upstream.renew_endpoint(plain))

    def _add_query(self, endpoint: UpstreamEndpoint) -> UpstreamEndpoint:
        return replace(endpoint, url=urlunsplit(urlsplit(endpoint.url)._replace(query=self._exposure)))


class ResponseTooLarge(Exception):
    """The answer is longer than any that MCPist gives."""


def complete_mcp_url(url: str) -> str:
    """Complete the endpoint's URL; a bare ``https://host`` means its ``/mcp``."""
    split = urlsplit(url)
    return url if split.path not in ("", "/") else urlunsplit(split._replace(path="/mcp"))


def create_http_session(version: str) -> aiohttp.ClientSession:
    """Create the HTTP session of a relay; it respects the proxy settings of the environment."""
    return aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=REQUEST_TIMEOUT, sock_connect=CONNECT_TIMEOUT),
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": f"mcpist-stdio/{version}"},
        trust_env=True,
    )


def build_request_headers(endpoint: UpstreamEndpoint, mirrored: Mapping[str, str]) -> dict[str, str]:
    """Build all headers of one request."""
    return {
        "Authorization": f"Bearer {endpoint.token.reveal()}",
        "Content-Type": "application/json",
        "Accept": ACCEPT,
        **mirrored,
    }


async def read_body(response: aiohttp.ClientResponse) -> bytes:
    """Read the body of an answer.

    Raises:
        ResponseTooLarge: it does not end.
    """
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > MAX_RESPONSE_BYTES:
            raise ResponseTooLarge
    return bytes(body)


async def read_events(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Read the data of every server-sent event, as it arrives (WHATWG HTML §9.2.6; comments and other fields are
    skipped).

    Raises:
        ResponseTooLarge: an event does not end.
    """
    buffer, data = bytearray(), bytearray()
    async for chunk in response.content.iter_any():
        buffer += chunk
        while (end := buffer.find(b"\n")) >= 0:
            line = bytes(buffer[:end]).removesuffix(b"\r")
            del buffer[: end + 1]
            if line.startswith(b"data:"):
                data += (b"\n" if data else b"") + line[5:].removeprefix(b" ")
            elif not line and data:
                yield bytes(data)
                data.clear()
        if len(buffer) + len(data) > MAX_RESPONSE_BYTES:
            raise ResponseTooLarge
