"""Public keys of clients and trusted issuers, from JWK sets (RFC 7517 §5): registered, or fetched and kept."""

import asyncio
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, cast

from joserfc.jwk import Key

from broker.authorization_server.jose import InvalidToken, SignedJwt, import_public_key
from core.concurrency.single_flight import SingleFlight
from core.errors import Invalid, Unavailable
from core.http.json_documents import JsonDocumentFetcher

MAX_JWKS_BYTES = 256 * 1024
MAX_REMOTE_KEYS = 100
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
    if not isinstance(listed, list) or len(cast("list[Any]", listed)) > MAX_REMOTE_KEYS:
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


ALGORITHMS = frozenset({"RS256", "ES256"})
MAX_KEYS = 10
MAX_CANDIDATES = 5
"""Keys that are tried where an assertion does not say which one has signed it."""
MAX_KEY_SETS = 500

_PRIVATE = ("d", "p", "q", "dp", "dq", "qi", "oth", "k")


def validate_jwks(document: object) -> dict[str, Any]:
    """A key set that somebody registers, with its public keys and nothing else.

    Raises:
        Invalid: it holds a private key, or one that cannot check RS256 or ES256 signatures, or none.
    """
    given = _list_keys(document)
    if not 1 <= len(given) <= MAX_KEYS:
        raise Invalid(f'key set must be {{"keys": [...]}} with 1 to {MAX_KEYS} keys')
    if any(name in key for key in given for name in _PRIVATE):
        raise Invalid("the key set contains a private key; generate a new key pair and send only the public key")
    if any(_import_key(one) is None for one in given):
        raise Invalid("keys must be RSA keys of at least 2048 bits or EC keys on the curve P-256")
    return {"keys": [{name: value for name, value in key.items() if isinstance(value, str)} for key in given]}


def parse_client_keys(document: object) -> tuple[Key, ...]:
    """Those keys of a set that can check RS256 or ES256 signatures; others are passed over (RFC 7517 §5)."""
    return tuple(key for one in _list_keys(document)[:MAX_KEYS] if (key := _import_key(one)) is not None)


def verify_with_keys(assertion: SignedJwt, keys: Iterable[Key]) -> Mapping[str, Any]:
    """The claims, if one of `keys` has signed them: the one that the assertion names, or any if it names none.

    Raises:
        InvalidToken: none has.
    """
    candidates = [key for key in keys if not assertion.kid or key.kid == assertion.kid]
    for key in candidates[:MAX_CANDIDATES]:
        try:
            return assertion.verify_claims(key, ALGORITHMS)
        except InvalidToken:
            continue
    raise InvalidToken("signature" if candidates else "kid")


class JwksCache:
    """Key sets by the URL that their owner publishes them at; those asked for last are kept."""

    def __init__(self, documents: JsonDocumentFetcher, *, clock: Callable[[], float]) -> None:
        self._documents = documents
        self._clock = clock
        self._sets: OrderedDict[str, RemoteKeySet] = OrderedDict()

    async def verify_assertion(self, assertion: SignedJwt, jwks_uri: str) -> Mapping[str, Any]:
        """The claims, if the key has signed them that the assertion names and `jwks_uri` has.

        Raises:
            InvalidToken: it has not.
            core.errors.Unavailable: the keys were never there to be fetched.
        """
        if not assertion.kid:
            raise InvalidToken("kid")
        key = await self._get_key_set(jwks_uri).find(assertion.kid)
        if key is None:
            raise InvalidToken("kid")
        return assertion.verify_claims(key, ALGORITHMS)

    def _get_key_set(self, jwks_uri: str) -> RemoteKeySet:
        if jwks_uri not in self._sets:
            self._sets[jwks_uri] = RemoteKeySet(jwks_uri, self._fetch_jwks, clock=self._clock)
        self._sets.move_to_end(jwks_uri)
        if len(self._sets) > MAX_KEY_SETS:
            self._sets.popitem(last=False)
        return self._sets[jwks_uri]

    async def _fetch_jwks(self, jwks_uri: str) -> bytes:
        return (await self._documents.fetch_document(jwks_uri, MAX_JWKS_BYTES)).body


def _list_keys(document: object) -> list[Mapping[str, Any]]:
    keys = cast("Mapping[str, Any]", document).get("keys") if isinstance(document, Mapping) else None
    if not isinstance(keys, list):
        return []
    return [cast("Mapping[str, Any]", key) for key in cast("list[Any]", keys) if isinstance(key, Mapping)]


def _import_key(data: Mapping[str, Any]) -> Key | None:
    """RSA and P-256 only: what RS256 and ES256 are made with."""
    fits = data.get("kty") == "RSA" or (data.get("kty"), data.get("crv")) == ("EC", "P-256")
    return import_public_key(data) if fits and data.get("alg", "RS256") in ALGORITHMS else None
