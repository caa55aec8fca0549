"""What somebody has for a module already: their own credential, or one that a role shares with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

import orjson

from broker.vault.credential_owners import CredentialOwner
from broker.vault.origin_policy import WARNING_DETAIL
from core.db import Row, UnitOfWork

CredentialState = Literal["connected", "broken"]


@dataclass(frozen=True, slots=True)
class CredentialSummary:
    """A credential and, of type B, the account behind it. Nothing of it is secret.

    `role` is the name of the role that shares it, "" for one's own.
    """

    id: UUID
    module: str
    type: Literal["A", "B"]
    role_id: UUID | None
    role: str
    state: CredentialState
    cause: str
    name: str
    account_id: UUID | None
    provider: str
    oauth_client_id: UUID | None
    vendor_account_id: str
    scopes: tuple[str, ...]
    details: Mapping[str, Any]
    origins: tuple[str, ...]

    @property
    def warning(self) -> str:
        """What its owner had better do though it works, as a fixed word."""
        return str(self.details.get(WARNING_DETAIL, "")) if self.state == "connected" else ""

    def belongs_to(self, owner: CredentialOwner) -> bool:
        """Whether it is this owner's; of a user, all that no role shares are theirs."""
        return self.role_id == owner.role_id


async def list_credentials(
    work: UnitOfWork, modules: Sequence[str], user_id: UUID | None, role_ids: Sequence[UUID]
) -> list[CredentialSummary]:
    """The credentials of a user and of these roles, in the order of the roles."""
    return [_build_summary(row) for row in await work.fetch(_FIND, list(modules), user_id, list(role_ids))]


async def list_owner_credentials(
    work: UnitOfWork, modules: Sequence[str], owner: CredentialOwner
) -> list[CredentialSummary]:
    """The credentials of one owner for these modules."""
    return await list_credentials(work, modules, owner.user_id, [owner.role_id] if owner.role_id else [])


def _build_summary(row: Row) -> CredentialSummary:
    status, reason = row["status"], row["reason"]
    if row["type"] == "B":
        state, cause = ("connected", "") if status == "active" else ("broken", reason or status)
    else:
        state, cause = ("connected", "") if row["state"] == "ok" else ("broken", row["cause"])
    return CredentialSummary(
        id=row["id"],
        module=row["module"],
        type=row["type"],
        role_id=row["role_id"],
        role=row["role"],
        state=state,
        cause=cause,
        name=row["name"],
        account_id=row["account_id"],
        provider=row["provider"],
        oauth_client_id=row["oauth_client_id"],
        vendor_account_id=row["vendor_account_id"],
        scopes=tuple(row["scopes"]),
        details=orjson.loads(row["details"]),
        origins=tuple(row["origins"]),
    )


_FIND = """SELECT c.id, c.module, c.type, c.role_id, coalesce(r.name, '') AS role, c.state, c.cause,
    coalesce(a.account, c.account) AS name, c.account_id, coalesce(a.status, '') AS status,
    coalesce(a.reason, '') AS reason, coalesce(a.provider, '') AS provider, a.oauth_client_id,
    coalesce(a.vendor_account_id, '') AS vendor_account_id, coalesce(a.scopes, '{}') AS scopes,
    coalesce(a.details, '{}'::jsonb) AS details, c.origins
    FROM vault.credentials c
    LEFT JOIN vault.accounts a ON a.tenant_id = c.tenant_id AND a.id = c.account_id
    LEFT JOIN core.roles r ON r.tenant_id = c.tenant_id AND r.id = c.role_id
    WHERE c.tenant_id = $1 AND c.module = ANY ($2::text[]) AND (c.user_id = $3 OR c.role_id = ANY ($4::uuid[]))
    ORDER BY c.module, array_position($4::uuid[], c.role_id) NULLS FIRST"""
