"""Clients that register themselves (RFC 7591): off unless the operator switches it on, public clients only.

Whoever finds the URL can register, so names are untrusted, addresses and all together are held to a pace, and the table
has an end (threat-model.md §2, row 12).
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

import orjson

from broker.authorization_server.client_registry import AUTHORIZATION_CODE, BROWSER_GRANTS, sanitize_client_name
from broker.authorization_server.client_trust import ClientTrustReader
from broker.authorization_server.errors import OAuthError
from broker.authorization_server.redirect_uris import MAX_REDIRECT_URI_LENGTH, check_redirect_uri
from core.concurrency.rate_limits import CallerLimits, get_network
from core.db import Database
from core.errors import Invalid, LimitReached
from core.scopes import MCP_SCOPES, format_scopes
from core.token_format import BASE62_ALPHABET

MAX_ROWS = 10_000
MAX_REDIRECT_URIS = 10
UNUSED_AFTER = timedelta(days=90)
ABANDONED_AFTER = timedelta(days=1)
"""Age at which an unused client is deleted when the table is full: it was abandoned, or made to fill the table."""

PER_SECOND, BURST, MAX_CONCURRENT = 2.0, 100, 16
ADDRESS_PER_SECOND, ADDRESS_BURST, MAX_CONCURRENT_PER_ADDRESS = 0.1, 30, 4

REGISTRATION_CLOSED = (
    "clients do not register themselves at this MCPist: ask your administrator to register this one, in the console "
    "under Clients or by `mcpist client add NAME --redirect-uri URI`, and give it the client id that this shows"
)
"""Error description for clients while registration is disabled."""

_REPLACED_METHODS = ("none", "client_secret_basic", "client_secret_post")


@dataclass(frozen=True, slots=True)
class _RegistrationRequest:
    name: str
    redirect_uris: tuple[str, ...]
    application_type: str


class DynamicClientRegistration:
    """Registers clients. `clock` is the time of day, `seconds` never go back."""

    def __init__(
        self,
        database: Database,
        *,
        trust: ClientTrustReader,
        clock: Callable[[], datetime],
        seconds: Callable[[], float],
        most_rows: int = MAX_ROWS,
    ) -> None:
        self._database = database
        self._trust = trust
        self._clock = clock
        self._most_rows = most_rows
        self._all = CallerLimits(PER_SECOND, BURST, MAX_CONCURRENT, clock=seconds)
        self._per_address = CallerLimits(ADDRESS_PER_SECOND, ADDRESS_BURST, MAX_CONCURRENT_PER_ADDRESS, clock=seconds)
        self._one_by_one = asyncio.Lock()

    async def check_open(self) -> None:
        """Check that clients may register themselves now.

        Raises:
            OAuthError: access_denied, they may not.
        """
        if not (await self._trust.get()).dynamic_registration:
            raise OAuthError("access_denied", REGISTRATION_CLOSED, 403)

    async def register(self, document: bytes, address: str) -> dict[str, Any]:
        """Register the client that a JSON document describes; the body of the answer, whose status is 201.

        Raises:
            OAuthError: access_denied, registration is off; invalid_redirect_uri or invalid_client_metadata;
                temporarily_unavailable, too many have registered.
            core.errors.Unavailable: the database is away.
        """
        await self.check_open()
        network = get_network(address)
        with self._count_registration(network):
            registration = _parse_request(document)
            return _build_response(await self._insert_client(registration), registration, self._clock())

    async def sweep(self) -> int:
        """Forget clients that were not used for 90 days; how many."""
        return await self._database.call(_SWEEP_UNUSED, self._clock() - UNUSED_AFTER)

    @contextlib.contextmanager
    def _count_registration(self, network: str) -> Generator[None]:
        with contextlib.ExitStack() as stack:
            try:
                stack.callback(self._per_address.enter(network))
                stack.callback(self._all.enter(""))
            except LimitReached as limit:
                raise _build_limit_error(429, limit.retry_after) from None
            yield

    async def _insert_client(self, registration: _RegistrationRequest) -> str:
        """The new client's id. One at a time, so the limit is one in this process (and one more in each other)."""
        client_id = "dyn_" + "".join(secrets.choice(BASE62_ALPHABET) for _ in range(22))
        async with self._one_by_one:
            values = (
                registration.name,
                list(registration.redirect_uris),
                registration.application_type,
                sorted(MCP_SCOPES),
                self._clock(),
            )
            if await self._database.call(_INSERT, client_id, *values, self._most_rows) is None:
                await self.sweep()
                await self._database.call(_SWEEP_ABANDONED, self._clock() - ABANDONED_AFTER)
                if await self._database.call(_INSERT, client_id, *values, self._most_rows) is None:
                    raise _build_limit_error(503, 3_600.0)
        return client_id


def _parse_request(document: bytes) -> _RegistrationRequest:
    metadata = _parse_object(document)
    if "software_statement" in metadata:
        raise OAuthError("unapproved_software_statement", "software statements are not supported")
    if metadata.get("token_endpoint_auth_method", "none") not in _REPLACED_METHODS:
        raise OAuthError("invalid_client_metadata", "token_endpoint_auth_method must be none")
    if not _includes(metadata, "grant_types", AUTHORIZATION_CODE) or not _includes(metadata, "response_types", "code"):
        raise OAuthError(
            "invalid_client_metadata", "only the grant type authorization_code with the response type code is supported"
        )
    uris = _parse_redirect_uris(metadata.get("redirect_uris"))
    return _RegistrationRequest(
        sanitize_client_name(metadata.get("client_name")), uris, _choose_application_type(metadata, uris)
    )


def _parse_object(document: bytes) -> Mapping[str, Any]:
    try:
        metadata = orjson.loads(document)
    except orjson.JSONDecodeError:
        metadata = None
    if not isinstance(metadata, dict):
        raise OAuthError("invalid_client_metadata", "the body must be a JSON object")
    return cast("dict[str, Any]", metadata)


def _parse_redirect_uris(value: object) -> tuple[str, ...]:
    uris = cast("list[Any]", value) if isinstance(value, list) else []
    if not 1 <= len(uris) <= MAX_REDIRECT_URIS:
        raise OAuthError("invalid_redirect_uri", f"redirect_uris must be an array of 1 to {MAX_REDIRECT_URIS} URIs")
    for uri in uris:
        if not isinstance(uri, str) or len(uri) > MAX_REDIRECT_URI_LENGTH:
            raise OAuthError(
                "invalid_redirect_uri",
                f"a redirect URI must be a string of at most {MAX_REDIRECT_URI_LENGTH} characters",
            )
        try:
            check_redirect_uri(uri)
        except Invalid as problem:
            raise OAuthError("invalid_redirect_uri", str(problem)) from None
    return tuple(dict.fromkeys(cast("list[str]", uris)))


def _choose_application_type(document: Mapping[str, Any], uris: tuple[str, ...]) -> str:
    """A client whose answers stay on the person's machine is a native one, whatever it says (RFC 8252 §8.4)."""
    application_type = document.get("application_type", "web")
    if application_type not in ("web", "native"):
        raise OAuthError("invalid_client_metadata", "application_type must be web or native")
    return "web" if application_type == "web" and all(uri.startswith("https:") for uri in uris) else "native"


def _includes(document: Mapping[str, Any], name: str, expected: str) -> bool:
    value = document.get(name)
    return value is None or (isinstance(value, list) and expected in value)


def _build_response(client_id: str, registration: _RegistrationRequest, now: datetime) -> dict[str, Any]:
    """Build the response: the metadata as registered, which may differ from the request (RFC 7591 §3.2.1)."""
    return {
        "client_id": client_id,
        "client_id_issued_at": int(now.timestamp()),
        "client_name": registration.name,
        "redirect_uris": list(registration.redirect_uris),
        "token_endpoint_auth_method": "none",
        "grant_types": sorted(BROWSER_GRANTS),
        "response_types": ["code"],
        "application_type": registration.application_type,
        "scope": format_scopes(MCP_SCOPES),
    }


def _build_limit_error(status: int, seconds: float) -> OAuthError:
    wait = {"Retry-After": str(max(1, round(seconds + 0.5)))}
    return OAuthError(
        "temporarily_unavailable", "too many clients have registered lately; try again later", status, wait
    )


_INSERT = """INSERT INTO auth.dynamic_clients (id, name, redirect_uris, application_type, scopes, created_at)
    SELECT $1, $2, $3, $4, $5, $6 WHERE (SELECT count(*) FROM auth.dynamic_clients) < $7 RETURNING id"""
_SWEEP_UNUSED = """WITH gone AS (DELETE FROM auth.dynamic_clients WHERE coalesce(last_used_at, created_at) < $1
    RETURNING 1) SELECT count(*) FROM gone"""
_SWEEP_ABANDONED = """WITH gone AS (DELETE FROM auth.dynamic_clients WHERE last_used_at IS NULL AND created_at < $1
    RETURNING 1) SELECT count(*) FROM gone"""
