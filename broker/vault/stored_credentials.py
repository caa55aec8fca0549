"""What may be shown of stored credentials: everything but the secret."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from broker.vault.credential_owners import CredentialOwner, read_owner
from core.connection_state import CredentialKind
from core.db import Row, UnitOfWork
from core.errors import NotFound
from core.http.credential_headers import CredentialScheme

MAX_LISTED = 1000
CredentialType = Literal["api_key", "oauth"]


@dataclass(frozen=True, slots=True)
class StoredCredential:
    """A credential. `owner` is an e-mail address or a role's name, and `provider` whose OAuth server made it, "" for an
    API key. One that works can have a `cause` too: there is something that its owner had better do. `origins` are where
    it may be sent; without any, to the address that the module names itself. `scheme` is how it is sent."""

    id: UUID
    module: str
    type: CredentialType
    provider: str
    kind: CredentialKind
    owner: str
    account: str
    state: str
    cause: str
    version: int
    created_at: datetime
    updated_at: datetime
    last_used_at: datetime | None
    origins: tuple[str, ...]
    scheme: CredentialScheme


async def list_credentials(
    work: UnitOfWork,
    *,
    module: str | None = None,
    owner: CredentialOwner | None = None,
    user_id: UUID | None = None,
    after: tuple[str, str, str] | None = None,
    limit: int = MAX_LISTED,
) -> list[StoredCredential]:
    """The tenant's credentials by module, kind and owner: those for one module, of one owner, or those that a user has
    or that their roles share; beginning behind `after`."""
    rows = await work.fetch(_LIST, module, owner and owner.id, user_id, *(after or (None, None, None)), limit)
    return [_build_credential(row) for row in rows]


async def find_credential(work: UnitOfWork, credential_id: UUID) -> tuple[StoredCredential, CredentialOwner]:
    """One credential by its id, and whose it is.

    Raises:
        NotFound: the tenant has none of that id.
    """
    row = await work.fetchrow(_WHOSE, credential_id)
    if row is not None:
        owner = read_owner(row)
        for one in await list_credentials(work, module=row["module"], owner=owner, limit=1):
            return one, owner
    raise NotFound("there is no such credential")


def _build_credential(row: Row) -> StoredCredential:
    *columns, origins, scheme = row.values()
    return StoredCredential(*columns, origins=tuple(origins), scheme=decode_scheme(scheme))


def decode_scheme(column: str) -> CredentialScheme:
    """How a credential is sent, as its row says."""
    return msgspec.json.decode(column, type=CredentialScheme)


_WHOSE = "SELECT module, user_id, role_id FROM vault.credentials WHERE tenant_id = $1 AND id = $2"
_LIST = """SELECT c.id, c.module, CASE c.type WHEN 'A' THEN 'api_key' ELSE 'oauth' END AS type,
    coalesce(a.provider, '') AS provider, k.kind, k.owner,
    coalesce(a.account, c.account) AS account,
    CASE WHEN a.id IS NULL THEN c.state WHEN a.status = 'active' THEN 'ok' ELSE 'broken' END AS state,
    CASE WHEN a.id IS NULL THEN c.cause WHEN a.status = 'active' THEN coalesce(a.details ->> 'warning', '')
        ELSE coalesce(nullif(a.reason, ''), a.status) END AS cause,
    c.version, c.created_at, greatest(c.updated_at, a.updated_at) AS updated_at,
    greatest(c.last_used_at, a.last_used_at) AS last_used_at, c.origins, c.scheme
    FROM vault.credentials c
    LEFT JOIN core.users u ON u.tenant_id = c.tenant_id AND u.id = c.user_id
    LEFT JOIN core.roles r ON r.tenant_id = c.tenant_id AND r.id = c.role_id
    LEFT JOIN vault.accounts a ON a.tenant_id = c.tenant_id AND a.id = c.account_id
    CROSS JOIN LATERAL (SELECT CASE WHEN c.user_id IS NULL THEN 'shared' ELSE 'personal' END AS kind,
        coalesce(u.email, r.name) AS owner) k
    WHERE c.tenant_id = $1 AND ($2::text IS NULL OR c.module = $2)
    AND ($3::uuid IS NULL OR c.user_id = $3 OR c.role_id = $3)
    AND ($4::uuid IS NULL OR c.user_id = $4 OR c.role_id IN (
        SELECT role_id FROM core.role_assignments WHERE tenant_id = $1 AND user_id = $4))
    AND ($5::text IS NULL OR (c.module, k.kind, k.owner) > ($5, $6::text, $7::text))
    ORDER BY c.module, k.kind, k.owner LIMIT $8"""
