"""Parts of files that a vendor has, or to which it gives a link at a file store.

The link is as good as a credential for its file: it is in no text, log or answer. What is sent to it is a bare request.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from core.http.outbound_addresses import AddressNotAllowed, AllowedAddresses
from gateway.vendor_session.answer_reader import ExchangeFailure
from gateway.vendor_session.connection_pool import TooManyConnections, VendorConnectFailure
from gateway.vendor_session.module_headers import format_header_lines, format_request_head, validate_headers
from gateway.vendor_session.part_reader import PART, WHOLE, PartReader, parse_content_range
from gateway.vendor_session.target import MAX_URL_LENGTH, VendorTarget
from gateway.vendor_session.vendor_client import MAX_REDIRECTS, OutgoingRequest, VendorClient
from gateway.vendor_session.vendor_connection import ConnectionRoute
from gateway.vendor_session.vendor_endpoint import DEFAULT_HEADERS
from gateway.vendor_session.vendor_problems import EXCHANGE_ERRORS, REDIRECT_STATUSES, classify_error
from modules.kit import Download, VendorAnswer, VendorProblem
from modules.kit.vendor import MAX_DOWNLOAD_BYTES, TRY_LATER, VendorProblemKind

BEHIND_THE_END = 416
MAX_MEDIA_TYPE_LENGTH = 200

_VISIBLE = re.compile(r"[!-~]+", re.ASCII)


async def download_part(
    client: VendorClient,
    path: str,
    *,
    limit: int,
    offset: int,
    query: Mapping[str, Any] | None,
    headers: Mapping[str, str] | None,
) -> Download:
    """Read a part of a file with the settings and credential of `client`; see :meth:`modules.kit.Vendor.download`."""
    limit = min(limit, MAX_DOWNLOAD_BYTES)
    if limit < 1 or offset < 0:
        raise VendorProblem("invalid", "a download begins at 0 or later and has at least one byte")
    part = _PartClient.from_client(client, offset, limit + 1)  # one more tells whether that was the end
    try:
        answer = await part.request("GET", path, query=query, headers=headers)
    except VendorProblem as problem:
        if problem.answer is None or problem.answer.status != BEHIND_THE_END:
            raise
        answer = problem.answer
    return _build_download(answer, offset, limit)


def _build_download(answer: VendorAnswer, offset: int, limit: int) -> Download:
    media_type = answer.headers.get("content-type", "")[:MAX_MEDIA_TYPE_LENGTH]
    if answer.status in (PART, BEHIND_THE_END):
        _, size = parse_content_range(answer.headers.get("content-range", "").encode("latin-1"))
    elif answer.status == WHOLE and answer.headers.get("content-encoding", "identity").lower() == "identity":
        length = answer.headers.get("content-length", "")
        size = int(length) if length.isdecimal() else None
    else:
        size = None
    if answer.status == BEHIND_THE_END:
        return Download(b"", "", size, None)
    content = answer.body[:limit]
    end = offset + len(content)
    is_end = len(answer.body) <= limit and (size is None or end >= size or not content)
    return Download(content, media_type, size, None if is_end else end)


class _PartClient(VendorClient, eq=False):
    """Requests for `_count` bytes from `_offset` on, which go on to a file store without the credential."""

    _offset: int = 0
    _count: int = 0

    @classmethod
    def from_client(cls, client: VendorClient, offset: int, count: int) -> "_PartClient":
        return cls(client._access, client._lease, client._deadline, client._first_lease, _offset=offset, _count=count)

    @property
    def _part_headers(self) -> dict[str, str]:
        # A part of something packed could not be unpacked, so nothing is to be packed.
        return {"accept-encoding": "identity", "range": f"bytes={self._offset}-{self._offset + self._count - 1}"}

    def _format_lines(self, method: str, body: bytes | None, headers: Mapping[str, str] | None) -> str:
        fields = validate_headers(headers) if headers else {}
        return format_header_lines({**self._access.endpoint.headers, **fields, **self._part_headers})

    async def _exchange(self, request: OutgoingRequest, target: str, lines: str) -> VendorAnswer:
        return await self._fetch(self._access.route, request, target, lines)

    async def _fetch(self, route: ConnectionRoute, request: OutgoingRequest, target: str, lines: str) -> VendorAnswer:
        seconds_left = request.deadline - self._access.clock()
        if seconds_left <= 0:
            raise TimeoutError
        reader, head = PartReader(self._offset, self._count), format_request_head("GET", target, lines)
        return await self._access.pool.exchange(route, self._access.owner, reader, head, seconds_left)

    async def _follow_redirects(
        self, request: OutgoingRequest, lines: str, answer: VendorAnswer
    ) -> VendorAnswer | ExchangeFailure:
        """Follow redirects below the base URL as every request does, and others without the credential, from where
        none comes back to it."""
        place = self._access.target
        url, is_bare = f"{place.origin}{request.target}", False
        for _ in range(MAX_REDIRECTS):
            location = answer.headers.get("location", "")
            inside = None if is_bare else place.resolve_redirect(url, location)
            if inside is not None:
                answer, url = await self._exchange(request, inside.removeprefix(place.origin), lines), inside
            else:
                outside = self._resolve_outside(url, location)
                if outside is None:
                    text = "the vendor's link to the file leads to an address from where MCPist fetches nothing"
                    return ExchangeFailure("refused", text)
                fetched = await self._fetch_outside(request, *outside)
                if isinstance(fetched, ExchangeFailure):
                    return fetched
                answer, url, is_bare = fetched, "".join((outside[0].origin, outside[1])), True
            if answer.status not in REDIRECT_STATUSES:
                return _check_store_answer(answer) if is_bare else answer
        return ExchangeFailure("refused", "the vendor's link to the file leads to too many further links")

    def _resolve_outside(self, current: str, location: str) -> tuple[VendorTarget, str] | None:
        """Resolve a link into host and request target; None where MCPist may not go."""
        if not _VISIBLE.fullmatch(location) or "\\" in location or len(location) > MAX_URL_LENGTH:
            return None
        try:
            split = urlsplit(urljoin(current, location))
            if split.scheme not in ("https", "http") or (split.scheme == "http" and current.startswith("https:")):
                return None
            target = VendorTarget.from_base_url(f"{split.scheme}://{split.netloc}", self._access.transport.allow)
        except (ValueError, VendorProblem):
            return None
        if not self._may_reach(target.route):
            return None
        return target, f"{split.path or '/'}{'?' if split.query else ''}{split.query}"

    def _may_reach(self, route: ConnectionRoute) -> bool:
        """Check whether a link may lead there. Private hosts are the operator's to list for services that are there:
        no vendor outside chooses one of them."""
        private_hosts, own = self._access.transport.allow.private_hosts, self._access.route
        return (own.host, own.port) in private_hosts or (
            (route.host, route.port) not in private_hosts
            and AllowedAddresses(ports=self._access.transport.allow.ports).allows(
                route.host, route.port, secure=route.secure
            )
        )

    async def _fetch_outside(
        self, request: OutgoingRequest, target: VendorTarget, path: str
    ) -> VendorAnswer | ExchangeFailure:
        lines = format_header_lines({"host": target.host, **DEFAULT_HEADERS, **self._part_headers})
        try:
            return await self._fetch(target.route, request, path, lines)
        except EXCHANGE_ERRORS as error:
            return _classify_store_error(error)


def _check_store_answer(answer: VendorAnswer) -> VendorAnswer | ExchangeFailure:
    """Let a file through. A refusal of the store's says nothing of the credential, nor of the vendor's limits; after a
    passing one, the vendor is asked for a new link."""
    if answer.status < 400 or answer.status == BEHIND_THE_END:
        return answer
    kind: VendorProblemKind = "not_found" if answer.status in (404, 410) else "unavailable"
    text = f"the vendor's link to the file does not work (its store answers {answer.status})"
    return ExchangeFailure(kind, text, TRY_LATER if kind == "unavailable" else "", transient=answer.status >= 500)


def _classify_store_error(error: Exception) -> ExchangeFailure:
    if isinstance(error, TooManyConnections | TimeoutError) or not isinstance(error, VendorConnectFailure):
        return classify_error(error)
    if isinstance(error.cause, AddressNotAllowed):
        text = "the vendor's link to the file leads to an address from where MCPist fetches nothing"
        return ExchangeFailure("refused", text)
    return ExchangeFailure("unavailable", "the vendor's file store cannot be reached", TRY_LATER, transient=True)
