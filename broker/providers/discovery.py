"""Discovery of authorization server metadata (RFC 8414, OpenID Connect Discovery 1.0) and of the authorization server
of a protected resource (RFC 9728).

Runs once, when an administrator sets up an OAuth client; its result is stored in the client's settings, so that no
refresh depends on it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import urlsplit

from broker.providers.metadata_reader import (
    MetadataReader,
    MetadataUnavailable,
    list_resource_metadata_urls,
    list_server_metadata_urls,
    split_origin,
)
from core.errors import Invalid, Unavailable
from core.http.json_documents import JsonDocumentFetcher

MOST_ENTRIES = 200
MOST_SERVERS = 20
LONGEST_URL = 1000

AUTH_METHODS: Mapping[str, str] = MappingProxyType(
    {"client_secret_basic": "basic", "client_secret_post": "post", "none": "none"}
)
"""Their names (RFC 7591 §2) → ours, the best first."""

_ISSUER = re.compile(r"https?://[0-9a-z.\-_\[\]:]+(/[0-9A-Za-z\-._~!$&'()*+,;=:@%/]*)?")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")


@dataclass(frozen=True, slots=True)
class ServerMetadata:
    """An authorization server, checked. URLs that it does not have are empty."""

    issuer: str
    authorize_url: str
    token_url: str
    revoke_url: str
    userinfo_url: str
    registration_url: str
    auth_methods: tuple[str, ...]
    """Ours, the best first."""
    scopes: tuple[str, ...]
    sends_issuer: bool
    """Every authorization answer has ``iss`` (RFC 9207 §3)."""
    supports_client_documents: bool
    """A client id may be the URL of a document about the client (CIMD)."""
    is_open_id: bool

    @property
    def provider_id(self) -> str:
        """The generic provider that suits it."""
        return "oidc" if self.is_open_id else "oauth2"

    def build_settings(self, resource: str = "") -> dict[str, str]:
        """The settings of an OAuth client of :attr:`provider_id`; `resource` is what tokens are for (RFC 8707)."""
        values = {"issuer": self.issuer, "authorize_url": self.authorize_url, "token_url": self.token_url}
        values |= {"revoke_url": self.revoke_url}
        if not self.is_open_id:
            values |= {"userinfo_url": self.userinfo_url, "resource": resource}
        return values


@dataclass(frozen=True, slots=True)
class ResourceMetadata:
    """A protected resource: what tokens for it are for, and who issues them."""

    resource: str
    authorization_servers: tuple[str, ...]
    scopes: tuple[str, ...]


class MetadataDiscovery:
    """Finds metadata. Whatever is wrong is told to the administrator who has typed the URL."""

    def __init__(self, documents: JsonDocumentFetcher) -> None:
        self._documents = documents
        self._reader = MetadataReader(documents)

    async def fetch_server_metadata(self, issuer: str) -> ServerMetadata:
        """The authorization server of that issuer.

        Raises:
            Invalid: the URL is none, may not be reached, or there is no metadata that says the same issuer.
            Unavailable: its server cannot be asked now.
        """
        if len(issuer) > LONGEST_URL or not _ISSUER.fullmatch(issuer):
            raise Invalid("an issuer must be a URL with https://, a host in lower case, and no query or fragment")
        urls = list_server_metadata_urls(issuer)
        document = await self._fetch(urls, "authorization server metadata", lambda named: named == issuer)
        return self._build_server_metadata(issuer, document)

    async def fetch_resource_metadata(self, url: str, hint: str = "") -> ResourceMetadata:
        """The metadata of the protected resource at `url`; `told` is where its 401 says that it is.

        Raises:
            Invalid: the URL may not be reached, or there is no metadata for this resource.
            Unavailable: its server cannot be asked now.
        """
        if len(url) > LONGEST_URL or not _ISSUER.fullmatch(url):
            raise Invalid("a resource must be a URL with https://, a host in lower case, and no query or fragment")
        places = ([hint] if hint else []) + list_resource_metadata_urls(url)
        document = await self._fetch(places, "protected resource metadata")
        resource, servers = (
            document.get("resource"),
            _filter_texts(document.get("authorization_servers"))[:MOST_SERVERS],
        )
        if not isinstance(resource, str) or not _covers(resource, url):
            raise Invalid("the metadata is for another resource than this URL")
        if not servers:
            raise Invalid("the resource metadata lists no authorization server; register a client manually")
        return ResourceMetadata(resource, servers, _read_scopes(document))

    async def _fetch(
        self, urls: list[str], what: str, is_issuer: Callable[[str], bool] | None = None
    ) -> Mapping[str, Any]:
        try:
            return await self._reader.fetch(urls, is_issuer=is_issuer)
        except MetadataUnavailable as error:
            failure = error.failure
        if failure == "refused":
            raise Invalid("MCPist is not allowed to reach that host; MCPIST_ALLOWED_PRIVATE_HOSTS lists exceptions")
        if failure == "issuer":
            raise Invalid("the server's metadata names another issuer; copy it exactly, including a trailing slash")
        if failure == "unreachable":
            raise Unavailable("the server cannot be reached; try again in a minute", 60.0)
        raise Invalid(f"there is no {what} at that URL; give its endpoints by hand")

    def _build_server_metadata(self, issuer: str, document: Mapping[str, Any]) -> ServerMetadata:
        _check_capabilities(document)
        plain = issuer.startswith("http://")
        return ServerMetadata(
            issuer=issuer,
            authorize_url=_read_browser_url(document, "authorization_endpoint", plain=plain),
            token_url=self._read_url(document, "token_endpoint", needed=True),
            revoke_url=self._read_url(document, "revocation_endpoint"),
            userinfo_url=self._read_url(document, "userinfo_endpoint"),
            registration_url=self._read_url(document, "registration_endpoint"),
            auth_methods=_select_auth_methods(document),
            scopes=_read_scopes(document),
            sends_issuer=document.get("authorization_response_iss_parameter_supported") is True,
            supports_client_documents=document.get("client_id_metadata_document_supported") is True,
            is_open_id="openid" in _filter_texts(document.get("scopes_supported")) and "jwks_uri" in document,
        )

    def _read_url(self, document: Mapping[str, Any], key: str, *, needed: bool = False) -> str:
        value = document.get(key)
        if value is None and not needed:
            return ""
        if not isinstance(value, str) or len(value) > LONGEST_URL or not self._documents.is_askable(value):
            raise Invalid(f"the server's {key} is missing, or a URL that MCPist is not allowed to reach")
        return value


def _covers(resource: str, url: str) -> bool:
    """Check whether `url` is the resource or below it (RFC 9728 §3.3; a server may have one document for all of it)."""
    if resource == url:
        return True
    origin, path = split_origin(resource)
    requested_origin, requested_path = split_origin(url)
    return origin == requested_origin and f"{requested_path}/".startswith(f"{path}/")


def _check_capabilities(document: Mapping[str, Any]) -> None:
    """Check the published capabilities; an absent one is assumed, because only OAuth 2.1 servers must publish all."""
    for key, needed in (
        ("code_challenge_methods_supported", "S256"),
        ("grant_types_supported", "authorization_code"),
        ("response_types_supported", "code"),
    ):
        if key in document and needed not in _filter_texts(document[key]):
            raise Invalid(f"the server lacks a required capability: {needed} is not in its {key}")


def _read_browser_url(document: Mapping[str, Any], key: str, *, plain: bool) -> str:
    value = document.get(key)
    schemes = ("https", "http") if plain else ("https",)
    if isinstance(value, str) and len(value) <= LONGEST_URL and value.isascii() and value.isprintable():
        parts = urlsplit(value)
        if parts.scheme in schemes and parts.hostname and "@" not in parts.netloc and not parts.fragment:
            return value
    raise Invalid(f"the server's {key} is missing, or no URL that a browser may be sent to")


def _select_auth_methods(document: Mapping[str, Any]) -> tuple[str, ...]:
    supported = _filter_texts(document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"]))
    methods = tuple(name for standard_name, name in AUTH_METHODS.items() if standard_name in supported)
    if not methods:
        raise Invalid(f"the server supports none of {', '.join(AUTH_METHODS)} at its token endpoint")
    return methods


def _read_scopes(document: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(scope for scope in _filter_texts(document.get("scopes_supported")) if _SCOPE.fullmatch(scope))


def _filter_texts(value: object) -> tuple[str, ...]:
    many = cast("list[Any]", value)[:MOST_ENTRIES] if isinstance(value, list) else []
    return tuple(entry for entry in many if isinstance(entry, str) and len(entry) <= LONGEST_URL)
