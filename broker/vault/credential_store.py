"""Store of credentials: type A (long-lived tokens and keys) is stored, removed and marked broken.

Credentials connected by OAuth (type B) are removed by broker/disconnect/disconnect_service.py, which revokes them.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import asyncpg
import msgspec

from broker.vault.envelope import CiphertextContext
from broker.vault.vault import Vault
from core.audit.event import AuditEventKind
from core.connection_state import CredentialKind
from core.db import Database, Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.directory.users import normalize_email
from core.errors import Conflict, Invalid, NotFound
from core.http.credential_headers import BEARER, CredentialScheme
from core.secret import Secret

CREDENTIALS_TABLE = "vault.credentials"
ACCESS_FIELD = "access"
MAX_SECRET_LENGTH = 16_384
MAX_ACCOUNT_LENGTH = 200
REJECTED = "rejected"
"""The cause of a key that the vendor has refused for long (broker/rejections), or when an operator asked."""
UNREADABLE = "unreadable"
RECHECK_DELAY = timedelta(hours=1)
BROKER_ACTOR = Actor("broker")


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


class CredentialStore:
    """The credentials of all tenants, behind the broker's own database role."""

    def __init__(self, database: Database, vault: Vault, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._vault = vault
        self._clock = clock

    async def resolve_owner(self, tenant_id: UUID, *, email: str = "", role: str = "") -> CredentialOwner:
        """The owner of that address, or else of that role's name.

        Raises:
            NotFound: the tenant has no such user or role.
            Invalid: the address is none.
        """
        async with self._database.tenant(tenant_id) as work:
            return await _find_owner(work, email=email, role=role)

    async def put(
        self,
        actor: Actor,
        tenant_id: UUID,
        module: str,
        owner: CredentialOwner,
        secret: Secret,
        account: str = "",
        *,
        over: int | None = None,
        origins: Sequence[str] = (),
        scheme: CredentialScheme = BEARER,
        instead_of: UUID | None = None,
    ) -> UUID:
        """Store a credential, in the place of one that the owner has for the module; its id.

        `over` is the only version that it may take the place of; without it, that is any or none. It is sent to
        `origins` alone, without any to the address that the module's code names, in the way of `scheme`. `instead_of`
        is an account that it may take the place of; whoever asks for that ends the account afterwards.

        Raises:
            Invalid: the secret or the account's name has the wrong form.
            NotFound: the tenant has no such user or role.
            Conflict: somebody else changed it at the same moment, or what is there was connected by OAuth.
        """
        sent = msgspec.json.encode(scheme).decode()
        new = _NewCredential(module, owner, _encode_secret(secret), account[:MAX_ACCOUNT_LENGTH], list(origins), sent)
        try:
            async with self._database.tenant(tenant_id) as work:
                before = await work.fetchrow(_FIND, module, owner.user_id, owner.role_id)
                if over is not None and (before is None or before["version"] != over):
                    raise _build_concurrent_change()
                if before is None:
                    return await self._insert(work, actor, new)
                if before["account_id"] not in (None, instead_of):
                    raise _build_oauth_conflict()
                return await self._replace(work, actor, new, before)
        except asyncpg.ForeignKeyViolationError:
            raise NotFound("there is no such user or role") from None
        except asyncpg.UniqueViolationError:
            raise _build_concurrent_change() from None

    async def get_secret(self, tenant_id: UUID, module: str, owner: CredentialOwner) -> Secret:
        """The secret itself, for a test against the vendor; no part of the Broker interface.

        Raises:
            NotFound: the owner has none for the module, or one that was connected by OAuth.
            broker.vault.envelope.DecryptionError: it was changed in the database.
        """
        async with self._database.tenant(tenant_id) as work:
            row = await work.fetchrow(_FIND, module, owner.user_id, owner.role_id)
            if row is None or row["secret"] is None:
                raise _build_not_found(module)
            return await decrypt_credential(self._vault, work, row)

    async def remove(self, actor: Actor, tenant_id: UUID, module: str, owner: CredentialOwner) -> None:
        """Delete a credential.

        Raises:
            NotFound: the owner has none for the module.
            Conflict: it was connected by OAuth.
        """
        async with self._database.tenant(tenant_id) as work:
            row = await work.fetchrow(_REMOVE, module, owner.user_id, owner.role_id)
            if row is None:
                raise _build_not_found(module)
            if row["account_id"] is not None:
                raise _build_oauth_conflict()
            await _audit_credential(work, actor, AuditEventKind.CREDENTIAL_REMOVED, module, owner, row["id"])

    async def mark_broken(self, tenant_id: UUID, credential_id: UUID, version: int, cause: str) -> bool:
        """Note that the vendor refuses this version; False if it was replaced, removed or marked meanwhile. One that is
        refused is asked about again, so that it comes back by itself if the vendor takes it after all."""
        async with self._database.tenant(tenant_id) as work:
            marked = await mark_broken(work, credential_id, version, cause, self._clock())
            if marked and cause == REJECTED:
                await work.execute(_RECHECK, credential_id, version, RECHECK_DELAY)
            return marked

    async def note_accepted(self, tenant_id: UUID, credential_id: UUID, version: int) -> None:
        """Note that the vendor takes this version: no doubt about it is left."""
        async with self._database.tenant(tenant_id) as work:
            await work.execute(_TRUST, credential_id, version)

    async def _insert(self, work: UnitOfWork, actor: Actor, new: "_NewCredential") -> UUID:
        # Versions begin at random, so that one that a gateway remembers never means another credential.
        credential_id, version = uuid4(), 1 + secrets.randbits(48)
        blob = await self._vault.seal(work, build_credential_context(credential_id, version), new.plain)
        whose = new.module, new.owner.user_id, new.owner.role_id
        columns = blob, new.account, self._clock(), new.origins, new.scheme
        await work.execute(_INSERT, credential_id, *whose, version, *columns)
        kind = AuditEventKind.CREDENTIAL_CREATED
        await _audit_credential(work, actor, kind, new.module, new.owner, credential_id, account=new.account)
        return credential_id

    async def _replace(self, work: UnitOfWork, actor: Actor, new: "_NewCredential", before: Row) -> UUID:
        credential_id, version = before["id"], before["version"]
        blob = await self._vault.seal(work, build_credential_context(credential_id, version + 1), new.plain)
        columns = blob, new.account, self._clock(), new.origins, before["account_id"], new.scheme
        if not await work.execute(_REPLACE, credential_id, version, *columns):
            raise _build_concurrent_change()
        kind = AuditEventKind.CREDENTIAL_REPLACED
        await _audit_credential(work, actor, kind, new.module, new.owner, credential_id, account=new.account)
        return credential_id


@dataclass(frozen=True, slots=True, repr=False)
class _NewCredential:
    module: str
    owner: CredentialOwner
    plain: bytes
    account: str
    origins: list[str]
    scheme: str


def decode_scheme(column: str) -> CredentialScheme:
    """How a credential is sent, as its row says."""
    return msgspec.json.decode(column, type=CredentialScheme)


def build_credential_context(credential_id: UUID, version: int) -> CiphertextContext:
    """Return the encryption context that binds a secret to its credential row."""
    return CiphertextContext(CREDENTIALS_TABLE, credential_id, ACCESS_FIELD, version)


async def decrypt_credential(vault: Vault, work: UnitOfWork, row: Row) -> Secret:
    """The secret of a row with `id`, `version` and `secret`.

    Raises:
        broker.vault.envelope.DecryptionError: it was changed in the database.
    """
    return Secret((await vault.open(work, build_credential_context(row["id"], row["version"]), row["secret"])).decode())


async def mark_broken(work: UnitOfWork, credential_id: UUID, version: int, cause: str, now: datetime) -> bool:
    """:meth:`Credentials.mark_broken` inside a transaction that has begun."""
    row = await work.fetchrow(_BREAK, credential_id, version, cause, now)
    if row is None:
        return False
    owner = read_owner(row)
    await _audit_credential(
        work, BROKER_ACTOR, AuditEventKind.CREDENTIAL_BROKEN, row["module"], owner, credential_id, cause=cause
    )
    return True


async def _find_owner(work: UnitOfWork, *, email: str = "", role: str = "") -> CredentialOwner:
    if email:
        user_id: UUID | None = await work.fetchval(_USER, normalize_email(email))
        if user_id is None:
            raise NotFound(f"there is no user {email}; `mcpist user list` shows them")
        return CredentialOwner("personal", user_id)
    role_id: UUID | None = await work.fetchval(_ROLE, role)
    if role_id is None:
        raise NotFound(f"there is no role {role[:100]!r}; `mcpist role list` shows them")
    return CredentialOwner("shared", role_id)


async def _audit_credential(
    work: UnitOfWork,
    actor: Actor,
    kind: AuditEventKind,
    module: str,
    owner: CredentialOwner,
    credential_id: UUID,
    **more: str,
) -> None:
    await audit_change(work, actor, kind, module=module, credential=str(credential_id), **owner.audit_details, **more)


def _encode_secret(secret: Secret) -> bytes:
    text = secret.reveal()
    if not text or not text.isprintable() or text != text.strip() or len(text) > MAX_SECRET_LENGTH:
        raise Invalid(f"a credential must be one line of 1 to {MAX_SECRET_LENGTH} printable characters")
    return text.encode()


def _build_not_found(module: str) -> NotFound:
    return NotFound(f"there is no such credential for {module[:63]!r}; `mcpist credential list` shows them")


def _build_oauth_conflict() -> Conflict:
    return Conflict("this was connected by OAuth: it has to be disconnected first, so that its vendor is told")


def _build_concurrent_change() -> Conflict:
    return Conflict("somebody else changed this credential at the same moment; look at it and try again")


_USER = "SELECT id FROM core.users WHERE tenant_id = $1 AND email = $2"
_ROLE = "SELECT id FROM core.roles WHERE tenant_id = $1 AND name = $2"
_FIND = """SELECT id, version, secret, account_id FROM vault.credentials
    WHERE tenant_id = $1 AND module = $2 AND (user_id = $3 OR role_id = $4)"""
_INSERT = """INSERT INTO vault.credentials
    (tenant_id, id, module, user_id, role_id, version, secret, account, created_at, updated_at, origins, scheme)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10::text[], $11::jsonb)"""
_REPLACE = """UPDATE vault.credentials SET version = version + 1, secret = $4, account = $5, updated_at = $6,
    origins = $7::text[], scheme = $9::jsonb, state = 'ok', cause = '', type = 'A', account_id = NULL,
    rejected_version = NULL, rejected_at = NULL, rejected_last = NULL, recheck_at = NULL, rechecks = 0,
    held_back = false, accepted_at = NULL
    WHERE tenant_id = $1 AND id = $2 AND version = $3 AND account_id IS NOT DISTINCT FROM $8"""
_REMOVE = """DELETE FROM vault.credentials WHERE tenant_id = $1 AND module = $2 AND (user_id = $3 OR role_id = $4)
    RETURNING id, account_id"""
_BREAK = """UPDATE vault.credentials SET state = 'broken', cause = $4, updated_at = $5
    WHERE tenant_id = $1 AND id = $2 AND version = $3 AND state = 'ok' RETURNING module, user_id, role_id"""
_RECHECK = """UPDATE vault.credentials SET rejected_version = version, rejected_last = vault.clock(),
    rejected_at = coalesce(rejected_at, vault.clock()), recheck_at = vault.clock() + $4::interval, held_back = false
    WHERE tenant_id = $1 AND id = $2 AND version = $3"""
_TRUST = """UPDATE vault.credentials SET rejected_version = NULL, rejected_at = NULL, rejected_last = NULL,
    recheck_at = NULL, rechecks = 0, held_back = false, accepted_at = vault.clock()
    WHERE tenant_id = $1 AND id = $2 AND version = $3 AND rejected_at IS NOT NULL"""
