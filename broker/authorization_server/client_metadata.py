"""Clients whose id is the URL of a document about them (draft-ietf-oauth-client-id-metadata-document-02).

Anybody can make us fetch such a document without signing in, so what is asked, how often, and what is kept is bounded
(threat-model.md §2, row 13).
"""

import asyncio
import contextlib
import re
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, cast
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from broker.authorization_server.client_document_reports import ClientDocumentReporter, UnusableClientDocument
from broker.authorization_server.client_keys import validate_jwks
from broker.authorization_server.client_registry import (
    AUTHORIZATION_CODE,
    CLIENT_ADDRESS,
    UNNAMED_CLIENT,
    AuthMethod,
    Client,
    sanitize_client_name,
)
from broker.authorization_server.client_trust import TRUSTS_ALL, ClientTrustReader
from broker.authorization_server.redirect_uris import check_redirect_uri
from core.concurrency.rate_limits import CallerLimits, get_network
from core.errors import Invalid, LimitReached, Unavailable
from core.http.json_documents import DocumentFailure, DocumentUnavailable, JsonDocumentFetcher

MAX_URL_LENGTH = 500
MAX_DOCUMENT_BYTES = 5 * 1024
MAX_REDIRECT_URIS = 20
MAX_CACHED_CLIENTS = 1_000
MIN_FRESH_SECONDS, MAX_FRESH_SECONDS = 300.0, 86_400.0
FAILURE_CACHE_SECONDS = 60.0

FETCHES_PER_SECOND, MAX_CONCURRENT_FETCHES, FETCH_BURST = 2.0, 16, 100
HOST_PER_SECOND, MAX_CONCURRENT_PER_HOST, HOST_BURST = 1 / 6, 4, 20
ADDRESS_PER_SECOND, MAX_CONCURRENT_PER_ADDRESS, ADDRESS_BURST = 1 / 6, 4, 20
"""Of one address that asks us: whoever has a host for each document must not use up what all share."""

_URL = re.compile(r"https?://[0-9A-Za-z._:\[\]-]+/(?P<path>[0-9A-Za-z\-._~/!$&'()*+,;=:@%]+)")


@dataclass(slots=True)
class _CachedClient:
    client: Client
    fetched_at: float
    fresh_until: float


class ClientMetadataResolver:
    """Finds clients by their document. `trust` has patterns such as ``*.example.com`` of hosts that may have one, none
    where documents are switched off; `clock` gives seconds that never go back."""

    def __init__(
        self,
        documents: JsonDocumentFetcher,
        *,
        trust: ClientTrustReader = TRUSTS_ALL,
        clock: Callable[[], float],
        reports: ClientDocumentReporter | None = None,
    ) -> None:
        self._documents = documents
        self._reports = reports
        self._trust = trust
        self._clock = clock
        self._good: OrderedDict[str, _CachedClient] = OrderedDict()
        self._bad: OrderedDict[str, tuple[float, DocumentFailure]] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._all = CallerLimits(FETCHES_PER_SECOND, FETCH_BURST, MAX_CONCURRENT_FETCHES, clock=clock)
        self._per_host = CallerLimits(HOST_PER_SECOND, HOST_BURST, MAX_CONCURRENT_PER_HOST, clock=clock)
        self._per_asker = CallerLimits(ADDRESS_PER_SECOND, ADDRESS_BURST, MAX_CONCURRENT_PER_ADDRESS, clock=clock)

    async def find(self, url: str) -> Client | None:
        """Like :meth:`read` for whoever needs no cause: None if there is no such document, or it is not right.

        Raises:
            Unavailable: its server cannot be asked now.
            LimitReached: too many documents were asked for lately.
        """
        try:
            return await self.read(url)
        except UnusableClientDocument as unusable:
            if unusable.cause == "unreachable":
                raise _build_unavailable(unusable.retry_after) from None
            return None

    async def read(self, url: str) -> Client:
        """The client that the document at `url` describes.

        Raises:
            UnusableClientDocument: none comes of it; with the cause.
            LimitReached: too many documents were asked for lately.
        """
        try:
            return await self._read(url)
        except UnusableClientDocument as unusable:
            if self._reports is not None and unusable.cause != "form":
                await self._reports.report(unusable.host, unusable.cause)
            raise

    async def _read(self, url: str) -> Client:
        await self._check(url)
        if (client := self._get_cached(url)) is not None:
            return client
        # Whoever comes meanwhile for the same document waits for this fetch.
        async with self._locks.setdefault(url, asyncio.Lock()):
            return self._get_cached(url) or await self._fetch_client(url)

    async def _check(self, url: str) -> None:
        match = _URL.fullmatch(url) if len(url) <= MAX_URL_LENGTH else None
        host = _get_host(url)
        if match is None or _has_dot_segments(match["path"]) or not host:
            raise UnusableClientDocument("form")
        trusted = (await self._trust.get()).client_metadata_hosts
        if not trusted:
            raise UnusableClientDocument("off", host)
        if not any(fnmatchcase(host, pattern.lower()) for pattern in trusted):
            raise UnusableClientDocument("host", host)
        if not self._documents.is_askable(url):
            raise UnusableClientDocument("refused", host)

    def _get_cached(self, url: str) -> Client | None:
        """A client that is fresh; None if its document has to be fetched.

        Raises:
            UnusableClientDocument: it was asked for in vain within the last minute.
        """
        now = self._clock()
        cached = self._good.get(url)
        if cached is not None and now < cached.fresh_until:
            self._good.move_to_end(url)
            return cached.client
        until, trouble = self._bad.get(url, (0.0, "wrong"))
        if now >= until:
            return None
        raise UnusableClientDocument(trouble, _get_host(url), until - now)

    async def _fetch_client(self, url: str) -> Client:
        # An old acquaintance is asked again however much others ask of its host.
        allowed = contextlib.nullcontext() if url in self._good else self._limit_fetch(url)
        try:
            with allowed:
                document = await self._documents.fetch_document(url, MAX_DOCUMENT_BYTES)
                client = parse_client_document(url, document.parse_object())
        except DocumentUnavailable as problem:
            return self._cache_failure(url, problem.trouble)
        if client is None:
            return self._cache_failure(url, "wrong")
        self._cache_client(url, client, document.max_age_seconds)
        return client

    @contextlib.contextmanager
    def _limit_fetch(self, url: str) -> Generator[None]:
        """Count a fetch in and out: of the address that asks us, of the host, and of all together."""
        host, asker = (urlsplit(url).hostname or "").removesuffix("."), get_network(CLIENT_ADDRESS.get())
        counted = [(self._per_asker, asker)] if asker else []
        with contextlib.ExitStack() as stack:
            try:
                for limits, key in (*counted, (self._per_host, host), (self._all, "")):
                    stack.callback(limits.enter(key))
            except LimitReached as limit:
                message = "too many client metadata documents were asked for lately; try again in a moment"
                raise LimitReached(message, limit.retry_after) from None
            yield

    def _cache_client(self, url: str, client: Client, fresh_seconds: float | None) -> None:
        now = self._clock()
        self._bad.pop(url, None)
        self._good[url] = _CachedClient(
            client, now, now + min(max(fresh_seconds or 0.0, MIN_FRESH_SECONDS), MAX_FRESH_SECONDS)
        )
        self._good.move_to_end(url)
        if len(self._good) > MAX_CACHED_CLIENTS:
            self._good.popitem(last=False)

    def _cache_failure(self, url: str, trouble: DocumentFailure) -> Client:
        """Remember that there is none now. While a server is away, what it said within the last day counts.

        Raises:
            UnusableClientDocument: it has said nothing within the last day.
        """
        now, cached = self._clock(), self._good.get(url)
        if cached is not None and trouble == "unreachable" and now < cached.fetched_at + MAX_FRESH_SECONDS:
            cached.fresh_until = now + FAILURE_CACHE_SECONDS
            return cached.client
        self._good.pop(url, None)
        self._bad[url] = (now + FAILURE_CACHE_SECONDS, trouble)
        self._bad.move_to_end(url)
        if len(self._bad) > MAX_CACHED_CLIENTS:
            self._bad.popitem(last=False)
        raise UnusableClientDocument(trouble, _get_host(url), FAILURE_CACHE_SECONDS)


def parse_client_document(url: str, content: Mapping[str, Any]) -> Client | None:
    """The client that a document at `url` describes; None if it breaks the draft's rules (§4.1) or MCP's.

    Redirect URIs that we send no answer to are passed over, as long as one is left.
    """
    name, uris = sanitize_client_name(content.get("client_name")), _parse_redirect_uris(content.get("redirect_uris"))
    if content.get("client_id") != url or "client_secret" in content or name == UNNAMED_CLIENT or not uris:
        return None
    if not _includes(content, "grant_types", AUTHORIZATION_CODE) or not _includes(content, "response_types", "code"):
        return None
    keys = _parse_keys(url, content)
    if keys is None:
        return None
    method, jwks, jwks_uri = keys
    return Client(
        id=url,
        name=name,
        kind="metadata",
        redirect_uris=uris,
        auth_method=method,
        jwks=jwks,
        jwks_uri=jwks_uri,
        verified_host=urlsplit(url).netloc,
    )


def _parse_keys(url: str, content: Mapping[str, Any]) -> tuple[AuthMethod, Mapping[str, Any] | None, str] | None:
    """How the client proves who it is: by nothing, or by keys that stand in the document or on the same host."""
    method = content.get("token_endpoint_auth_method", "none")
    if method == "none":
        return "none", None, ""
    jwks, jwks_uri = content.get("jwks"), content.get("jwks_uri")
    if method != "private_key_jwt" or (jwks is None) == (jwks_uri is None):
        return None
    if jwks_uri is not None:
        # Of another host's, one document each would let anybody send us there as often as they like.
        same = isinstance(jwks_uri, str) and len(jwks_uri) <= MAX_URL_LENGTH and jwks_uri.startswith(_get_origin(url))
        return ("private_key_jwt", None, cast("str", jwks_uri)) if same else None
    try:
        return "private_key_jwt", validate_jwks(jwks), ""
    except Invalid:
        return None


def _parse_redirect_uris(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or len(cast("list[Any]", value)) > MAX_REDIRECT_URIS:
        return ()
    return tuple(uri for uri in cast("list[Any]", value) if isinstance(uri, str) and _is_usable(uri))


def _is_usable(uri: str) -> bool:
    try:
        check_redirect_uri(uri)
    except Invalid:
        return False
    return True


def _includes(content: Mapping[str, Any], name: str, expected: str) -> bool:
    value = content.get(name)
    return value is None or (isinstance(value, list) and expected in value)


def _has_dot_segments(path: str) -> bool:
    return any(re.sub("%2e", ".", part, flags=re.IGNORECASE) in (".", "..") for part in path.split("/"))


def _get_host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # half an IPv6 address
        return ""


def _get_origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"


def _build_unavailable(seconds: float) -> Unavailable:
    return Unavailable("the client's metadata document cannot be fetched now; try again in a minute", seconds)
