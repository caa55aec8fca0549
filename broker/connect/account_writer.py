"""Linked accounts as the connect flow writes them: stored unconfirmed the moment the vendor has given tokens, then put
in the place of what was there, or forgotten."""

import random
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import orjson

from broker.connect.flow_store import ConnectFlow
from broker.connections.account_repository import AccountGrant, insert_account, replace_grant
from broker.connections.account_snapshot import ACCESS_FIELD, REFRESH_FIELD, build_account_context
from broker.connections.stored_credentials import StoredCredential
from broker.oauth_client.types import TokenSet
from broker.providers.schema import OAuthServer, RefreshRules
from broker.vault.credential_store import CredentialOwner
from broker.vault.vault import Vault
from core.db import UnitOfWork
from core.secret import Secret


@dataclass(frozen=True, slots=True)
class UnconfirmedAccount:
    """A grant whose person may have a question to answer first. `details` has the sites to choose from."""

    id: UUID
    name: str
    vendor_account_id: str
    scopes: tuple[str, ...]
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True, repr=False)
class StoredGrant:
    """The tokens of an account; `expires_in` in seconds, None for an access token without an end. `in_doubt`: a
    refresh is under way, or was cut off, so that a rotating refresh token may be spent."""

    account_id: UUID
    provider: str
    oauth_client_id: UUID
    access_token: Secret | None
    refresh_token: Secret | None
    expires_in: float | None
    refresh_expires_in: float | None
    vendor_account_id: str
    active: bool
    in_doubt: bool


class AccountWriter:
    """Writes accounts, inside of transactions that others have begun."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def require_adopted(self) -> None:
        """Raises:
        broker.vault.vault.NotAdopted: this is a copy of the deployment, which tells no vendor anything.
        """
        self._vault.require_adopted()

    async def store_unconfirmed(
        self,
        work: UnitOfWork,
        flow: ConnectFlow,
        oauth: OAuthServer,
        tokens: TokenSet,
        origins: Mapping[str, Sequence[str]],
    ) -> UUID:
        """Keep new tokens as an account that nothing uses yet; `origins` are where each module may send them."""
        scopes = flow.scopes if tokens.scopes is None else tokens.scopes
        owner, details = (
            flow.owner,
            {"flow": str(flow.id), "origins": {name: list(urls) for name, urls in origins.items()}},
        )
        grant = AccountGrant(
            flow.provider, flow.oauth_client_id, owner, tokens, oauth.refresh, tuple(scopes), details=details
        )
        account_id = await insert_account(work, self._vault, grant, random.random())  # noqa: S311 spreads refreshes
        await work.execute(_UNCONFIRM, account_id)
        return account_id

    async def describe(
        self, work: UnitOfWork, account_id: UUID, vendor_account_id: str, name: str, details: Mapping[str, Any]
    ) -> None:
        """Note whose account it is; an unconfirmed one only."""
        await work.execute(_DESCRIBE, account_id, vendor_account_id, name, orjson.dumps(dict(details)).decode())

    async def find_unconfirmed(self, work: UnitOfWork, flow: ConnectFlow) -> UnconfirmedAccount | None:
        """Find the account that a flow has stored and that awaits confirmation."""
        row = await work.fetchrow(_UNCONFIRMED, str(flow.id))
        if row is None:
            return None
        details = orjson.loads(row["details"])
        return UnconfirmedAccount(row["id"], row["account"], row["vendor_account_id"], tuple(row["scopes"]), details)

    async def activate(self, work: UnitOfWork, account_id: UUID, details: Mapping[str, Any]) -> UUID:
        """Let an unconfirmed account be used."""
        await work.execute(_ACTIVATE, account_id, orjson.dumps(dict(details)).decode())
        return account_id

    async def renew(
        self,
        work: UnitOfWork,
        credential: StoredCredential,
        owner: CredentialOwner,
        unconfirmed: UnconfirmedAccount,
        rules: RefreshRules,
        details: Mapping[str, Any],
    ) -> UUID:
        """Put an unconfirmed account's grant in the place of the one that `held` has; its id and history stay.

        Where the vendor gave no refresh token this time, the one before stays good (Google): if it is known to be of
        the same vendor account, and works.
        """
        assert credential.account_id is not None
        new, old = await self.load_grant(work, unconfirmed.id), await self.load_grant(work, credential.account_id)
        assert new is not None
        assert new.access_token is not None
        refresh = new.refresh_token or _inherit_refresh_token(old, unconfirmed, rules)
        tokens = TokenSet(new.access_token, refresh, new.expires_in, unconfirmed.scopes, new.refresh_expires_in)
        grant = AccountGrant(
            new.provider,
            new.oauth_client_id,
            owner,
            tokens,
            rules,
            unconfirmed.scopes,
            unconfirmed.vendor_account_id,
            unconfirmed.name,
            details,
        )
        await replace_grant(work, self._vault, credential.account_id, grant, random.random())  # noqa: S311 spreads refreshes
        await work.execute(_DELETE, unconfirmed.id)
        return credential.account_id

    async def link_credentials(
        self,
        work: UnitOfWork,
        origins: Mapping[str, Sequence[str]],
        owner: CredentialOwner,
        account_id: UUID,
        name: str,
    ) -> None:
        """Let the owner's credentials for the modules in `origins` be this account, and be sent there alone."""
        now = await work.fetchval(_NOW)
        for module, bound in origins.items():
            columns = (module, owner.user_id, owner.role_id, account_id, name, now, list(bound))
            if not await work.execute(_RETIE, *columns):
                await work.execute(_TIE, *columns, uuid4(), 1 + secrets.randbits(48))

    async def load_grant(self, work: UnitOfWork, account_id: UUID) -> StoredGrant | None:
        """The account's tokens.

        Raises:
            broker.vault.envelope.DecryptionError: one was changed in the database.
        """
        row = await work.fetchrow(_GRANT, account_id)
        if row is None:
            return None
        access = await self._decrypt_token(work, account_id, ACCESS_FIELD, row["version"], row["access"])
        refresh = await self._decrypt_token(work, account_id, REFRESH_FIELD, row["version"], row["refresh"])
        return StoredGrant(
            account_id,
            row["provider"],
            row["oauth_client_id"],
            access,
            refresh,
            row["expires_in"],
            row["refresh_expires_in"],
            row["vendor_account_id"],
            row["active"],
            row["in_doubt"],
        )

    async def lock_owner(self, work: UnitOfWork, owner: CredentialOwner) -> None:
        """Let the owner's connections change one after another."""
        await work.execute(_LOCK_OWNER, str(owner.id))

    async def find_orphans(self, work: UnitOfWork, account_ids: Sequence[UUID]) -> list[UUID]:
        """Those of the accounts that no credential leads to any more."""
        return [row["id"] for row in await work.fetch(_ORPHANS, list(account_ids))]

    async def _decrypt_token(
        self, work: UnitOfWork, account_id: UUID, field: str, version: int, blob: bytes | None
    ) -> Secret | None:
        if blob is None:
            return None
        return Secret((await self._vault.open(work, build_account_context(account_id, field, version), blob)).decode())


def _inherit_refresh_token(
    old: StoredGrant | None, unconfirmed: UnconfirmedAccount, rules: RefreshRules
) -> Secret | None:
    """The refresh token that a new grant of the same vendor account goes on with; of an unknown one, none: the person
    would act as somebody else an hour later."""
    if old is None or not old.active or not old.vendor_account_id:
        return None
    if old.in_doubt and rules.profile != "non_rotating":
        return None
    return old.refresh_token if old.vendor_account_id == unconfirmed.vendor_account_id else None


_LOCK_OWNER = "SELECT pg_advisory_xact_lock(hashtextextended('vault.accounts ' || $1::uuid || $2, 0))"
_NOW = "SELECT vault.clock() WHERE $1::uuid IS NOT NULL"
_UNCONFIRM = """UPDATE vault.accounts SET status = 'disabled', reason = 'unconfirmed'
    WHERE tenant_id = $1 AND id = $2"""
_DESCRIBE = """UPDATE vault.accounts SET vendor_account_id = $3, account = left($4, 200), details = details || $5::jsonb
    WHERE tenant_id = $1 AND id = $2 AND status = 'disabled' AND reason = 'unconfirmed'"""
_UNCONFIRMED = """SELECT id, account, vendor_account_id, scopes, details FROM vault.accounts
    WHERE tenant_id = $1 AND status = 'disabled' AND reason = 'unconfirmed' AND details ->> 'flow' = $2 FOR UPDATE"""
_ACTIVATE = """UPDATE vault.accounts SET status = 'active', reason = '', details = $3::jsonb, updated_at = vault.clock()
    WHERE tenant_id = $1 AND id = $2"""
_DELETE = "DELETE FROM vault.accounts WHERE tenant_id = $1 AND id = $2"
_RETIE = """UPDATE vault.credentials SET type = 'B', secret = NULL, account_id = $5, account = left($6, 200),
    state = 'ok', cause = '', version = version + 1, updated_at = $7, origins = $8::text[], scheme = '{}',
    rejected_version = NULL, rejected_at = NULL, rejected_last = NULL, recheck_at = NULL, rechecks = 0,
    held_back = false, accepted_at = NULL
    WHERE tenant_id = $1 AND module = $2 AND (user_id = $3 OR role_id = $4)"""
_TIE = """INSERT INTO vault.credentials (tenant_id, module, user_id, role_id, account_id, account, created_at,
    updated_at, origins, id, version, type)
    VALUES ($1, $2, $3, $4, $5, left($6, 200), $7, $7, $8::text[], $9, $10, 'B')"""
_GRANT = """SELECT version, provider, oauth_client_id, access, refresh, vendor_account_id,
    status = 'active' AS active, uncertain OR lease_owner IS NOT NULL AS in_doubt,
    CASE WHEN expires_at IS NOT NULL THEN greatest(0, extract(epoch FROM expires_at - vault.clock())) END::float8
    AS expires_in,
    CASE WHEN refresh_ends_at IS NOT NULL THEN greatest(0, extract(epoch FROM refresh_ends_at - vault.clock()))
    END::float8 AS refresh_expires_in
    FROM vault.accounts WHERE tenant_id = $1 AND id = $2 FOR UPDATE"""
_ORPHANS = """SELECT id FROM vault.accounts a WHERE tenant_id = $1 AND id = ANY ($2::uuid[])
    AND NOT EXISTS (SELECT FROM vault.credentials c WHERE c.tenant_id = $1 AND c.account_id = a.id)"""
