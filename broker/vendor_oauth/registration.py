"""How MCPist becomes a client of a server that it has only just met: by registering itself (RFC 7591), or by a document
about itself whose URL is its client id (draft-ietf-oauth-client-id-metadata-document-02).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import urlsplit

import orjson

from broker.providers.discovery import AUTH_METHODS
from broker.vendor_oauth import reasons
from broker.vendor_oauth.exchange import ErrorClass, Failed, RedactedExchange, VendorClient
from broker.vendor_oauth.fields import fields
from broker.vendor_oauth.sorting import Sorted, by_status, utc_now
from broker.vendor_oauth.wire import NoReply, Request, VendorHttp
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
class Registered:
    """A client made for us. `secret_expires_at` is in seconds since 1970, None if never; with `management_token` it can
    be changed at `management_url` (RFC 7592)."""

    client: VendorClient
    secret_expires_at: float | None
    management_url: str
    management_token: Secret | None


def metadata(name: str, redirect_uris: Sequence[str], auth_method: str, scopes: Sequence[str] = ()) -> dict[str, Any]:
    """What MCPist says of itself, either way."""
    told: dict[str, Any] = {
        "client_name": name,
        "redirect_uris": list(redirect_uris),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": _THEIR_NAMES[auth_method],
        "application_type": _application_type(redirect_uris),
    }
    return told | ({"scope": " ".join(scopes)} if scopes else {})


def client_document(url: str, name: str, redirect_uris: Sequence[str]) -> dict[str, Any]:
    """The document to be served at `url`, which is then our client id."""
    return {"client_id": url, **metadata(name, redirect_uris, "none")}


def document_client(url: str, settings: Mapping[str, str] = _NOTHING) -> VendorClient:
    """The client whose document is at `url`."""
    return VendorClient(url, None, "none", settings)


async def register(
    http: VendorHttp,
    url: str,
    auth_method: str,
    *,
    name: str,
    redirect_uris: Sequence[str],
    scopes: Sequence[str] = (),
    initial_token: Secret | None = None,
    settings: Mapping[str, str] = _NOTHING,
) -> Registered | Failed:
    """Register at the registration endpoint `url`, to prove ourselves by `auth_method` (ours); `settings` become those
    of the client."""
    body = orjson.dumps(metadata(name, redirect_uris, auth_method, scopes))
    headers = {"Content-Type": "application/json"}
    if initial_token is not None:
        headers["Authorization"] = f"Bearer {initial_token.reveal()}"
    began = http.clock()
    reply = await http.ask(Request("POST", url, headers, body))
    seconds = http.clock() - began
    if isinstance(reply, NoReply):
        return _failed(url, reply.status, Sorted(reply.cls, reply.reason), seconds)
    answer = fields(reply.body)
    if reply.status in (200, 201) and answer is not None and (made := _registered(answer, auth_method, settings)):
        return made
    found = by_status(reply, utc_now())
    if 200 <= reply.status < 300:
        found = Sorted(ErrorClass.UNCERTAIN, reasons.UNREADABLE)
    elif found.cls is ErrorClass.SERVICE and reply.status in (400, 401, 403):
        error = answer.get("error") if answer is not None else None
        known = error if isinstance(error, str) and error in _ERRORS else ""
        found = Sorted(ErrorClass.SERVICE, reasons.REGISTRATION_REFUSED, vendor_error=known)
    return _failed(url, reply.status, found, seconds)


async def unregister(http: VendorHttp, made: Registered) -> None:
    """Give back a client that nobody will use (RFC 7592 §2.3), where the server has told how. What it says is not
    looked at: such a client can do nothing."""
    if made.management_token is None:
        return
    headers = {"Authorization": f"Bearer {made.management_token.reveal()}"}
    await http.ask(Request("DELETE", made.management_url, headers))


def _application_type(redirect_uris: Sequence[str]) -> str:
    """A client on a person's own machine is a native one (OpenID Connect Registration 1.0 §2): web ones have https."""
    hosts = {urlsplit(uri).hostname for uri in redirect_uris if uri.startswith("http://")}
    return "native" if hosts and hosts <= _LOOPBACK else "web"


def _registered(answer: Mapping[str, Any], auth_method: str, settings: Mapping[str, str]) -> Registered | None:
    """What the answer says (RFC 7591 §3.2.1); None where it cannot be used. The server may have chosen another way to
    authenticate than we asked for."""
    client_id, secret = _text(answer, "client_id", MOST_ID), _text(answer, "client_secret", MOST_SECRET)
    told = answer.get("token_endpoint_auth_method", _THEIR_NAMES[auth_method])
    method = AUTH_METHODS.get(told) if isinstance(told, str) else None
    if not client_id or method is None or (method != "none" and not secret):
        return None
    if told == _THEIR_NAMES[auth_method]:
        method = auth_method
    client = VendorClient(client_id, Secret(secret) if secret else None, method, settings)
    expires = answer.get("client_secret_expires_at")
    managed, token = _text(answer, "registration_client_uri", MOST_ID), _text(answer, "registration_access_token", 4096)
    return Registered(
        client,
        float(cast("float", expires)) if _is_moment(expires) else None,
        managed,
        Secret(token) if token and managed else None,
    )


def _is_moment(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 10**11


def _text(answer: Mapping[str, Any], key: str, most: int) -> str:
    value = answer.get(key)
    usable = isinstance(value, str) and len(value) <= most and value.isascii() and value.isprintable()
    return cast("str", value) if usable else ""


def _failed(url: str, status: int | None, found: Sorted, seconds: float) -> Failed:
    parts = urlsplit(url)
    exchange = RedactedExchange(
        parts.netloc, parts.path[:200], "register", seconds, status, found.cls, found.reason, found.vendor_error
    )
    return Failed(found.cls, found.reason, exchange, found.retry_after, status)
