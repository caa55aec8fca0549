"""Accounts and OAuth clients as they come into being: at the end of a connect flow, and from an administrator."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import orjson

from broker.connections.account_snapshot import (
    ACCESS_FIELD,
    REFRESH_FIELD,
    AccountEventKind,
    append_event,
    build_account_context,
    build_client_context,
)
from broker.oauth_client.types import OAuthClientConfig, TokenSet
from broker.providers.schema import RefreshRules
from broker.refresh.outcome import GRANT_VERSION_STEP, add_seconds, schedule_keep_alive, schedule_refresh
from broker.vault.credential_store import CredentialOwner
from broker.vault.vault import TenantSealer, Vault
from core.db import UnitOfWork
from core.errors import Conflict, NotFound


@dataclass(frozen=True, slots=True, repr=False)
class AccountGrant:
    """What a person has granted: the tokens, and whose account at the vendor they are for."""

    provider: str
    oauth_client_id: UUID
    owner: CredentialOwner
    tokens: TokenSet
    rules: RefreshRules
    scopes: tuple[str, ...] = ()
    vendor_account_id: str = ""
    account: str = ""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])


async def insert_account(work: UnitOfWork, vault: Vault, grant: AccountGrant, chance: float = 0.5) -> UUID:
    """Store a grant as a new account; its id. `chance` (0 to 1) spreads the time of its first refresh.

    Raises:
        NotFound: there is no such user, role or OAuth client any more.
    """
    # Versions begin at random, so that one that a gateway remembers never means another account.
    account_id, version = uuid4(), 1 + secrets.randbits(48)
    try:
        await work.execute(
            _LINK, account_id, version, *await _build_columns(work, vault, grant, account_id, version, chance)
        )
    except asyncpg.ForeignKeyViolationError:
        raise NotFound("the user, role or OAuth client was deleted meanwhile; start connecting again") from None
    await append_event(work, account_id, AccountEventKind.CONNECTED)
    return account_id


async def replace_grant(
    work: UnitOfWork, vault: Vault, account_id: UUID, grant: AccountGrant, chance: float = 0.5
) -> None:
    """Put a new grant in the place of an account's old one. What a refresh of the old one may still bring is void.

    Raises:
        NotFound: the account is no more.
        Conflict: it was refreshed at the very same moment, many times over.
    """
    for _ in range(3):
        before = await work.fetchval(_VERSION, account_id)
        if before is None:
            raise NotFound("the account was deleted meanwhile; start connecting again")
        version = before + GRANT_VERSION_STEP
        columns = await _build_columns(work, vault, grant, account_id, version, chance)
        if await work.execute(_RELINK, account_id, version, *columns, before):
            await work.execute(_NO_CANDIDATES, account_id)
            await append_event(work, account_id, AccountEventKind.CONNECTED)
            return
    raise Conflict("another process is changing the account; try again")


async def insert_client(
    work: UnitOfWork, vault: Vault, provider: str, client: OAuthClientConfig, role_id: UUID | None = None
) -> UUID:
    """Store a tenant's OAuth client at a provider, for all or for the members of one role; its id.

    Raises:
        Conflict: there is one already.
        NotFound: there is no such role.
    """
    row_id, version = uuid4(), 1 + secrets.randbits(48)
    blob = None
    if client.secret is not None:
        blob = await vault.seal(work, build_client_context(row_id, version), client.secret.reveal().encode())
    settings = orjson.dumps(dict(client.settings)).decode()
    identity = client.client_id, blob, client.auth_method, settings
    try:
        await work.execute(_ADD_CLIENT, row_id, provider, role_id, version, *identity)
    except asyncpg.UniqueViolationError:
        raise Conflict("there is an OAuth client for this provider already; change that one") from None
    except asyncpg.ForeignKeyViolationError:
        raise NotFound("there is no such role") from None
    return row_id


async def update_client(work: UnitOfWork, vault: Vault, row_id: UUID, client: OAuthClientConfig) -> None:
    """Put another client id, secret or settings in the place of an OAuth client's; a breaker that was open closes.

    Raises:
        NotFound: there is no such OAuth client.
    """
    version = await work.fetchval(_CLIENT_VERSION, row_id)
    if version is None:
        raise NotFound("the OAuth client was deleted")
    blob = None
    if client.secret is not None:
        blob = await vault.seal(work, build_client_context(row_id, version + 1), client.secret.reveal().encode())
    settings = orjson.dumps(dict(client.settings)).decode()
    await work.execute(_CHANGE_CLIENT, row_id, version + 1, client.client_id, blob, client.auth_method, settings)


async def _build_columns(
    work: UnitOfWork, vault: Vault, grant: AccountGrant, account_id: UUID, version: int, chance: float
) -> tuple[object, ...]:
    sealer, now = await vault.get_sealer(work), await work.fetchval("SELECT vault.clock() WHERE $1::uuid IS NOT NULL")
    life = grant.tokens.expires_in
    access = sealer.seal(
        build_account_context(account_id, ACCESS_FIELD, version), grant.tokens.access_token.reveal().encode()
    )
    refreshing = grant.tokens.refresh_token is not None
    return (
        grant.provider,
        grant.oauth_client_id,
        grant.owner.user_id,
        grant.owner.role_id,
        grant.vendor_account_id,
        grant.account,
        list(grant.scopes),
        orjson.dumps(dict(grant.details)).decode(),
        access,
        _seal_refresh_token(sealer, grant, account_id, version),
        life,
        schedule_refresh(grant.rules, now, life, chance) if refreshing else None,
        schedule_keep_alive(grant.rules, now) if refreshing else None,
        add_seconds(now, grant.rules.life_seconds),
        add_seconds(now, grant.tokens.refresh_expires_in),
    )


def _seal_refresh_token(sealer: TenantSealer, grant: AccountGrant, account_id: UUID, version: int) -> bytes | None:
    if grant.tokens.refresh_token is None:
        return None
    return sealer.seal(
        build_account_context(account_id, REFRESH_FIELD, version), grant.tokens.refresh_token.reveal().encode()
    )


_LINK = """INSERT INTO vault.accounts (tenant_id, id, version, provider, oauth_client_id, user_id, role_id,
    vendor_account_id, account, scopes, details, access, refresh, expires_at, refresh_at, idle_at,
    ends_at, refresh_ends_at, last_used_at, granted_at, created_at, updated_at)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, left($9, 200), $10::text[], $11::jsonb, $12, $13,
    now + make_interval(secs => $14), $15, $16, $17, $18, now, now, now, now FROM (SELECT vault.clock() AS now) c"""
_VERSION = "SELECT version FROM vault.accounts WHERE tenant_id = $1 AND id = $2"
_RELINK = """UPDATE vault.accounts a SET version = $3, provider = $4, oauth_client_id = $5, user_id = $6, role_id = $7,
    vendor_account_id = $8, account = left($9, 200), scopes = $10::text[], details = $11::jsonb, access = $12,
    refresh = $13, expires_at = c.now + make_interval(secs => $14), refresh_at = $15, idle_at = $16, ends_at = $17,
    refresh_ends_at = $18, told_end = NULL, granted_at = c.now,
    status = 'active', reason = '', reauth_at = NULL, lease_owner = NULL, lease_until = NULL, attempt_no = 0,
    uncertain = false, next_try_at = NULL, last_error_class = '', presented_at = NULL, refused_at = NULL,
    refreshed_at = NULL, last_used_at = c.now, updated_at = c.now
    FROM (SELECT vault.clock() AS now) c WHERE a.tenant_id = $1 AND a.id = $2 AND a.version = $19"""
_NO_CANDIDATES = "DELETE FROM vault.candidates WHERE tenant_id = $1 AND account_id = $2"
_ADD_CLIENT = """INSERT INTO vault.oauth_clients (tenant_id, id, provider, role_id, version, client_id, secret,
    auth_method, settings, created_at, updated_at)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, now, now FROM (SELECT vault.clock() AS now) c"""
_CLIENT_VERSION = "SELECT version FROM vault.oauth_clients WHERE tenant_id = $1 AND id = $2 FOR UPDATE"
_CHANGE_CLIENT = """UPDATE vault.oauth_clients SET version = $3, client_id = $4, secret = $5, auth_method = $6,
    settings = $7::jsonb, state = 'ok', cause = '', breaker_until = NULL, breaker_failures = 0,
    updated_at = vault.clock() WHERE tenant_id = $1 AND id = $2"""
