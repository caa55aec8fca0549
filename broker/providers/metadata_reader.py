"""Metadata of other authorization servers (RFC 8414, OpenID Connect Discovery 1.0) and of protected resources
(RFC 9728), as connecting, trusted issuers and sign-in read it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from core.http.json_documents import DocumentUnavailable, JsonDocumentFetcher

MAX_METADATA_BYTES = 64 * 1024

MetadataFailure = Literal["refused", "issuer", "unreachable", "wrong"]
_BY_WEIGHT: tuple[MetadataFailure, ...] = ("refused", "issuer", "unreachable", "wrong")


class MetadataUnavailable(OSError):
    """Raised where there is no metadata. `refused`: a URL may not be requested; `issuer`: it names another issuer;
    `unreachable`: a later attempt may succeed; `wrong`: there is none at any of the URLs."""

    def __init__(self, failure: MetadataFailure) -> None:
        super().__init__(failure)
        self.failure: MetadataFailure = failure


class MetadataReader:
    """Fetches metadata. Nothing is kept."""

    def __init__(self, documents: JsonDocumentFetcher) -> None:
        self._documents = documents

    async def fetch(
        self, urls: Iterable[str], *, is_issuer: Callable[[str], bool] | None = None, needed: str = ""
    ) -> Mapping[str, Any]:
        """The first document that there is, whose `issuer` passes `is_issuer` and which has the field `needed`.

        Raises:
            MetadataUnavailable: there is none. A document that cannot be reached may be the right one.
        """
        failures: set[MetadataFailure] = set()
        for url in urls:
            try:
                document = (await self._documents.fetch_document(url, MAX_METADATA_BYTES)).parse_object()
            except DocumentUnavailable as error:
                failures.add(error.trouble)
                continue
            issuer = document.get("issuer")
            if is_issuer is not None and not (isinstance(issuer, str) and is_issuer(issuer)):
                failures.add("issuer")
            elif needed and not isinstance(document.get(needed), str):
                failures.add("wrong")
            else:
                return document
        for failure in _BY_WEIGHT:
            if failure in failures:
                raise MetadataUnavailable(failure)
        raise MetadataUnavailable("wrong")


def get_openid_url(issuer: str) -> str:
    """Return the metadata URL of an OpenID provider (OpenID Connect Discovery 1.0 §4)."""
    return issuer.removesuffix("/") + "/.well-known/openid-configuration"


def list_server_metadata_urls(issuer: str) -> list[str]:
    """In the order of MCP's authorization specification: RFC 8414 §3.1, and OpenID Connect Discovery 1.0 §4."""
    origin, path = split_origin(issuer)
    places = [f"{origin}/.well-known/{name}{path}" for name in ("oauth-authorization-server", "openid-configuration")]
    return [*places, get_openid_url(f"{origin}{path}")] if path else places


def list_resource_metadata_urls(url: str) -> list[str]:
    """List the URLs of a protected resource's metadata, the most specific first (RFC 9728 §3.1)."""
    origin, path = split_origin(url)
    places = [f"{origin}/.well-known/oauth-protected-resource{path}"]
    return [*places, f"{origin}/.well-known/oauth-protected-resource"] if path else places


def split_origin(url: str) -> tuple[str, str]:
    """Split a URL into its origin and its path, without a trailing slash."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
