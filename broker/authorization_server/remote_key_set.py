"""The public keys of somebody else's server, from its JWK set (RFC 7517 §5): fetched seldom, kept on failure.

Whoever sends tokens chooses their key ids, so an unknown one causes at most one fetch a minute (threat-model.md
§2, row 17). A set that cannot be fetched anew goes on counting.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from joserfc.jwk import Key

from broker.authorization_server.jose import import_public_key
from core.concurrency.single_flight import SingleFlight
from core.errors import Unavailable

MAX_JWKS_BYTES = 256 * 1024
MAX_KEYS = 100
MIN_FETCH_INTERVAL_SECONDS = 60.0
FRESH_SECONDS = 600.0

FetchDocument = Callable[[str], Awaitable[bytes]]
"""A URL → the body of its answer, of at most MOST_BYTES. Raises OSError or ValueError where there is none."""

log = logging.getLogger(__name__)


class RemoteKeySet:
    """The keys of one server, by key id. `clock` gives seconds that never go back."""

    def __init__(self, url: str, fetch: FetchDocument, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._fetch = fetch
        self._clock = clock
        self._keys: Mapping[str, Key] | None = None
        self._read_at = 0.0
        self._asked_at: float | None = None
        self._flights = SingleFlight[str, None]()

    async def find(self, kid: str) -> Key | None:
        """The key of an id. A known one waits for nobody, even while its set is being fetched anew.

        Raises:
            core.errors.Unavailable: no set could ever be fetched.
        """
        known = self._keys.get(kid) if self._keys is not None else None
        if known is not None:
            if self._clock() - self._read_at >= FRESH_SECONDS:
                self._start_fetch()
            return known
        fetching = self._start_fetch()
        if fetching is not None:
            await asyncio.shield(fetching)
        if self._keys is None:
            raise Unavailable("the authorization server's keys cannot be fetched")
        return self._keys.get(kid)

    def _start_fetch(self) -> "asyncio.Task[None] | None":
        """The fetch that is under way, or a new one if the last began long enough ago."""
        now = self._clock()
        if self._url in self._flights:
            return self._flights.start(self._url, self._refetch)
        if self._asked_at is not None and now - self._asked_at < MIN_FETCH_INTERVAL_SECONDS:
            return None
        self._asked_at = now
        return self._flights.start(self._url, self._refetch)

    async def _refetch(self) -> None:
        try:
            found = parse_jwks(await self._fetch(self._url))
        except (OSError, ValueError, TimeoutError) as error:
            log.warning(
                "JWK set cannot be fetched or parsed; the last good one stays in use",
                extra={"event": "jwks_fetch_failed", "error": type(error).__name__},
            )
            return
        self._keys, self._read_at = found, self._clock()


def parse_jwks(body: bytes) -> dict[str, Key]:
    """The keys of a JWK set that have an id and may check signatures, by id.

    Raises:
        ValueError: it is no JWK set, or has too many keys, or two with the same id.
    """
    if len(body) > MAX_JWKS_BYTES:
        raise ValueError("too large")
    try:
        document: object = json.loads(body)
    except RecursionError:
        raise ValueError("too deep") from None
    listed = cast("dict[str, Any]", document).get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list) or len(cast("list[Any]", listed)) > MAX_KEYS:
        raise ValueError("no JWK set, or too many keys")
    return _index_by_id(cast("list[object]", listed))


def _index_by_id(listed: list[object]) -> dict[str, Key]:
    found: dict[str, Key] = {}
    for entry in listed:
        data = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        key, kid = import_public_key(data), data.get("kid")
        if key is None or not isinstance(kid, str) or not kid:
            continue
        if kid in found:
            raise ValueError("two keys have the same id")
        found[kid] = key
    return found
