"""One question to a key service over HTTPS: JSON there, JSON back, bounded, and never a redirect."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import aiohttp
import orjson

from broker.vault.kms import KmsUnreachable
from core.http.tls import get_system_tls_context

MAX_RESPONSE_BYTES = 65_536
ATTEMPT_SECONDS = 3.0


@dataclass(frozen=True, slots=True, repr=False)
class KmsResponse:
    """A status and the JSON object that came with it, empty where none did."""

    status: int
    body: Mapping[str, Any]


class KmsHttpClient:
    """A session to one service, made when it is first used.

    Every question has a connection of its own: on a kept one, an answer that nobody asked for would be taken for the
    answer to the next question, about another tenant's key.
    """

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, headers: Mapping[str, str], document: Mapping[str, Any]) -> KmsResponse:
        """Ask once.

        Raises:
            Away: the service could not be reached, or gave an answer that is none.
        """
        try:
            async with (
                asyncio.timeout(ATTEMPT_SECONDS),
                self._open_session().post(
                    url, data=orjson.dumps(document), headers={**headers, "Content-Type": "application/json"},
                    allow_redirects=False,
                ) as response,
            ):  # fmt: skip
                return KmsResponse(response.status, await _read_object(response))
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
            raise KmsUnreachable from None

    async def close(self) -> None:
        """Close every connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=get_system_tls_context(), limit=8, force_close=True),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Accept": "application/json", "User-Agent": "MCPist"},
                trust_env=False,
            )
        return self._session


async def _read_object(response: aiohttp.ClientResponse) -> Mapping[str, Any]:
    body = await response.content.read(MAX_RESPONSE_BYTES + 1)
    while len(body) <= MAX_RESPONSE_BYTES and (part := await response.content.readany()):
        body += part
    if len(body) > MAX_RESPONSE_BYTES:
        raise ValueError
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}  # an error page of some proxy: its status says enough
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
