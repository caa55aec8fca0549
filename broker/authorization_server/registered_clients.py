"""Clients that an administrator registers: made, listed, switched off, removed. A secret is shown once."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import orjson

from broker.authorization_server.client_authentication import hash_client_secret
from broker.authorization_server.client_keys import validate_jwks
from broker.authorization_server.client_registry import (
    AUTHORIZATION_CODE,
    BROWSER_GRANTS,
    CLIENT_CREDENTIALS,
    GRANT_TYPES,
    JWT_BEARER,
    MAX_CLIENT_NAME_LENGTH,
    REFRESH_TOKEN,
    UNNAMED_CLIENT,
    AuthMethod,
    Client,
    build_registered_client,
    sanitize_client_name,
)
from broker.authorization_server.redirect_uris import check_redirect_uri
from broker.identity.peppers import Peppers
from core.audit.event import AuditEventKind
from core.db import Database, Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.directory.versions import lock_version, record_change
from core.errors import Invalid, LimitReached, NotFound
from core.known_clients import ToolResultFormat
from core.scopes import ALL_SCOPES, MCP_SCOPES
from core.secret import Secret
from core.token_format import BASE62_ALPHABET, SECRET_LENGTH, TOKEN_PREFIX
from core.tool_exposure import normalize_exposure_setting

MAX_CLIENTS = 500
MAX_REDIRECT_URIS = 20
AUTH_METHODS: tuple[AuthMethod, ...] = ("none", "client_secret_basic", "client_secret_post", "private_key_jwt")
SECRET_PREFIX = TOKEN_PREFIX + "secret_"
"""Begins as API tokens do, so that what masks those in logs masks this too; it can be taken for none of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewClient:
    """Registration request of an administrator.

    `user_id` is the user that a machine client acts as; `jwks` are its public keys for private_key_jwt. Without
    `tool_result_format` or `result_tokens` the default is that of the known client (core.known_clients), without
    `tool_exposure` that of each user's roles.
    """

    name: str
    auth_method: AuthMethod = "none"
    redirect_uris: tuple[str, ...] = ()
    grant_types: frozenset[str] = BROWSER_GRANTS
    scopes: frozenset[str] = MCP_SCOPES
    user_id: UUID | None = None
    jwks: Mapping[str, Any] | None = None
    tool_result_format: ToolResultFormat | None = None
    result_tokens: int | None = None
    tool_exposure: str | None = None


@dataclass(frozen=True, slots=True)
class ListedClient:
    """A registered client as administrators see it."""

    client: Client
    user_email: str
    created_at: datetime
    disabled_at: datetime | None


class RegisteredClients:
    """The clients of all tenants, behind the broker's own database role: `database`."""

    def __init__(self, database: Database, peppers: Peppers, *, clock: Callable[[], datetime]) -> None:
        self.database = self._database = database
        self._peppers = peppers
        self._clock = clock

    async def create(self, actor: Actor, tenant_id: UUID, new_client: NewClient) -> tuple[Client, Secret | None]:
        """Register a client; with it its secret, if it has one, which nobody can be shown again.

        Raises:
            Invalid: what is asked for does not fit together; the text says what is missing.
            NotFound: the tenant has no such user, or they are suspended.
            LimitReached: the tenant has 500 clients.
        """
        client = _build_client(new_client, tenant_id)
        secret = _generate_secret() if client.auth_method.startswith("client_secret_") else None
        async with self._database.tenant(tenant_id) as work:
            if client.user_id is not None and not await work.fetchval(_ACTIVE, client.user_id):
                raise NotFound("no active user with this id; `mcpist user list` shows them")
            if await work.fetchval(_COUNT) >= MAX_CLIENTS:
                raise LimitReached(f"limit of {MAX_CLIENTS} clients per tenant reached; remove one first")
            await self._insert(work, client, secret)
            await audit_change(work, actor, AuditEventKind.CLIENT_CREATED, client=client.id, name=client.name)
        return client, secret

    async def list(self, tenant_id: UUID) -> list[ListedClient]:
        """The tenant's clients, newest first; those that are switched off too."""
        async with self._database.tenant(tenant_id) as work:
            return [_build_listed_client(row) for row in await work.fetch(_LIST)]

    async def change(
        self,
        actor: Actor,
        tenant_id: UUID,
        client_id: str,
        *,
        enabled: bool | None = None,
        tool_result_format: ToolResultFormat | Literal[""] | None = "",
        result_tokens: int | None = 0,
        tool_exposure: str | None = "",
        expected_version: int | None = None,
    ) -> None:
        """Switch a client on, or off: then everything that was ever granted to it ends within a second; say what it is
        sent beside a result's structured part, how large a result may be, and how tools are shown to it: with None,
        what is known of it decides, or its users' roles, and '' or 0 keeps it.

        Raises:
            NotFound: the tenant has no such client.
            Invalid: the exposure cannot be understood.
            VersionConflict: its version is not the expected one.
        """
        shown = "" if tool_exposure == "" else normalize_exposure_setting(tool_exposure)
        async with self._database.tenant(tenant_id) as work:
            if not await work.fetchval(_EXISTS, client_id):
                raise _build_not_found(client_id)
            await lock_version(work, "client", client_id, expected_version)
            await record_change(work, actor, "client", client_id)
            if tool_result_format != "":
                await self._set_tool_result_format(work, actor, client_id, tool_result_format)
            if result_tokens != 0:
                await self._set_result_tokens(work, actor, client_id, result_tokens)
            if shown != "":
                await self._set_tool_exposure(work, actor, client_id, shown)
            if enabled is not None:
                await self._set_enabled(work, actor, client_id, enabled)

    async def _set_enabled(self, work: UnitOfWork, actor: Actor, client_id: str, enabled: bool) -> None:
        await work.execute(_ENABLE, client_id, None if enabled else self._clock())
        ended = 0 if enabled else await work.execute(_END_GRANTS, client_id, self._clock(), "client_disabled")
        await audit_change(
            work, actor, AuditEventKind.CLIENT_CHANGED, client=client_id, enabled=int(enabled), grants_ended=ended
        )

    async def _set_tool_result_format(
        self, work: UnitOfWork, actor: Actor, client_id: str, tool_result_format: ToolResultFormat | None
    ) -> None:
        await work.execute(_SET_TOOL_RESULT_FORMAT, client_id, tool_result_format)
        await audit_change(
            work,
            actor,
            AuditEventKind.CLIENT_CHANGED,
            client=client_id,
            tool_result_format=tool_result_format or "default",
        )

    async def _set_result_tokens(
        self, work: UnitOfWork, actor: Actor, client_id: str, result_tokens: int | None
    ) -> None:
        await work.execute(_SET_RESULT_TOKENS, client_id, result_tokens)
        await audit_change(
            work, actor, AuditEventKind.CLIENT_CHANGED, client=client_id, result_tokens=result_tokens or "default"
        )

    async def _set_tool_exposure(
        self, work: UnitOfWork, actor: Actor, client_id: str, tool_exposure: str | None
    ) -> None:
        await work.execute(_SET_TOOL_EXPOSURE, client_id, tool_exposure)
        await audit_change(
            work, actor, AuditEventKind.CLIENT_CHANGED, client=client_id, tool_exposure=tool_exposure or "default"
        )

    async def remove(self, actor: Actor, tenant_id: UUID, client_id: str) -> None:
        """Forget a client and what people have agreed to for it; what was granted to it ends within a second.

        Raises:
            NotFound: the tenant has no such client.
        """
        async with self._database.tenant(tenant_id) as work:
            if not await work.execute(_REMOVE, client_id):
                raise _build_not_found(client_id)
            ended = await work.execute(_END_GRANTS, client_id, self._clock(), "client_removed")
            await work.execute(_END_CONSENTS, client_id)
            await audit_change(work, actor, AuditEventKind.CLIENT_REMOVED, client=client_id, grants_ended=ended)

    async def _insert(self, work: UnitOfWork, client: Client, secret: Secret | None) -> None:
        kid = self._peppers.active if secret else None
        hashed = hash_client_secret(self._peppers.keys[self._peppers.active], client.id, secret) if secret else None
        await work.execute(
            _INSERT,
            client.id,
            client.name,
            client.auth_method,
            kid,
            hashed,
            orjson.dumps(client.jwks).decode() if client.jwks is not None else None,
            list(client.redirect_uris),
            sorted(client.grant_types),
            sorted(client.scopes),
            client.user_id,
            self._clock(),
            client.tool_result_format,
            client.result_tokens,
            client.tool_exposure,
        )


def _build_client(new_client: NewClient, tenant_id: UUID) -> Client:
    name = sanitize_client_name(new_client.name)
    if name == UNNAMED_CLIENT or len(new_client.name) > MAX_CLIENT_NAME_LENGTH:
        raise Invalid(f"a client's name must have 1 to {MAX_CLIENT_NAME_LENGTH} visible characters")
    if new_client.auth_method not in AUTH_METHODS:
        raise Invalid(f"the client authentication method must be one of {', '.join(AUTH_METHODS)}")
    if not new_client.scopes or new_client.scopes - ALL_SCOPES:
        raise Invalid(f"scopes must be among {', '.join(sorted(ALL_SCOPES))}")
    _check_grant_types(new_client)
    _check_redirect_uris(new_client)
    if (new_client.auth_method == "private_key_jwt") != (new_client.jwks is not None):
        raise Invalid("a key set is required for private_key_jwt and not allowed for any other authentication method")
    return Client(
        id=f"client_{_generate_text(22)}",
        name=name,
        kind="registered",
        tenant_id=tenant_id,
        redirect_uris=new_client.redirect_uris,
        auth_method=new_client.auth_method,
        grant_types=new_client.grant_types,
        scopes=new_client.scopes,
        user_id=new_client.user_id,
        jwks=None if new_client.jwks is None else validate_jwks(new_client.jwks),
        tool_result_format=new_client.tool_result_format,
        result_tokens=new_client.result_tokens,
        tool_exposure=normalize_exposure_setting(new_client.tool_exposure),
    )


def _check_grant_types(new_client: NewClient) -> None:
    if not new_client.grant_types or new_client.grant_types - GRANT_TYPES:
        raise Invalid(f"grant types must be among {', '.join(sorted(GRANT_TYPES))}")
    if REFRESH_TOKEN in new_client.grant_types and AUTHORIZATION_CODE not in new_client.grant_types:
        raise Invalid("refresh_token requires the grant type authorization_code")
    if new_client.auth_method == "none" and new_client.grant_types & {CLIENT_CREDENTIALS, JWT_BEARER}:
        raise Invalid("a client of this grant type needs a secret or a key set to authenticate")
    if (CLIENT_CREDENTIALS in new_client.grant_types) != (new_client.user_id is not None):
        raise Invalid("a user to act as is required for client_credentials and not allowed for any other grant type")


def _check_redirect_uris(new_client: NewClient) -> None:
    if (AUTHORIZATION_CODE in new_client.grant_types) != bool(new_client.redirect_uris):
        raise Invalid("redirect URIs are required for authorization_code and not allowed for any other grant type")
    if len(new_client.redirect_uris) > MAX_REDIRECT_URIS or len(set(new_client.redirect_uris)) != len(
        new_client.redirect_uris
    ):
        raise Invalid(f"a client must have at most {MAX_REDIRECT_URIS} redirect URIs, without duplicates")
    for uri in new_client.redirect_uris:
        check_redirect_uri(uri)


def _generate_secret() -> Secret:
    return Secret(SECRET_PREFIX + _generate_text(SECRET_LENGTH))


def _generate_text(length: int) -> str:
    return "".join(secrets.choice(BASE62_ALPHABET) for _ in range(length))


def _build_listed_client(row: Row) -> ListedClient:
    return ListedClient(build_registered_client(row), row["user_email"] or "", row["created_at"], row["disabled_at"])


def _build_not_found(client_id: str) -> NotFound:
    return NotFound(f"there is no client {client_id[:100]!r}; `mcpist client list` shows them")


_ACTIVE = "SELECT EXISTS (SELECT FROM core.users WHERE tenant_id = $1 AND id = $2 AND status = 'active')"
_COUNT = "SELECT count(*) FROM auth.clients WHERE tenant_id = $1"
_INSERT = """INSERT INTO auth.clients (tenant_id, id, name, auth_method, pepper_kid, secret_hmac, jwks, redirect_uris,
    grant_types, scopes, user_id, created_at, result_text, result_tokens, tool_exposure)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"""
_LIST = """SELECT c.tenant_id, c.id, c.name, c.auth_method, c.jwks, c.redirect_uris, c.grant_types, c.scopes, c.user_id,
    c.result_text, c.result_tokens, c.tool_exposure, c.created_at, c.disabled_at, u.email AS user_email
    FROM auth.clients c LEFT JOIN core.users u ON u.tenant_id = c.tenant_id AND u.id = c.user_id
    WHERE c.tenant_id = $1 ORDER BY c.created_at DESC, c.id LIMIT 1000"""
_EXISTS = "SELECT true FROM auth.clients WHERE tenant_id = $1 AND id = $2"
_ENABLE = "UPDATE auth.clients SET disabled_at = $3 WHERE tenant_id = $1 AND id = $2"
_SET_TOOL_RESULT_FORMAT = "UPDATE auth.clients SET result_text = $3 WHERE tenant_id = $1 AND id = $2"
_SET_RESULT_TOKENS = "UPDATE auth.clients SET result_tokens = $3 WHERE tenant_id = $1 AND id = $2"
_SET_TOOL_EXPOSURE = "UPDATE auth.clients SET tool_exposure = $3 WHERE tenant_id = $1 AND id = $2"
_REMOVE = "DELETE FROM auth.clients WHERE tenant_id = $1 AND id = $2"
_END_GRANTS = """UPDATE auth.grants SET revoked_at = $3, cause = $4
    WHERE tenant_id = $1 AND client_id = $2 AND revoked_at IS NULL"""
_END_CONSENTS = "DELETE FROM auth.consents WHERE tenant_id = $1 AND client_id = $2"
