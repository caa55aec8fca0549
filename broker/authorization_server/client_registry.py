"""The programs that ask for tokens: registered by an administrator, by themselves, or by a document of their own."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol
from uuid import UUID

import orjson

from broker.authorization_server.client_trust import TRUSTS_ALL, ClientTrustReader
from broker.authorization_server.errors import OAuthError
from core.db import Database, Row
from core.known_clients import ToolResultFormat
from core.scopes import ALL_SCOPES, MCP_SCOPES

ClientKind = Literal["registered", "dynamic", "metadata"]
AuthMethod = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]

AUTHORIZATION_CODE = "authorization_code"
REFRESH_TOKEN = "refresh_token"  # noqa: S105 the name of a grant
CLIENT_CREDENTIALS = "client_credentials"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
BROWSER_GRANTS = frozenset({AUTHORIZATION_CODE, REFRESH_TOKEN})
GRANT_TYPES = BROWSER_GRANTS | {CLIENT_CREDENTIALS, JWT_BEARER}

DYNAMIC_ID_PATTERN = re.compile(r"dyn_[0-9A-Za-z]{22}")
REGISTERED_ID_PATTERN = re.compile(r"[0-9A-Za-z_-]{8,100}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client that may be asked with now. `name` was chosen by a stranger unless `kind` is registered.

    `user_id` is whom it acts as where no person is there (client credentials). Keys for `private_key_jwt` are in `jwks`
    or at `jwks_uri`. `verified_host` is the host whose owner vouches for a metadata client, else empty.
    `tool_result_format`, `result_tokens` (core.known_clients) and `tool_exposure` are settings of a registered client.
    """

    id: str
    name: str
    kind: ClientKind
    tenant_id: UUID | None = None
    redirect_uris: tuple[str, ...] = ()
    auth_method: AuthMethod = "none"
    grant_types: frozenset[str] = BROWSER_GRANTS
    scopes: frozenset[str] = MCP_SCOPES
    user_id: UUID | None = None
    jwks: Mapping[str, Any] | None = None
    jwks_uri: str = ""
    verified_host: str = ""
    tool_result_format: ToolResultFormat | None = None
    result_tokens: int | None = None
    tool_exposure: str | None = None


@dataclass(frozen=True, slots=True)
class SecretHash:
    """The HMAC of a client's secret, and which pepper it was made with."""

    pepper_kid: str
    hmac: bytes


class ClientMetadataLookup(Protocol):
    """Find clients whose id is the URL of a metadata document.

    :class:`broker.authorization_server.client_metadata.ClientMetadataResolver` says how the two differ.
    """

    async def find(self, url: str) -> Client | None: ...

    async def read(self, url: str) -> Client: ...


class ClientRegistry:
    """All clients of the deployment. Without `metadata` no URL is a client's id. `trust` tells whether clients that
    have registered themselves still count; `built_in` come with the product.
    """

    def __init__(
        self,
        database: Database,
        metadata: ClientMetadataLookup | None,
        *,
        clock: Callable[[], datetime],
        trust: ClientTrustReader = TRUSTS_ALL,
        built_in: Iterable[Client] = (),
    ) -> None:
        self._database = database
        self._metadata = metadata
        self._clock = clock
        self._trust = trust
        self._built_in = {client.id: client for client in built_in}

    async def find(self, client_id: str) -> Client | None:
        """The client, None if there is none or it is disabled, or its tenant suspended.

        Raises:
            broker.authorization_server.client_document_reports.UnusableClientDocument: its id is the URL of an unusable
                document.
            core.errors.Unavailable: the database is away.
            core.errors.LimitReached: too many documents of that host were asked for lately.
        """
        if _is_url(client_id) and self._metadata is not None:
            return await self._metadata.read(client_id)
        client_and_secret = await self.find_with_secret(client_id)
        return client_and_secret[0] if client_and_secret else None

    async def find_with_secret(self, client_id: str) -> tuple[Client, SecretHash | None] | None:
        """The client and what its secret is checked by; None too if its metadata document is of no use.

        Raises:
            core.errors.Unavailable: the database is away, or a metadata document's server.
            core.errors.LimitReached: too many documents of that host were asked for lately.
        """
        if client_id in self._built_in:
            return self._built_in[client_id], None
        if _is_url(client_id):
            client = await self._metadata.find(client_id) if self._metadata else None
            return (client, None) if client else None
        if DYNAMIC_ID_PATTERN.fullmatch(client_id):
            counts = (await self._trust.get()).dynamic_registration
            client = await self._find_dynamic(client_id) if counts else None
            return (client, None) if client else None
        return await self._find_registered(client_id) if REGISTERED_ID_PATTERN.fullmatch(client_id) else None

    async def record_use(self, client: Client) -> None:
        """Remember, to the day, that a client has got tokens: one that registered itself and has none is forgotten."""
        if client.kind == "dynamic":
            await self._database.call(_USED, client.id, self._clock())

    async def _find_dynamic(self, client_id: str) -> Client | None:
        rows = await self._database.lookup("lookup_client", client_id, _DYNAMIC, client_id)
        return _build_dynamic_client(rows[0]) if rows else None

    async def _find_registered(self, client_id: str) -> tuple[Client, SecretHash | None] | None:
        rows = await self._database.lookup("lookup_client", client_id, _TENANT, client_id)
        if not rows:
            return None
        async with self._database.tenant(rows[0]["tenant_id"]) as work:
            row = await work.fetchrow(_REGISTERED, client_id)
        return (build_registered_client(row), _build_secret_hash(row)) if row else None


def _is_url(client_id: str) -> bool:
    return client_id.startswith(("https://", "http://"))


def get_machine_user(client: Client) -> tuple[UUID, UUID]:
    """Tenant and user that a machine acts as by client credentials: the one user that its administrator has named, with
    that user's roles and no others. Whether the user is active is asked when the grant is made.

    Raises:
        OAuthError: unauthorized_client, it is no machine or has not proved who it is.
    """
    if CLIENT_CREDENTIALS not in client.grant_types or client.auth_method == "none":
        raise OAuthError("unauthorized_client", "this client is not registered for client_credentials")
    if client.tenant_id is None or client.user_id is None:
        raise OAuthError("unauthorized_client", "this client is registered without a user to act as")
    return client.tenant_id, client.user_id


def build_registered_client(row: Row) -> Client:
    """From a row of auth.clients."""
    return Client(
        id=row["id"],
        name=row["name"],
        kind="registered",
        tenant_id=row["tenant_id"],
        redirect_uris=tuple(row["redirect_uris"]),
        auth_method=row["auth_method"],
        grant_types=frozenset(row["grant_types"]),
        scopes=frozenset(row["scopes"]),
        user_id=row["user_id"],
        jwks=orjson.loads(row["jwks"]) if row["jwks"] else None,
        tool_result_format=row["result_text"],
        result_tokens=row["result_tokens"],
        tool_exposure=row["tool_exposure"],
    )


def _build_secret_hash(row: Row) -> SecretHash | None:
    return SecretHash(row["pepper_kid"], row["secret_hmac"]) if row["secret_hmac"] is not None else None


def _build_dynamic_client(row: Row) -> Client:
    scopes = frozenset(row["scopes"]) & MCP_SCOPES
    uris = tuple(row["redirect_uris"])
    return Client(id=row["id"], name=row["name"], kind="dynamic", redirect_uris=uris, scopes=scopes)


_DYNAMIC = "SELECT id, name, redirect_uris, scopes FROM auth.dynamic_clients WHERE id = $1"
_TENANT = "SELECT tenant_id FROM auth.clients WHERE id = $1"
_REGISTERED = """SELECT c.tenant_id, c.id, c.name, c.auth_method, c.pepper_kid, c.secret_hmac, c.jwks, c.redirect_uris,
    c.grant_types, c.scopes, c.user_id, c.result_text, c.result_tokens, c.tool_exposure
    FROM auth.clients c JOIN core.tenants t ON t.tenant_id = c.tenant_id
    WHERE c.tenant_id = $1 AND c.id = $2 AND c.disabled_at IS NULL AND t.status = 'active'"""
_USED = """UPDATE auth.dynamic_clients SET last_used_at = $2::timestamptz
    WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2::timestamptz - interval '1 day')"""


MAX_CLIENT_NAME_LENGTH = 100
UNNAMED_CLIENT = "a program without a name"

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def sanitize_client_name(name: object) -> str:
    """Without control characters and whatever else is not seen or turns the writing round, on one line, 100 characters
    at most; "a program without a name" for one that has none."""
    if not isinstance(name, str):
        return UNNAMED_CLIENT
    visible = "".join(
        " " if sign.isspace() else sign for sign in name[: 10 * MAX_CLIENT_NAME_LENGTH] if _is_visible(sign)
    )
    return " ".join(visible.split())[:MAX_CLIENT_NAME_LENGTH].rstrip() or UNNAMED_CLIENT


def _is_visible(sign: str) -> bool:
    return sign.isspace() or unicodedata.category(sign) not in _UNSEEN


CLIENT_ADDRESS: ContextVar[str] = ContextVar("asker", default="")
"""The address that the request comes from, proxies taken into account; empty where there is none."""


CLI_CLIENT = Client(
    id="mcpist-cli",
    name="MCPist command line",
    kind="registered",
    redirect_uris=("http://127.0.0.1/callback",),
    scopes=ALL_SCOPES,
)
FIRST_PARTY_CLIENTS = (CLI_CLIENT,)
