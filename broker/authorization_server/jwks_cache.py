"""Public keys of other servers: JWK sets (RFC 7517 §5) that are fetched, and kept for a while."""

import asyncio
import json
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from joserfc.jwk import Key

from broker.authorization_server.jose import import_public_key
from core.concurrency.lru_cache import LruCache
from core.concurrency.single_flight import SingleFlight
from core.errors import Unavailable
from core.http.json_documents import JsonDocumentFetcher

MAX_JWKS_BYTES = 256 * 1024
MAX_REMOTE_KEYS = 100
MAX_KEY_SETS = 500
MIN_FETCH_INTERVAL_SECONDS = 60.0
FRESH_SECONDS = 600.0
"""Age at which a set is fetched again, while its keys stay in use."""
MAX_UNCHECKED_SECONDS = 3_600.0
"""Age at which a key waits for the fetch, so that one that was withdrawn is noticed."""
MAX_STALE_SECONDS = 86_400.0
"""Age at which a set whose server cannot be reached is used no more."""

FetchDocument = Callable[[str], Awaitable[bytes]]
"""A URL → the body of its answer, of at most MAX_JWKS_BYTES. Raises OSError or ValueError where there is none."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PublicKeySet:
    """Keys that may check signatures."""

    by_id: Mapping[str, Key]
    unnamed: tuple[Key, ...] = ()

    def select(self, kid: str) -> tuple[Key, ...]:
        """Return the key `kid`, or every key if `kid` is empty."""
        if not kid:
            return (*self.by_id.values(), *self.unnamed)
        return (self.by_id[kid],) if kid in self.by_id else ()


class RemoteKeySet:
    """The keys of one server, fetched at most once a minute. `clock` gives seconds that never go back."""

    def __init__(self, url: str, fetch: FetchDocument, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._fetch = fetch
        self._clock = clock
        self._keys = PublicKeySet({})
        self._read_at = -math.inf
        self._asked_at: float | None = None
        self._flights = SingleFlight[str, None]()

    async def find(self, kid: str) -> Key | None:
        """The key of an id. A known one waits for nobody while its set is less than an hour old.

        Raises:
            core.errors.Unavailable: no set could be fetched within the last day.
        """
        return next(iter(await self.find_candidates(kid)), None) if kid else None

    async def find_candidates(self, kid: str) -> tuple[Key, ...]:
        """The keys that may have made a signature: the key `kid`, or all where the token names none.

        Raises:
            core.errors.Unavailable: no set could be fetched within the last day.
        """
        keys, age = self._keys.select(kid), self._clock() - self._read_at
        if keys and age < FRESH_SECONDS:
            return keys
        fetching = self._start_fetch()
        if keys and age < MAX_UNCHECKED_SECONDS:
            return keys
        if fetching is not None:
            await asyncio.shield(fetching)
        if self._clock() - self._read_at >= MAX_STALE_SECONDS:
            raise Unavailable("the authorization server's keys cannot be fetched")
        return self._keys.select(kid)

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
            keys = parse_jwks(await self._fetch(self._url))
        except (OSError, ValueError, TimeoutError) as error:
            log.warning(
                "JWK set cannot be fetched or parsed; the last good one stays in use",
                extra={"event": "jwks_fetch_failed", "error": type(error).__name__},
            )
            return
        self._keys, self._read_at = keys, self._clock()


def parse_jwks(body: bytes) -> PublicKeySet:
    """The keys of a JWK set that may check signatures.

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
    if not isinstance(listed, list) or len(cast("list[Any]", listed)) > MAX_REMOTE_KEYS:
        raise ValueError("no JWK set, or too many keys")
    return _import_keys(cast("list[object]", listed))


def _import_keys(listed: list[object]) -> PublicKeySet:
    by_id: dict[str, Key] = {}
    unnamed: list[Key] = []
    for entry in listed:
        data = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        key, kid = import_public_key(data), data.get("kid")
        if key is None:
            continue
        if kid is None:
            unnamed.append(key)
        elif isinstance(kid, str) and kid:
            if kid in by_id:
                raise ValueError("two keys have the same id")
            by_id[kid] = key
    return PublicKeySet(by_id, tuple(unnamed))


class JwksCache:
    """Key sets by the URL that their owner publishes them at; those asked for last are kept.

    Sign-in has one of its own: its client may reach hosts that others' URLs must not lead to.
    """

    def __init__(self, documents: JsonDocumentFetcher, *, clock: Callable[[], float]) -> None:
        self._documents = documents
        self._clock = clock
        self._sets = LruCache[str, RemoteKeySet](MAX_KEY_SETS)

    def get_key_set(self, jwks_uri: str) -> RemoteKeySet:
        """Return the key set at `jwks_uri`; it is fetched when a key of it is looked for."""
        key_set = self._sets.get(jwks_uri)
        if key_set is None:
            key_set = RemoteKeySet(jwks_uri, self._fetch_jwks, clock=self._clock)
            self._sets.put(jwks_uri, key_set)
        return key_set

    async def _fetch_jwks(self, jwks_uri: str) -> bytes:
        return (await self._documents.fetch_document(jwks_uri, MAX_JWKS_BYTES)).body
