"""Stored credentials without their secrets: their owners, and lists of them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from broker.connections.connection_status import CREDENTIAL_TYPES, CredentialType, HealthState, classify
from broker.connections.repository import load_credentials
from broker.vault.origin_policy import OriginPolicy
from core.connection_state import CredentialKind
from core.db import Row, UnitOfWork
from core.directory.users import normalize_email
from core.errors import NotFound
from core.http.credential_headers import CredentialScheme


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


MAX_LISTED = 1000


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
    work: UnitOfWork, *, module: str | None = None, owner: CredentialOwner | None = None
) -> list[StoredCredential]:
    """The tenant's credentials by module, kind and owner: those for one module, or of one owner."""
    rows = await load_credentials(
        work,
        modules=None if module is None else [module],
        everyone=owner is None,
        user_id=owner and owner.user_id,
        role_ids=[owner.role_id] if owner and owner.role_id else [],
        limit=MAX_LISTED,
    )
    return [_build_credential(row) for row in rows]


async def find_credential(work: UnitOfWork, credential_id: UUID) -> tuple[StoredCredential, CredentialOwner]:
    """One credential by its id, and whose it is.

    Raises:
        NotFound: the tenant has none of that id.
    """
    row = await work.fetchrow(_WHOSE, credential_id)
    if row is not None:
        owner = read_owner(row)
        for one in await list_credentials(work, module=row["module"], owner=owner):
            return one, owner
    raise NotFound("there is no such credential")


def _build_credential(row: Row) -> StoredCredential:
    status, cause = classify(row, _NO_ORIGINS)
    broken = status in (HealthState.NEEDS_RECONNECT, HealthState.DISABLED)
    return StoredCredential(
        id=row["id"],
        module=row["module"],
        type=CREDENTIAL_TYPES[row["type"]],
        provider=row["provider"],
        kind=row["kind"],
        owner=row["owner"],
        account=row["account"],
        state="broken" if broken else "ok",
        cause=cause if broken else row["warning"],
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        last_used_at=row["last_used_at"],
        origins=tuple(row["origins"]),
        scheme=decode_scheme(row["scheme"]),
    )


def decode_scheme(column: str) -> CredentialScheme:
    """How a credential is sent, as its row says."""
    return msgspec.json.decode(column, type=CredentialScheme)


_WHOSE = "SELECT module, user_id, role_id FROM vault.credentials WHERE tenant_id = $1 AND id = $2"
_NO_ORIGINS = OriginPolicy({})
"""What is stored here is managed by itself: whether its service has moved since is told by the connections."""
