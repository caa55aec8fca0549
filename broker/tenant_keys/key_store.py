"""Store of tenant keys: sealed in the vault, at most one of each kind for a tenant."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

from broker.tenant_keys.key_kinds import TenantKeyKind, TenantKeyKinds
from broker.tenant_keys.key_trial import KeyTrialResult, TenantKeyTrial
from broker.vault.envelope import CiphertextContext
from broker.vault.vault import Vault
from core.audit.event import AuditEventKind
from core.db import Database, Row
from core.directory.audit_trail import Actor, audit_change
from core.errors import Conflict, NotFound
from core.secret import Secret

TENANT_KEYS_TABLE = "vault.tenant_keys"
SECRET_FIELD = "secret"  # noqa: S105 the name of a column
_KIND_NAMESPACE = UUID("5f0b3a52-8c9f-5d0c-9d56-6f2b2f1c0e7a")


@dataclass(frozen=True, slots=True)
class TenantKeyStatus:
    """A kind, and the tenant's key of it without its secret. Times are None where the tenant has none, `last_used_at`
    also while it was never used; that is exact to a minute."""

    kind: TenantKeyKind
    stored: bool
    created_at: datetime | None = None
    updated_at: datetime | None = None
    last_used_at: datetime | None = None


class TenantKeyStore:
    """The keys of all tenants, behind the broker's own database role."""

    def __init__(
        self,
        database: Database,
        vault: Vault,
        kinds: TenantKeyKinds,
        trial: TenantKeyTrial,
        *,
        clock: Callable[[], datetime],
    ) -> None:
        self._database = database
        self._vault = vault
        self._kinds = kinds
        self._trial = trial
        self._clock = clock

    async def list(self, tenant_id: UUID) -> list[TenantKeyStatus]:
        """Every kind, by name, and whether the tenant has a key of it."""
        async with self._database.tenant(tenant_id) as work:
            rows = {row["kind"]: row for row in await work.fetch(_LIST)}
        return [_build_status(kind, rows.get(kind.name)) for kind in self._kinds.list()]

    async def put(
        self, actor: Actor, tenant_id: UUID, kind_name: str, key: Secret, *, despite_failures: bool = False
    ) -> tuple[TenantKeyStatus, KeyTrialResult]:
        """Try a key at its vendor, and store it in the place of the tenant's key of this kind.

        Raises:
            NotFound: there is no such kind.
            core.errors.InvalidFields: the key has not the form of the kind; it was sent nowhere.
            Conflict: the trial failed, or somebody else changed the key at the same moment.
            broker.vault.vault.NotAdopted: this is a copy of a deployment, which asks no vendor.
        """
        kind = self._kinds.get(kind_name)
        kind.check_form(key.reveal())
        self._vault.require_adopted()
        result = await self._trial.try_key(kind, key)
        if result.failed and not despite_failures:
            raise Conflict(result.message)
        return await self._store(actor, tenant_id, kind, key), result

    async def remove(self, actor: Actor, tenant_id: UUID, kind_name: str) -> None:
        """Delete the tenant's key of a kind. No vendor of these kinds takes a key's own word that it ends: whoever made
        it ends it on the page `manage_url`.

        Raises:
            NotFound: there is no such kind, or the tenant has no key of it.
        """
        kind = self._kinds.get(kind_name)
        async with self._database.tenant(tenant_id) as work:
            if not await work.execute(_REMOVE, build_tenant_key_id(kind.name)):
                raise NotFound(f"there is no key of {kind.title}; `mcpist tenant-key list` shows what there is")
            await audit_change(work, actor, AuditEventKind.TENANT_KEY_REMOVED, name=kind.name)

    async def _store(self, actor: Actor, tenant_id: UUID, kind: TenantKeyKind, key: Secret) -> TenantKeyStatus:
        key_id, now = build_tenant_key_id(kind.name), self._clock()
        async with self._database.tenant(tenant_id) as work:
            before = await work.fetchval(_VERSION, key_id)
            # Versions begin at random, so that no secret of a key which was removed fits its successor.
            version = 1 + secrets.randbits(48) if before is None else before + 1
            sealed = await self._vault.seal(work, build_tenant_key_context(key_id, version), key.reveal().encode())
            row = await work.fetchrow(_PUT, key_id, kind.name, version, sealed, now, before)
            if row is None:
                raise Conflict("somebody else changed this key at the same moment; look at it and try again")
            await audit_change(work, actor, AuditEventKind.TENANT_KEY_SET, name=kind.name)
        return _build_status(kind, row)


def build_tenant_key_id(kind_name: str) -> UUID:
    """Return the id of every tenant's key of a kind. It is a part of what the secret is bound to, so a key opens under
    its own kind alone."""
    return uuid5(_KIND_NAMESPACE, kind_name)


def build_tenant_key_context(key_id: UUID, version: int) -> CiphertextContext:
    """Return the encryption context that binds a key to its row, and so to its kind."""
    return CiphertextContext(TENANT_KEYS_TABLE, key_id, SECRET_FIELD, version)


def _build_status(kind: TenantKeyKind, row: Row | None) -> TenantKeyStatus:
    if row is None:
        return TenantKeyStatus(kind, stored=False)
    return TenantKeyStatus(kind, True, row["created_at"], row["updated_at"], row["last_used_at"])


_LIST = "SELECT kind, created_at, updated_at, last_used_at FROM vault.tenant_keys WHERE tenant_id = $1"
_VERSION = "SELECT version FROM vault.tenant_keys WHERE tenant_id = $1 AND id = $2"
_PUT = """INSERT INTO vault.tenant_keys AS k (tenant_id, id, kind, version, secret, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $6)
    ON CONFLICT (tenant_id, id) DO UPDATE SET version = $4, secret = $5, updated_at = $6, last_used_at = NULL
        WHERE k.version = $7::bigint
    RETURNING created_at, updated_at, last_used_at"""
_REMOVE = "DELETE FROM vault.tenant_keys WHERE tenant_id = $1 AND id = $2"
