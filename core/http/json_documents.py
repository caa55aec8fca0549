"""Small JSON documents from strangers' servers: client metadata, key sets. Nothing that a stranger names is trusted to
be where it says, to be small, or to answer at all (threat-model.md §2, rows 13 and 14).
"""

import asyncio
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import orjson

from core.http.guarded_client import ConnectFailure, GuardedClient
from core.http.outbound_addresses import AddressNotAllowed, AllowedAddresses, Lookup
from core.http.single_exchange import ExchangeError, HttpResponse, UnreadableBody

TOTAL_TIMEOUT_SECONDS = 5.0
MAX_CONNECTIONS = 16

_MEDIA_TYPE = re.compile(r"application/([0-9a-z!#$&^_.-]+\+)?json", re.IGNORECASE)
_MAX_AGE = re.compile(r"(?:^|[,\s])max-age=\"?([0-9]{1,9})", re.IGNORECASE)
_NOT_KEPT = re.compile(r"(?:^|[,\s])no-(?:store|cache)\b", re.IGNORECASE)

DocumentFailure = Literal["refused", "unreachable", "wrong"]


class DocumentUnavailable(OSError):
    """Raised where there is no document. `refused`: the address may not be requested; `unreachable`: a later attempt
    may succeed; `wrong`: the answer is no such document."""

    def __init__(self, trouble: DocumentFailure) -> None:
        super().__init__(trouble)
        self.trouble: DocumentFailure = trouble


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """Document that was fetched, and its lifetime in seconds as its server states it; None where it states none."""

    body: bytes
    max_age_seconds: float | None

    def parse_object(self) -> Mapping[str, Any]:
        """Parse the body as a JSON object.

        Raises:
            DocumentUnavailable: it is none.
        """
        try:
            found = orjson.loads(self.body)
        except orjson.JSONDecodeError:
            raise DocumentUnavailable("wrong") from None
        if not isinstance(found, dict):
            raise DocumentUnavailable("wrong")
        return cast("dict[str, Any]", found)


class JsonDocumentFetcher(GuardedClient):
    """Fetches documents. Every fetch resolves and connects anew, to an address that was checked; nothing is kept, no
    redirect followed, no cookie, proxy or netrc of the environment read.

    For tests: `lookup` in place of the system's resolver, `tls` with another root.
    """

    def __init__(
        self,
        allow: AllowedAddresses,
        *,
        seconds: float = TOTAL_TIMEOUT_SECONDS,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(allow, connections=MAX_CONNECTIONS, lookup=lookup, tls=tls)
        self._seconds = seconds

    async def fetch_document(self, url: str, most_bytes: int) -> JsonDocument:
        """Fetch the JSON document at `url`, of at most `most_bytes`, in at most `seconds` altogether.

        Raises:
            DocumentUnavailable: with the kind of trouble and nothing that a stranger has said.
        """
        if not self.is_askable(url):
            raise DocumentUnavailable("refused")
        try:
            async with asyncio.timeout(self._seconds):
                return await self._fetch(url, most_bytes)
        except DocumentUnavailable:
            raise
        except UnreadableBody:
            raise DocumentUnavailable("wrong") from None
        except ConnectFailure as error:
            raise DocumentUnavailable(
                "refused" if isinstance(error.cause, AddressNotAllowed) else "unreachable"
            ) from None
        except (ExchangeError, OSError, ValueError):
            raise DocumentUnavailable("unreachable") from None

    async def _fetch(self, url: str, most_bytes: int) -> JsonDocument:
        response = await self.request("GET", url, max_bytes=most_bytes)
        if response.status >= 500 or response.status == 429:
            raise DocumentUnavailable("unreachable")
        if response.status != 200 or not _is_json(response):
            raise DocumentUnavailable("wrong")
        return JsonDocument(response.body, _get_max_age_seconds(response))


def _is_json(response: HttpResponse) -> bool:
    media_type = response.get_header("content-type").partition(";")[0].strip()
    return _MEDIA_TYPE.fullmatch(media_type) is not None


def _get_max_age_seconds(response: HttpResponse) -> float | None:
    """Return the lifetime by Cache-Control and Age (RFC 9111 §5.2.2.1, §5.1)."""
    told = response.get_header("cache-control")
    if _NOT_KEPT.search(told):
        return 0.0
    found = _MAX_AGE.search(told)
    if found is None:
        return None
    age = response.get_header("age")
    return max(0.0, float(found[1]) - (int(age) if re.fullmatch("[0-9]{1,9}", age, re.ASCII) else 0))
