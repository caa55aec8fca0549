"""Owners of stored credentials."""

from dataclasses import dataclass
from uuid import UUID

from core.connection_state import CredentialKind
from core.db import Row, UnitOfWork
from core.directory.users import normalize_email
from core.errors import NotFound


@dataclass(frozen=True, slots=True)
class CredentialOwner:
    """Owner of a credential: a user (personal) or a role (shared)."""

    kind: CredentialKind
    id: UUID

    @property
    def user_id(self) -> UUID | None:
        return self.id if self.kind == "personal" else None

    @property
    def role_id(self) -> UUID | None:
        return self.id if self.kind == "shared" else None

    @property
    def audit_details(self) -> dict[str, str]:
        """How the audit log names them."""
        return {"user" if self.kind == "personal" else "role": str(self.id)}


def read_owner(row: Row) -> CredentialOwner:
    """The owner in a row with `user_id` and `role_id`, of which one is empty."""
    return CredentialOwner("personal", row["user_id"]) if row["user_id"] else CredentialOwner("shared", row["role_id"])


async def find_owner(work: UnitOfWork, *, email: str = "", role: str = "") -> CredentialOwner:
    """The owner of that address, or else of that role's name.

    Raises:
        NotFound: the tenant has no such user or role.
        Invalid: the address is none.
    """
    if email:
        user_id: UUID | None = await work.fetchval(_USER, normalize_email(email))
        if user_id is None:
            raise NotFound(f"there is no user {email}; `mcpist user list` shows them")
        return CredentialOwner("personal", user_id)
    role_id: UUID | None = await work.fetchval(_ROLE, role)
    if role_id is None:
        raise NotFound(f"there is no role {role[:100]!r}; `mcpist role list` shows them")
    return CredentialOwner("shared", role_id)


_USER = "SELECT id FROM core.users WHERE tenant_id = $1 AND email = $2"
_ROLE = "SELECT id FROM core.roles WHERE tenant_id = $1 AND name = $2"
