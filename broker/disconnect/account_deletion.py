"""The rows of accounts that end: marked first, gone last, whatever happens in between."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from broker.vault.credential_store import CredentialOwner, read_owner
from core.db import Database, UnitOfWork

UNCONFIRMED = "unconfirmed"
ENDING = "ending"


@dataclass(frozen=True, slots=True)
class EndingAccount:
    """Account that is being disconnected; contains no secret."""

    id: UUID
    provider: str
    oauth_client_id: UUID
    owner: CredentialOwner
    name: str


@dataclass(frozen=True, slots=True)
class AbandonedAccount:
    """Account whose flow or disconnect was never finished."""

    tenant_id: UUID
    account_id: UUID
    reason: str


async def mark_account_ending(work: UnitOfWork, account_id: UUID, only: str | None) -> EndingAccount | None:
    """Let nothing use an account any more; None where it is gone, or not disabled for the reason `only`."""
    row = await work.fetchrow(_MARK, account_id, only)
    if row is None:
        return None
    return EndingAccount(row["id"], row["provider"], row["oauth_client_id"], read_owner(row), row["account"])


async def delete_account(work: UnitOfWork, account_id: UUID) -> list[str] | None:
    """Shred an account and every credential that leads to it; the modules that have lost theirs, None where it was
    gone."""
    rows = await work.fetch(_UNTIE, account_id)
    if not await work.execute(_DELETE, account_id):
        return None
    return sorted(row["module"] for row in rows)


async def is_shared_grant(work: UnitOfWork, account_id: UUID, with_others: Sequence[UUID] = ()) -> bool:
    """Check whether another account of the tenant is the same vendor account by the same OAuth client.

    Such a vendor may have one grant for both, and revoking it would end both. Where the vendor account of either is
    unknown, the owner's other accounts are treated as sharing it. Accounts in `with_others` are being deleted too and
    are ignored.
    """
    return bool(await work.fetchval(_TWIN, account_id, list(with_others)))


async def list_account_ids(
    work: UnitOfWork, *, owner: CredentialOwner | None = None, client_id: UUID | None = None, most: int
) -> list[UUID]:
    """Accounts of an owner, of an OAuth client, or of the whole tenant, those in use first."""
    user_id, role_id = (owner.user_id, owner.role_id) if owner else (None, None)
    return [row["id"] for row in await work.fetch(_ALL, user_id, role_id, client_id, most)]


async def list_abandoned_accounts(database: Database, most: int) -> list[AbandonedAccount]:
    """Those of all tenants that nobody has answered for, or whose end was interrupted."""
    rows = await database.fetch(_LEFT, most)
    return [AbandonedAccount(row["tenant_id"], row["account_id"], row["reason"]) for row in rows]


_MARK = """UPDATE vault.accounts SET status = 'disabled', reason = 'ending', updated_at = vault.clock()
    WHERE tenant_id = $1 AND id = $2 AND ($3::text IS NULL OR status = 'disabled' AND reason = $3)
    RETURNING id, provider, oauth_client_id, user_id, role_id, account"""
_UNTIE = "DELETE FROM vault.credentials WHERE tenant_id = $1 AND account_id = $2 RETURNING module"
_DELETE = "DELETE FROM vault.accounts WHERE tenant_id = $1 AND id = $2"
_TWIN = """SELECT EXISTS (SELECT FROM vault.accounts a JOIN vault.accounts mine ON mine.tenant_id = $1 AND mine.id = $2
    WHERE a.tenant_id = $1 AND a.id <> $2 AND a.oauth_client_id = mine.oauth_client_id
    AND NOT a.id = ANY ($3::uuid[])
    AND CASE WHEN a.vendor_account_id = '' OR mine.vendor_account_id = ''
        THEN (a.user_id, a.role_id) IS NOT DISTINCT FROM (mine.user_id, mine.role_id)
        ELSE a.vendor_account_id = mine.vendor_account_id END)"""
_ALL = """SELECT id FROM vault.accounts WHERE tenant_id = $1
    AND ($2::uuid IS NULL OR user_id = $2) AND ($3::uuid IS NULL OR role_id = $3)
    AND ($4::uuid IS NULL OR oauth_client_id = $4) ORDER BY status, created_at LIMIT $5"""
_LEFT = "SELECT tenant_id, account_id, reason FROM vault.ending_accounts($1)"
