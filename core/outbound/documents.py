"""Small JSON documents from strangers' servers: client metadata, key sets. Nothing that a stranger names is trusted to
be where it says, to be small, or to answer at all (broker-security.md §2, rows 13 and 14).
"""

import asyncio
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import aiohttp
import orjson
from yarl import URL

from core.outbound.addresses import AllowedAddresses, Lookup, RefusedAddress
from core.outbound.session import GuardedClient

WHOLE_SECONDS = 5.0
MOST_CONNECTIONS = 16

_MEDIA_TYPE = re.compile(r"application/([0-9a-z!#$&^_.-]+\+)?json", re.IGNORECASE)
_MAX_AGE = re.compile(r"(?:^|[,\s])max-age=\"?([0-9]{1,9})", re.IGNORECASE)
_NOT_KEPT = re.compile(r"(?:^|[,\s])no-(?:store|cache)\b", re.IGNORECASE)

Trouble = Literal["refused", "unreachable", "wrong"]


class NoDocument(OSError):
    """There is none. `refused`: we may not ask there; `unreachable`: it may come in a moment; `wrong`: what came is no
    such document."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble)
        self.trouble: Trouble = trouble


@dataclass(frozen=True, slots=True)
class Document:
    """What came, and how many seconds its server says that it stays good; None where it says nothing."""

    body: bytes
    fresh_seconds: float | None

    def object(self) -> Mapping[str, Any]:
        """The JSON object that it is.

        Raises:
            NoDocument: it is none.
        """
        try:
            found = orjson.loads(self.body)
        except orjson.JSONDecodeError:
            raise NoDocument("wrong") from None
        if not isinstance(found, dict):
            raise NoDocument("wrong")
        return cast("dict[str, Any]", found)


class Documents(GuardedClient):
    """Fetches documents. Every fetch resolves and connects anew, to an address that was checked; nothing is kept, no
    redirect followed, no cookie, proxy or netrc of the environment read.

    For tests: `lookup` in place of the system's resolver, `tls` with another root.
    """

    def __init__(
        self,
        allow: AllowedAddresses,
        *,
        seconds: float = WHOLE_SECONDS,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(allow, connections=MOST_CONNECTIONS, lookup=lookup, tls=tls)
        self._seconds = seconds

    async def read(self, url: str, most_bytes: int) -> Document:
        """The JSON document at `url`, of at most `most_bytes`, in at most `seconds` altogether.

        Raises:
            NoDocument: with the kind of trouble and nothing that a stranger has said.
        """
        if not self.may_ask(url):
            raise NoDocument("refused")
        try:
            async with asyncio.timeout(self._seconds):
                return await self._fetched(url, most_bytes)
        except NoDocument:
            raise
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            refused = isinstance(error, RefusedAddress) or isinstance(error.__cause__, RefusedAddress)
        raise NoDocument("refused" if refused else "unreachable")

    async def _fetched(self, url: str, most_bytes: int) -> Document:
        async with self._http.get(URL(url, encoded=True), allow_redirects=False) as response:
            if response.status >= 500 or response.status == 429:
                raise NoDocument("unreachable")
            if response.status != 200 or not _is_json(response):
                raise NoDocument("wrong")
            body = await response.content.read(most_bytes + 1)
            while len(body) <= most_bytes and (part := await response.content.readany()):
                body += part
            if len(body) > most_bytes:
                response.close()
                raise NoDocument("wrong")
            return Document(body, _fresh_seconds(response))


def _is_json(response: aiohttp.ClientResponse) -> bool:
    coded = response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity")
    media_type = response.headers.get("Content-Type", "").partition(";")[0].strip()
    return not coded and _MEDIA_TYPE.fullmatch(media_type) is not None


def _fresh_seconds(response: aiohttp.ClientResponse) -> float | None:
    """By Cache-Control and Age (RFC 9111 §5.2.2.1, §5.1)."""
    told = ",".join(response.headers.getall("Cache-Control", ()))
    if _NOT_KEPT.search(told):
        return 0.0
    found = _MAX_AGE.search(told)
    if found is None:
        return None
    age = response.headers.get("Age", "")
    return max(0.0, float(found[1]) - (int(age) if re.fullmatch("[0-9]{1,9}", age, re.ASCII) else 0))
