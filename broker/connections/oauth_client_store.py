"""Our OAuth clients at vendors: registered by an administrator, for a whole tenant or for one role's members."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from broker.connections.account_repository import insert_client, update_client
from broker.connections.account_snapshot import build_client_context
from broker.oauth_client.client_assertion import (
    MAX_PEM_LENGTH,
    PEM_FORM,
    PRIVATE_KEY_JWT,
    read_signing_certificate,
)
from broker.oauth_client.error_classifier import utc_now
from broker.oauth_client.types import OAuthClientConfig
from broker.providers.catalogue import ProviderRegistry
from broker.providers.custom import get_url_origin
from broker.providers.schema import Provider
from broker.providers.templates import list_outbound_urls, resolve_settings
from broker.vault.vault import Vault
from core.audit.event import AuditEventKind
from core.db import Database, Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.directory.versions import ObjectVersion, check_version
from core.errors import Conflict, Invalid, NotFound
from core.secret import Secret

MAX_SECRET_LENGTH = 4_096
MAX_CLIENT_ID_LENGTH = 500


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """All that may be shown of a client: everything but its secret. `accounts` is how many were connected by it;
    lists of the API do not tell `version`."""

    id: UUID
    provider: str
    role_id: UUID | None
    role: str
    client_id: str
    has_secret: bool
    auth_method: str
    settings: Mapping[str, str]
    state: str
    cause: str
    accounts: int
    created_at: datetime
    updated_at: datetime
    version: int = 0


@dataclass(frozen=True, slots=True)
class OAuthClientRegistration:
    """What an administrator gives. Without a `secret` the stored one stays, if the client id does."""

    provider: str
    client_id: str
    secret: Secret | None = None
    role_id: UUID | None = None
    auth_method: str = ""
    settings: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class SealedOAuthClient:
    """The client that counts for somebody, with what it is kept under."""

    id: UUID
    provider: str
    role_id: UUID | None
    state: str
    version: int
    client_id: str
    sealed_secret: bytes | None
    auth_method: str
    settings: Mapping[str, str]


class OAuthClientStore:
    """The OAuth clients of all tenants, behind the broker's own database role."""

    def __init__(
        self,
        database: Database,
        vault: Vault,
        book: ProviderRegistry,
        *,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._clock = clock
        self._database = database
        self._vault = vault
        self._book = book

    async def register(
        self,
        actor: Actor,
        tenant_id: UUID,
        registration: OAuthClientRegistration,
        *,
        expected_version: int | None = None,
    ) -> UUID:
        """Store a client in the place of the one that tenant (or role) has at the provider; its id. The version of one
        that is not stored yet is 0.

        Raises:
            VersionConflict: the stored version is not the expected one.
            Invalid: the provider has no OAuth, or something that it needs is missing or has the wrong form.
            NotFound: the tenant has no such provider or role.
            Conflict: accounts were connected by another client id, which their tokens belong to.
        """
        async with self._database.tenant(tenant_id) as work:
            provider = await self._validate(work, registration)
            row = await work.fetchrow(_FIND, registration.provider, registration.role_id)
            if row is None and expected_version:
                raise NotFound("this OAuth client was removed meanwhile")
            check_version(ObjectVersion(0) if row is None else ObjectVersion(row["version"]), expected_version)
            if row is None:
                return await self._insert(work, actor, registration, provider)
            return await self._replace(work, actor, registration, provider, row)

    async def add_automatic(
        self, actor: Actor, tenant_id: UUID, provider: str, client: OAuthClientConfig, by: str
    ) -> bool:
        """Store a client that nobody has registered, for the whole tenant; False where it has one by now.

        Raises:
            NotFound: the tenant has no such provider any more.
        """
        try:
            async with self._database.tenant(tenant_id) as work:
                if await self._book.find_and_lock(work, provider) is None:
                    raise NotFound("the provider was deleted")
                row_id = await insert_client(work, self._vault, provider, client)
                detail = {"client": str(row_id), "provider": provider, "role": "", "by": by}
                await audit_change(
                    work, actor, AuditEventKind.OAUTH_CLIENT_SET, client_id=client.client_id[:200], **detail
                )
        except Conflict:
            return False
        return True

    async def list(self, tenant_id: UUID) -> list[OAuthClient]:
        """The tenant's clients by provider, its own before those of roles; at most 1,000."""
        async with self._database.tenant(tenant_id) as work:
            return [_build_listed_client(row) for row in await work.fetch(_CLIENTS, None)]

    async def get(self, tenant_id: UUID, client_id: UUID) -> OAuthClient:
        """One client of the tenant.

        Raises:
            NotFound: the tenant has no such client.
        """
        async with self._database.tenant(tenant_id) as work:
            row = await work.fetchrow(_CLIENTS, client_id)
        if row is None:
            raise NotFound("there is no such OAuth client; `mcpist oauth-client list` shows them")
        return _build_listed_client(row)

    async def remove(self, actor: Actor, tenant_id: UUID, client_id: UUID) -> None:
        """Forget a client, and every account that was connected by it: nobody could refresh those.

        Raises:
            NotFound: the tenant has no such client.
        """
        async with self._database.tenant(tenant_id) as work:
            await work.execute(_UNTIE, client_id)
            row = await work.fetchrow(_REMOVE, client_id)
            if row is None:
                raise NotFound("there is no such OAuth client; `mcpist oauth-client list` shows them")
            detail = {"client": str(client_id), "provider": row["provider"], "role": str(row["role_id"] or "")}
            await audit_change(work, actor, AuditEventKind.OAUTH_CLIENT_REMOVED, **detail)

    async def find_for_roles(
        self, work: UnitOfWork, provider: str, role_ids: Sequence[UUID]
    ) -> SealedOAuthClient | None:
        """The client for somebody with these roles, the highest first: the first role's that has one, else the
        tenant's."""
        row = await work.fetchrow(_CHOOSE, provider, list(role_ids))
        return None if row is None else _build_sealed_client(row)

    async def list_registered_providers(self, work: UnitOfWork, role_ids: Sequence[UUID]) -> frozenset[str]:
        """The providers that have a client for somebody with these roles."""
        return frozenset(row["provider"] for row in await work.fetch(_REGISTERED, list(role_ids)))

    async def find(self, work: UnitOfWork, row_id: UUID) -> SealedOAuthClient | None:
        """One client by its id."""
        row = await work.fetchrow(_BY_ID, row_id)
        return None if row is None else _build_sealed_client(row)

    async def decrypt_client(self, work: UnitOfWork, client: SealedOAuthClient) -> OAuthClientConfig:
        """The client with its secret.

        Raises:
            broker.vault.envelope.DecryptionError: it was changed in the database.
        """
        secret = None
        if client.sealed_secret is not None:
            plain = await self._vault.open(work, build_client_context(client.id, client.version), client.sealed_secret)
            secret = Secret(plain.decode())
        return OAuthClientConfig(client.client_id, secret, client.auth_method, client.settings)

    async def _validate(self, work: UnitOfWork, registration: OAuthClientRegistration) -> Provider:
        provider = await self._book.find_and_lock(work, registration.provider)
        if provider is None:
            raise NotFound("there is no such provider; `mcpist provider list` shows them")
        if provider.oauth is None:
            raise Invalid(f"{provider.title} has no OAuth: its keys are pasted at /connect")
        if not provider.modules and provider.id in self._book.own.known:
            raise Invalid(
                f"no service uses the provider {provider.id}: add a provider of your own, with the "
                "server's addresses and the services that use it (`mcpist provider add`), and register the app there"
            )
        _check_text(registration)
        if registration.settings is not None:
            resolve_settings(provider, registration.settings)
        return provider

    async def _insert(
        self, work: UnitOfWork, actor: Actor, registration: OAuthClientRegistration, provider: Provider
    ) -> UUID:
        resolve_settings(provider, registration.settings or {})
        _check_secret(provider, registration, registration.secret, self._clock())
        client = OAuthClientConfig(
            registration.client_id, registration.secret, registration.auth_method, registration.settings or {}
        )
        row_id = await insert_client(work, self._vault, registration.provider, client, registration.role_id)
        await _audit_client_set(work, actor, registration, row_id)
        return row_id

    async def _replace(
        self, work: UnitOfWork, actor: Actor, registration: OAuthClientRegistration, provider: Provider, row: Row
    ) -> UUID:
        before, used = _build_sealed_client(row), await work.fetchval(_USED, row["id"])
        if before.client_id != registration.client_id and used:
            raise Conflict(
                "accounts are connected by the client that is registered now, and only that one can use their tokens; "
                "remove it first, and they have to be connected again"
            )
        secret = registration.secret
        if secret is None and before.client_id == registration.client_id:
            secret = (await self.decrypt_client(work, before)).secret
        _check_secret(provider, registration, secret, self._clock())
        settings = before.settings if registration.settings is None else registration.settings
        if used or (secret is not None and registration.secret is None):
            _check_origins(provider, before.settings, settings)
        client = OAuthClientConfig(registration.client_id, secret, registration.auth_method, settings)
        await update_client(work, self._vault, before.id, client)
        await _audit_client_set(work, actor, registration, before.id)
        return before.id


def _check_text(registration: OAuthClientRegistration) -> None:
    if not 1 <= len(registration.client_id) <= MAX_CLIENT_ID_LENGTH or not registration.client_id.isprintable():
        raise Invalid(f"a client id is one line of 1 to {MAX_CLIENT_ID_LENGTH} characters")
    if registration.auth_method not in ("", "basic", "basic_raw", "post", PRIVATE_KEY_JWT, "none"):
        raise Invalid(
            f"auth_method is basic, basic_raw, post, {PRIVATE_KEY_JWT} or none; left out, it is the provider's own"
        )


def _check_secret_form(secret: Secret, auth_method: str, now: datetime) -> None:
    """Check a new secret: one line, or a private key with its certificate."""
    if auth_method == PRIVATE_KEY_JWT:
        if len(secret.reveal()) > MAX_PEM_LENGTH:
            raise Invalid(f"key and certificate have more than {MAX_PEM_LENGTH} characters: {PEM_FORM}")
        if read_signing_certificate(secret).ends_at <= now:
            raise Invalid("the certificate has ended: give the new one with its key")
        return
    text = secret.reveal()
    if not text.isprintable() or text != text.strip() or not 1 <= len(text) <= MAX_SECRET_LENGTH:
        raise Invalid(f"a client secret is one line of 1 to {MAX_SECRET_LENGTH} printable characters")


def _check_secret(
    provider: Provider, registration: OAuthClientRegistration, secret: Secret | None, now: datetime
) -> None:
    """Check the secret that the client will have, which may be the one that is stored, by its way to prove itself."""
    assert provider.oauth is not None
    auth_method = registration.auth_method or provider.oauth.client_auth
    if secret is None and auth_method != "none":
        wanted = "a private key with its certificate" if auth_method == PRIVATE_KEY_JWT else "a client secret"
        raise Invalid(f"{provider.title} wants {wanted}")
    if secret is not None:
        _check_secret_form(secret, auth_method, now)


def _check_origins(provider: Provider, before: Mapping[str, str], settings: Mapping[str, str]) -> None:
    """Check that what is stored already, a secret or people's tokens, goes to no other host than before."""
    try:
        origins = {get_url_origin(url) for _, url in list_outbound_urls(provider, resolve_settings(provider, before))}
    except Invalid:  # settings of a provider that has others since
        origins = set[str]()
    for key, url in list_outbound_urls(provider, resolve_settings(provider, settings)):
        if get_url_origin(url) not in origins:
            raise Conflict(
                f"{provider.id}.{key} would be at another host, and what is stored must not go there: give the client "
                "secret anew, and if accounts were connected by this client, remove it first"
            )


def _parse_settings(text: Any) -> Mapping[str, str]:
    document: dict[str, Any] = orjson.loads(text)
    return {name: value for name, value in document.items() if isinstance(value, str)}


def _build_sealed_client(row: Row) -> SealedOAuthClient:
    columns: list[Any] = list(row.values())
    return SealedOAuthClient(*columns[:-1], settings=_parse_settings(columns[-1]))


def _build_listed_client(row: Row) -> OAuthClient:
    columns: dict[str, Any] = {name: row[name] for name in row.keys()}  # noqa: SIM118 a record is no mapping
    columns["settings"] = _parse_settings(columns["settings"])
    return OAuthClient(**columns)


async def _audit_client_set(
    work: UnitOfWork, actor: Actor, registration: OAuthClientRegistration, row_id: UUID
) -> None:
    detail = {"client": str(row_id), "provider": registration.provider, "role": str(registration.role_id or "")}
    await audit_change(work, actor, AuditEventKind.OAUTH_CLIENT_SET, client_id=registration.client_id[:200], **detail)


_FIND = """SELECT id, provider, role_id, state, version, client_id, secret, auth_method, settings
    FROM vault.oauth_clients WHERE tenant_id = $1 AND provider = $2 AND role_id IS NOT DISTINCT FROM $3 FOR UPDATE"""
_BY_ID = """SELECT id, provider, role_id, state, version, client_id, secret, auth_method, settings
    FROM vault.oauth_clients WHERE tenant_id = $1 AND id = $2"""
_CHOOSE = """SELECT id, provider, role_id, state, version, client_id, secret, auth_method, settings
    FROM vault.oauth_clients WHERE tenant_id = $1 AND provider = $2
    AND (role_id IS NULL OR role_id = ANY ($3::uuid[]))
    ORDER BY array_position($3::uuid[], role_id) NULLS LAST LIMIT 1"""
_REGISTERED = """SELECT DISTINCT provider FROM vault.oauth_clients
    WHERE tenant_id = $1 AND (role_id IS NULL OR role_id = ANY ($2::uuid[]))"""
_USED = "SELECT EXISTS (SELECT FROM vault.accounts WHERE tenant_id = $1 AND oauth_client_id = $2)"
_UNTIE = """DELETE FROM vault.credentials WHERE tenant_id = $1 AND account_id IN (
    SELECT id FROM vault.accounts WHERE tenant_id = $1 AND oauth_client_id = $2)"""
_REMOVE = "DELETE FROM vault.oauth_clients WHERE tenant_id = $1 AND id = $2 RETURNING provider, role_id"
_CLIENTS = """SELECT c.id, c.provider, c.role_id, coalesce(r.name, '') AS role, c.client_id,
    c.secret IS NOT NULL AS has_secret, c.auth_method, c.settings, c.state, c.cause,
    (SELECT count(*) FROM vault.accounts a WHERE a.tenant_id = $1 AND a.oauth_client_id = c.id) AS accounts,
    c.created_at, c.updated_at, c.version
    FROM vault.oauth_clients c LEFT JOIN core.roles r ON r.tenant_id = c.tenant_id AND r.id = c.role_id
    WHERE c.tenant_id = $1 AND ($2::uuid IS NULL OR c.id = $2)
    ORDER BY c.provider, c.role_id IS NOT NULL, r.name LIMIT 1000"""
