"""Credentials that a user has for a module: their own, or one that a role shares with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

import orjson

from broker.connections.connection_status import HealthState, classify, get_connection_state
from broker.connections.repository import load_credentials
from broker.vault.origin_policy import WARNING_DETAIL, OriginPolicy
from broker.vault.stored_credentials import CredentialOwner
from core.connection_state import ConnectionState
from core.db import Row, UnitOfWork

CredentialState = Literal["connected", "broken"]
NO_ORIGINS = OriginPolicy({})
"""For a caller that asks what is stored, not whether it may be sent to where the service is now."""


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
    version: int
    status: HealthState
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
    def state(self) -> CredentialState:
        """Broken only if connecting again repairs it: passing failures and errors of administrators are connected."""
        broken = get_connection_state(self.status) is ConnectionState.BROKEN
        return "broken" if broken and self.status is not HealthState.SERVICE_MISCONFIGURED else "connected"

    @property
    def warning(self) -> str:
        """Advice to the owner of a working credential, as a fixed word."""
        return str(self.details.get(WARNING_DETAIL, "")) if self.state == "connected" else ""

    def belongs_to(self, owner: CredentialOwner) -> bool:
        """Check whether this owner has the credential; a user has every one that no role shares."""
        return self.role_id == owner.role_id


async def list_credentials(
    work: UnitOfWork,
    modules: Sequence[str],
    user_id: UUID | None,
    role_ids: Sequence[UUID],
    origins: OriginPolicy = NO_ORIGINS,
) -> list[CredentialSummary]:
    """The credentials of a user and of these roles, by module, in the order of the roles."""
    rows = await load_credentials(work, modules=modules, user_id=user_id, role_ids=role_ids, limit=None)
    found = [_build_summary(row, origins) for row in rows]
    order = {role_id: number for number, role_id in enumerate(role_ids)}
    return sorted(found, key=lambda one: (one.module, -1 if one.role_id is None else order[one.role_id]))


async def list_owner_credentials(
    work: UnitOfWork, modules: Sequence[str], owner: CredentialOwner, origins: OriginPolicy = NO_ORIGINS
) -> list[CredentialSummary]:
    """The credentials of one owner for these modules."""
    return await list_credentials(work, modules, owner.user_id, [owner.role_id] if owner.role_id else [], origins)


def _build_summary(row: Row, origins: OriginPolicy) -> CredentialSummary:
    status, cause = classify(row, origins)
    return CredentialSummary(
        id=row["id"],
        module=row["module"],
        type=row["type"],
        role_id=row["role_id"],
        role=row["role"],
        version=row["version"],
        status=status,
        cause=cause,
        name=row["account"],
        account_id=row["account_id"],
        provider=row["provider"],
        oauth_client_id=row["oauth_client_id"],
        vendor_account_id=row["vendor_account_id"],
        scopes=tuple(row["scopes"]),
        details=orjson.loads(row["details"]),
        origins=tuple(row["origins"]),
    )
