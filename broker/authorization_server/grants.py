"""Grants: what clients may do for people. Every token of a client hangs on one, and ends with it.

Of a secret only its hash is stored. Whoever changes a grant or uses one of its refresh tokens locks its row first, so
that revocation, rotation and the discovery of a copy come one after the other (threat-model.md §2, rows 9 and 24).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from broker.authorization_server import authorization_codes, grant_records, refresh_tokens
from broker.authorization_server.authorization_codes import Approval, CodeProof
from broker.authorization_server.consents import narrow_scopes, restrict_to_role
from broker.authorization_server.errors import OAuthError
from broker.authorization_server.grant_records import ClientGrant, GrantEntry, GrantSearch
from broker.authorization_server.refresh_tokens import RotationRefusal
from broker.authorization_server.trusted_issuers import is_trusted_in
from broker.identity.random_secrets import hash_of as code_hash_of
from core.db import Database, UnitOfWork
from core.directory.audit_trail import Actor
from core.errors import NotFound
from core.scopes import MCP_SCOPES
from core.secret import Secret

MACHINE_GRANT_LIFETIME = timedelta(days=1)
MIN_REMAINING_LIFETIME = timedelta(hours=2)
"""Minimum remaining life of a reusable grant without refresh token: more than any access token's lifetime."""
SWEEP_AFTER = timedelta(days=1)
CONSOLE_CLIENT_ID, CONSOLE_CLIENT_NAME = "mcpist-console", "MCPist console"
"""The client of a browser session's grant. No authorization request may name it."""


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """The grant for the next access token, and the refresh token after it."""

    grant: ClientGrant
    refresh_token: Secret


class Grants:
    """The grants of all tenants, behind the broker's own database role."""

    def __init__(
        self, database: Database, *, clock: Callable[[], datetime], refresh_token_days: int = 30, grant_days: int = 180
    ) -> None:
        self._database = database
        self._clock = clock
        self._refresh_life = timedelta(days=refresh_token_days)
        self._life = timedelta(days=grant_days)

    async def create_code(self, approval: Approval) -> Secret:
        """Create the authorization code of an approved request."""
        async with self._database.tenant(approval.tenant_id) as work:
            return await authorization_codes.create_code(work, approval, self._clock())

    async def redeem_code(self, code: Secret, proof: CodeProof) -> IssuedTokens:
        """Create the grant of a code. A second use of the code revokes the grant of the first.

        Raises:
            OAuthError: invalid_grant; invalid_scope, if the person may not grant any of the scopes any more.
        """
        hashed, now, grant_id = code_hash_of(code), self._clock(), uuid4()
        rows = await self._database.lookup("lookup_code", hashed.hex(), _OF_CODE) if hashed else ()
        if not hashed or not rows:
            raise OAuthError("invalid_grant", "unknown or expired authorization code")
        async with self._database.tenant(rows[0]["tenant_id"]) as work:
            outcome = await authorization_codes.consume_code(work, hashed, proof, grant_id, now)
            if isinstance(outcome, Approval):
                return await self._begin_grant(work, outcome, grant_id, now)
            await grant_records.revoke_grant(work, outcome.grant_id, "code_replay", now)
        raise OAuthError("invalid_grant", "authorization code reused; its tokens were revoked")

    async def refresh(self, token: Secret, client_id: str, scopes: frozenset[str] | None = None) -> IssuedTokens:
        """Use a refresh token. `scopes` narrows the next access token, and nothing after it (RFC 6749 §6).

        Raises:
            OAuthError: invalid_grant, or invalid_scope for a scope that was never granted.
        """
        hashed, grant = refresh_tokens.hash_refresh_token(token), await self.find_grant(token)
        if hashed is None or grant is None:
            raise _build_invalid_refresh_token()
        tenant_id, grant_id = grant
        async with self._database.tenant(tenant_id) as work:
            issued = await self._rotate_refresh_token(work, grant_id, hashed, client_id, scopes)
            if issued is RotationRefusal.REUSED:
                await grant_records.revoke_grant(work, grant_id, "reuse", self._clock())
        if isinstance(issued, RotationRefusal):
            raise _build_invalid_refresh_token()
        return issued

    async def get_or_create_grant(self, requested_grant: ClientGrant) -> ClientGrant:
        """A grant that comes of no browser and has no refresh token; the one that is there already for the same client,
        user and scopes, whatever the id of `asked`.

        Raises:
            OAuthError: invalid_grant, the user may not use MCPist or the issuer is not trusted any more;
                invalid_scope, nothing is left for them.
        """
        now = self._clock()
        async with self._database.tenant(requested_grant.tenant_id) as work:
            if requested_grant.issuer and not await is_trusted_in(work, requested_grant.issuer):
                raise OAuthError("invalid_grant", "the organisation no longer trusts the assertion's issuer")
            holder = await grant_records.load_active_user(work, requested_grant.user_id)
            grant = replace(requested_grant, scopes=restrict_to_role(requested_grant.scopes, holder.system_role))
            reusable = await grant_records.find_reusable(work, grant, now, now + MIN_REMAINING_LIFETIME)
            if reusable is not None:
                return replace(grant, id=reusable)
            await grant_records.insert_grant(work, holder, grant, now, now + MACHINE_GRANT_LIFETIME)
            return grant

    async def get_or_create_session_grant(
        self, tenant_id: UUID, user_id: UUID, session_id: UUID, resource: str
    ) -> ClientGrant:
        """The grant by which a browser session calls tools; it counts for as long as the session does.

        Raises:
            NotFound: the session has ended.
            OAuthError: invalid_grant, the user may not use MCPist any more.
        """
        now = self._clock()
        async with self._database.tenant(tenant_id) as work:
            holder = await grant_records.load_active_user(work, user_id)
            session = await work.fetchrow(_LOCK_SESSION, session_id, user_id, now)
            if session is None:
                raise NotFound("this session has ended")
            known: UUID | None = await work.fetchval(_OF_SESSION, session_id)
            grant = ClientGrant(
                *(tenant_id, user_id, known or uuid4(), "code", CONSOLE_CLIENT_ID, CONSOLE_CLIENT_NAME),
                MCP_SCOPES,
                resource,
                authenticated_at=session["authenticated_at"],
            )
            if known is None:
                await grant_records.insert_grant(work, holder, grant, now, session["expires_at"], session_id)
            else:
                await grant_records.record_use(work, known, now)
            return grant

    async def list_for_user(self, tenant_id: UUID, user_id: UUID | None) -> list[GrantEntry]:
        """A user's live grants, or the whole tenant's, the one used last first; at most 1,000."""
        async with self._database.tenant(tenant_id) as work:
            return await grant_records.list_grants(work, user_id, self._clock())

    async def list_page(
        self,
        tenant_id: UUID,
        user_id: UUID | None,
        search: GrantSearch,
        after: tuple[datetime, UUID] | None,
        limit: int,
    ) -> list[GrantEntry]:
        """The live grants of a user, or of all, after the one of that time and id."""
        async with self._database.tenant(tenant_id) as work:
            return await grant_records.list_grants_page(work, user_id, self._clock(), search, after, limit)

    async def revoke(
        self, actor: Actor, tenant_id: UUID, grant_id: UUID, cause: str, *, user_id: UUID | None = None
    ) -> None:
        """End a grant with all its tokens, on every process within a second; with `user_id`, only one of that user's.

        The client has to ask for consent again.

        Raises:
            NotFound: there is no such live grant.
        """
        async with self._database.tenant(tenant_id) as work:
            if not await grant_records.revoke_grant(work, grant_id, cause, self._clock(), actor=actor, user_id=user_id):
                raise NotFound("the client's grant does not exist or was revoked")

    async def revoke_by_client(self, tenant_id: UUID, grant_id: UUID, client_id: str) -> bool:
        """End a grant because its own client asks for it; False if it is not its, or not live."""
        async with self._database.tenant(tenant_id) as work:
            return await grant_records.revoke_grant(work, grant_id, "client", self._clock(), client_id=client_id)

    async def find_grant(self, token: Secret) -> tuple[UUID, UUID] | None:
        """Tenant and grant that a refresh token belongs to, whatever its state."""
        hashed = refresh_tokens.hash_refresh_token(token)
        rows = await self._database.lookup("lookup_refresh_token", hashed.hex(), _OF_TOKEN) if hashed else ()
        return (rows[0]["tenant_id"], rows[0]["grant_id"]) if rows else None

    async def sweep(self) -> int:
        """Delete sessions, links, codes, refresh tokens and grants that expired more than a day ago; return their
        number.
        """
        swept: int = await self._database.call("SELECT auth.sweep($1)", self._clock() - SWEEP_AFTER)
        return swept

    async def _begin_grant(self, work: UnitOfWork, approval: Approval, grant_id: UUID, now: datetime) -> IssuedTokens:
        holder = await grant_records.load_active_user(work, approval.user_id)
        scopes = restrict_to_role(approval.scopes, holder.system_role)
        client, ends = (approval.client_id, approval.client_name), now + self._life
        grant = ClientGrant(
            *(work.tenant_id, holder.id, grant_id, "code", *client, scopes, approval.resource),
            authenticated_at=approval.authenticated_at,
        )
        await grant_records.revoke_excess(work, holder, approval.client_id, now)
        await grant_records.insert_grant(work, holder, grant, now, ends)
        return IssuedTokens(
            grant, await refresh_tokens.create_first_token(work, grant_id, now, min(now + self._refresh_life, ends))
        )

    async def _rotate_refresh_token(
        self, work: UnitOfWork, grant_id: UUID, hashed: bytes, client_id: str, scopes: frozenset[str] | None
    ) -> IssuedTokens | RotationRefusal:
        now = self._clock()
        locked = await grant_records.lock_grant(work, grant_id, client_id, now)
        if locked is None:
            return RotationRefusal.REFUSED
        grant, ends = locked
        holder = await grant_records.load_active_user(work, grant.user_id)
        token = await refresh_tokens.rotate_token(work, hashed, now, min(now + self._refresh_life, ends))
        if isinstance(token, RotationRefusal):
            return token
        # A scope that cannot be had undoes the rotation: the client may ask again with the same token.
        granted = restrict_to_role(narrow_scopes(grant.scopes, scopes), holder.system_role)
        await grant_records.record_use(work, grant_id, now)
        return IssuedTokens(replace(grant, scopes=granted), token)


def _build_invalid_refresh_token() -> OAuthError:
    return OAuthError("invalid_grant", "the refresh token is not valid any more; ask for a new authorization")


_LOCK_SESSION = """SELECT authenticated_at, expires_at FROM auth.sessions
    WHERE tenant_id = $1 AND id = $2 AND user_id = $3 AND ended_at IS NULL AND expires_at > $4 FOR UPDATE"""
_OF_SESSION = "SELECT id FROM auth.grants WHERE tenant_id = $1 AND session_id = $2"
_OF_CODE = "SELECT tenant_id FROM auth.codes"
_OF_TOKEN = "SELECT tenant_id, grant_id FROM auth.refresh_tokens"  # noqa: S105 a statement
