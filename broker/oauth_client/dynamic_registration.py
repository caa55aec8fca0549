"""How MCPist becomes a client of a server that it has only just met: by registering itself (RFC 7591), or by a document
about itself whose URL is its client id (draft-ietf-oauth-client-id-metadata-document-02).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import urlsplit

import orjson

from broker.oauth_client.error_classifier import ClassifiedError, classify_by_status, utc_now
from broker.oauth_client.token_response import parse_fields
from broker.oauth_client.types import ErrorClass, OAuthClientConfig, RedactedExchange, VendorFailure
from broker.oauth_client.vendor_http import TransportFailure, VendorHttpClient, VendorRequest
from broker.providers import error_reasons
from broker.providers.discovery import AUTH_METHODS
from core.secret import Secret

MOST_ID = 1_000
MOST_SECRET = 4_096
# RFC 7591 §3.2.2
_ERRORS = frozenset(
    {"invalid_redirect_uri", "invalid_client_metadata", "invalid_software_statement", "unapproved_software_statement"}
)
_THEIR_NAMES = {ours: theirs for theirs, ours in AUTH_METHODS.items()} | {"basic_raw": "client_secret_basic"}
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RegisteredClient:
    """OAuth client registered for MCPist.

    `secret_expires_at` is in seconds since 1970, None if never; with `management_token` the client can be changed at
    `management_url` (RFC 7592).
    """

    client: OAuthClientConfig
    secret_expires_at: float | None
    management_url: str
    management_token: Secret | None


def build_client_metadata(
    name: str, redirect_uris: Sequence[str], auth_method: str, scopes: Sequence[str] = ()
) -> dict[str, Any]:
    """Build the client metadata of MCPist, for registration requests and for the client ID metadata document."""
    metadata: dict[str, Any] = {
        "client_name": name,
        "redirect_uris": list(redirect_uris),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": _THEIR_NAMES[auth_method],
        "application_type": _choose_application_type(redirect_uris),
    }
    return metadata | ({"scope": " ".join(scopes)} if scopes else {})


def build_client_document(url: str, name: str, redirect_uris: Sequence[str]) -> dict[str, Any]:
    """Build the client metadata document to be served at `url`, which is the client id."""
    return {"client_id": url, **build_client_metadata(name, redirect_uris, "none")}


def build_document_client(url: str, settings: Mapping[str, str] = _NOTHING) -> OAuthClientConfig:
    """Build the client whose document is at `url`."""
    return OAuthClientConfig(url, None, "none", settings)


async def register_client(
    http: VendorHttpClient,
    url: str,
    auth_method: str,
    *,
    name: str,
    redirect_uris: Sequence[str],
    scopes: Sequence[str] = (),
    initial_token: Secret | None = None,
    settings: Mapping[str, str] = _NOTHING,
) -> RegisteredClient | VendorFailure:
    """Register at the registration endpoint `url`, to prove ourselves by `auth_method` (ours); `settings` become those
    of the client."""
    body = orjson.dumps(build_client_metadata(name, redirect_uris, auth_method, scopes))
    headers = {"Content-Type": "application/json"}
    if initial_token is not None:
        headers["Authorization"] = f"Bearer {initial_token.reveal()}"
    began = http.clock()
    reply = await http.send(VendorRequest("POST", url, headers, body))
    seconds = http.clock() - began
    if isinstance(reply, TransportFailure):
        return _build_failure(url, reply.status, ClassifiedError(reply.error_class, reply.reason), seconds)
    answer = parse_fields(reply.body)
    if (
        reply.status in (200, 201)
        and answer is not None
        and (registered := _parse_registration(answer, auth_method, settings))
    ):
        return registered
    classified = classify_by_status(reply, utc_now())
    if 200 <= reply.status < 300:
        classified = ClassifiedError(ErrorClass.UNCERTAIN, error_reasons.UNREADABLE)
    elif classified.error_class is ErrorClass.SERVICE and reply.status in (400, 401, 403):
        error = answer.get("error") if answer is not None else None
        reason = error if isinstance(error, str) and error in _ERRORS else ""
        classified = ClassifiedError(ErrorClass.SERVICE, error_reasons.REGISTRATION_REFUSED, vendor_error=reason)
    return _build_failure(url, reply.status, classified, seconds)


async def unregister_client(http: VendorHttpClient, client: RegisteredClient) -> None:
    """Give back a client that nobody will use (RFC 7592 §2.3), where the server has told how. What it says is not
    looked at: such a client can do nothing."""
    if client.management_token is None:
        return
    headers = {"Authorization": f"Bearer {client.management_token.reveal()}"}
    await http.send(VendorRequest("DELETE", client.management_url, headers))


def _choose_application_type(redirect_uris: Sequence[str]) -> str:
    """A client on a person's own machine is a native one (OpenID Connect Registration 1.0 §2): web ones have https."""
    hosts = {urlsplit(uri).hostname for uri in redirect_uris if uri.startswith("http://")}
    return "native" if hosts and hosts <= _LOOPBACK else "web"


def _parse_registration(
    answer: Mapping[str, Any], auth_method: str, settings: Mapping[str, str]
) -> RegisteredClient | None:
    """Parse a registration response (RFC 7591 §3.2.1); None if it cannot be used.

    The server may have chosen another client authentication method than the requested one.
    """
    client_id, secret = _read_text(answer, "client_id", MOST_ID), _read_text(answer, "client_secret", MOST_SECRET)
    auth_name = answer.get("token_endpoint_auth_method", _THEIR_NAMES[auth_method])
    method = AUTH_METHODS.get(auth_name) if isinstance(auth_name, str) else None
    if not client_id or method is None or (method != "none" and not secret):
        return None
    if auth_name == _THEIR_NAMES[auth_method]:
        method = auth_method
    client = OAuthClientConfig(client_id, Secret(secret) if secret else None, method, settings)
    expires = answer.get("client_secret_expires_at")
    managed, token = (
        _read_text(answer, "registration_client_uri", MOST_ID),
        _read_text(answer, "registration_access_token", 4096),
    )
    return RegisteredClient(
        client,
        float(cast("float", expires)) if _is_timestamp(expires) else None,
        managed,
        Secret(token) if token and managed else None,
    )


def _is_timestamp(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 10**11


def _read_text(answer: Mapping[str, Any], key: str, most: int) -> str:
    value = answer.get(key)
    usable = isinstance(value, str) and len(value) <= most and value.isascii() and value.isprintable()
    return cast("str", value) if usable else ""


def _build_failure(url: str, status: int | None, classified: ClassifiedError, seconds: float) -> VendorFailure:
    parts = urlsplit(url)
    exchange = RedactedExchange(
        parts.netloc,
        parts.path[:200],
        "register",
        seconds,
        status,
        classified.error_class,
        classified.reason,
        classified.vendor_error,
    )
    return VendorFailure(classified.error_class, classified.reason, exchange, classified.retry_after, status)
