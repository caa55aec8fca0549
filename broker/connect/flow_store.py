"""Flows under way: one row for each time that a browser is sent to a vendor, used once (table `vault.connect_flows`).

A row belongs to one tenant, user and browser session, one provider, client and issuer (threat-model.md §2, rows 4,
5 and 7). What the browser carries is `state`, of which the row has the hash.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from broker.identity.browser_sessions import Session
from broker.identity.random_secrets import hash_of, new_secret
from broker.vault.credential_store import CredentialOwner
from broker.vault.envelope import CiphertextContext
from broker.vault.vault import Vault
from core.db import Database, Row, UnitOfWork
from core.secret import Secret

FLOW_LIFETIME = timedelta(minutes=10)
MAX_PENDING_FLOWS = 50


@dataclass(frozen=True, slots=True)
class ConnectFlow:
    """Connect flow. `role_id` is the role that a shared account is for, `account_id` the account to reconnect or
    extend.
    """

    id: UUID
    user_id: UUID
    session_id: UUID
    provider: str
    oauth_client_id: UUID
    modules: tuple[str, ...]
    role_id: UUID | None
    account_id: UUID | None
    issuer: str
    scopes: tuple[str, ...]
    pkce: bytes | None
    redirect_uri: str
    next: str

    @property
    def owner(self) -> CredentialOwner:
        """Return the owner of the resulting account."""
        return (
            CredentialOwner("personal", self.user_id)
            if self.role_id is None
            else CredentialOwner("shared", self.role_id)
        )


@dataclass(frozen=True, slots=True)
class NewConnectFlow:
    """Initial values of a connect flow."""

    provider: str
    oauth_client_id: UUID
    modules: tuple[str, ...]
    role_id: UUID | None
    account_id: UUID | None
    issuer: str
    scopes: tuple[str, ...]
    redirect_uri: str
    next: str


@dataclass(frozen=True, slots=True)
class AuthorizationState:
    """Values that the browser is redirected to the vendor with."""

    state: Secret
    verifier: Secret | None


class ConnectFlowStore:
    """The flows of all tenants, behind the broker's own database role."""

    def __init__(self, database: Database, vault: Vault, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._vault = vault
        self._clock = clock

    async def begin(
        self, work: UnitOfWork, session: Session, new_flow: NewConnectFlow, *, pkce: bool
    ) -> AuthorizationState:
        """Store a flow for this session's user; of more than 50 pending ones, the oldest is ended."""
        state, flow_id, now = new_secret(), uuid4(), self._clock()
        verifier = new_secret() if pkce else None
        sealed = None
        if verifier is not None:
            sealed = await self._vault.seal(work, _build_pkce_context(flow_id), verifier.reveal().encode())
        await work.execute(_CROWDED, session.user_id, MAX_PENDING_FLOWS - 1)
        await work.execute(
            _INSERT,
            hash_of(state),
            flow_id,
            session.user_id,
            session.id,
            new_flow.provider,
            new_flow.oauth_client_id,
            list(new_flow.modules),
            new_flow.role_id,
            new_flow.account_id,
            new_flow.issuer,
            list(new_flow.scopes),
            sealed,
            new_flow.redirect_uri,
            new_flow.next,
            now,
            now + FLOW_LIFETIME,
        )
        return AuthorizationState(state, verifier)

    async def find(self, session: Session, provider: str, state: Secret) -> ConnectFlow | None:
        """The flow that an answer belongs to, not used up by looking; None unless it was begun by this user, in this
        very session, for this provider, is not over and was not used."""
        async with self._database.tenant(session.tenant_id) as work:
            row = await work.fetchrow(_SEE, hash_of(state), session.user_id, session.id, provider, self._clock())
            return None if row is None else _build_flow(row)

    async def consume(self, session: Session, provider: str, state: Secret) -> ConnectFlow | None:
        """Use a flow up: of many who try at once, one gets it."""
        async with self._database.tenant(session.tenant_id) as work:
            row = await work.fetchrow(_TAKE, hash_of(state), session.user_id, session.id, provider, self._clock())
            return None if row is None else _build_flow(row)

    async def find_consumed(self, work: UnitOfWork, session: Session, flow_id: UUID) -> ConnectFlow | None:
        """A flow that was used up in this session in the last minutes, and has a question left."""
        since = self._clock() - FLOW_LIFETIME
        row = await work.fetchrow(_TAKEN, flow_id, session.user_id, session.id, since)
        return None if row is None else _build_flow(row)

    async def decrypt_verifier(self, work: UnitOfWork, flow: ConnectFlow) -> Secret | None:
        """Decrypt the PKCE verifier.

        Raises:
            broker.vault.envelope.DecryptionError: it was changed in the database.
        """
        if flow.pkce is None:
            return None
        return Secret((await self._vault.open(work, _build_pkce_context(flow.id), flow.pkce)).decode())


def _build_pkce_context(flow_id: UUID) -> CiphertextContext:
    return CiphertextContext("vault.connect_flows", flow_id, "pkce", 1)


def _build_flow(row: Row) -> ConnectFlow:
    columns: dict[str, Any] = {name: row[name] for name in row.keys()}  # noqa: SIM118 a record is no mapping
    columns["modules"], columns["scopes"] = tuple(row["modules"]), tuple(row["scopes"])
    return ConnectFlow(**columns)


_CROWDED = """DELETE FROM vault.connect_flows WHERE tenant_id = $1 AND id IN (
    SELECT id FROM vault.connect_flows WHERE tenant_id = $1 AND user_id = $2 ORDER BY created_at DESC OFFSET $3)"""
_INSERT = """INSERT INTO vault.connect_flows (tenant_id, state_hash, id, user_id, session_id, provider,
    oauth_client_id, modules, role_id, account_id, issuer, scopes, pkce, redirect_uri, next, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"""
_SEE = """SELECT id, user_id, session_id, provider, oauth_client_id, modules, role_id, account_id, issuer, scopes,
    pkce, redirect_uri, next FROM vault.connect_flows
    WHERE tenant_id = $1 AND state_hash = $2 AND user_id = $3 AND session_id = $4 AND provider = $5
    AND consumed_at IS NULL AND expires_at > $6"""
_TAKE = """UPDATE vault.connect_flows SET consumed_at = $6
    WHERE tenant_id = $1 AND state_hash = $2 AND user_id = $3 AND session_id = $4 AND provider = $5
    AND consumed_at IS NULL AND expires_at > $6
    RETURNING id, user_id, session_id, provider, oauth_client_id, modules, role_id, account_id, issuer, scopes,
    pkce, redirect_uri, next"""
_TAKEN = """SELECT id, user_id, session_id, provider, oauth_client_id, modules, role_id, account_id, issuer, scopes,
    pkce, redirect_uri, next FROM vault.connect_flows
    WHERE tenant_id = $1 AND id = $2 AND user_id = $3 AND session_id = $4 AND consumed_at > $5"""
