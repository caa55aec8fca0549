"""Settings of the whole deployment that are kept in the database, each with at most one secret.

They belong to no tenant, so no tenant's data key seals the secret: a key-encryption key wraps it, as it wraps signing
keys. What is bound to it names its row and version, so that no earlier secret can be put back.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import orjson

from broker.vault.envelope import KeyProvider, WrappedKey, join_length_prefixed
from broker.vault.key_checks import confirm_key_use, record_key_use
from broker.vault.key_rewrap import WrappedRow
from core.audit.event import DEPLOYMENT_CHAIN, AuditEventKind
from core.db import Database, Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.directory.versions import ObjectVersion
from core.errors import Conflict, NotFound
from core.secret import Secret

WRAP_LABEL = b"mcpist.deployment-setting.1"
MAX_SECRET_LENGTH = 2_000
"""AWS KMS wraps at most 4,096 bytes, and a character may have two."""
MAX_ROWS = 50

SettingKind = Literal["identity_provider", "notification_sender", "client_trust"]
_EVENTS: Mapping[SettingKind, tuple[AuditEventKind, AuditEventKind]] = {
    "identity_provider": (AuditEventKind.IDENTITY_PROVIDER_SET, AuditEventKind.IDENTITY_PROVIDER_REMOVED),
    "notification_sender": (AuditEventKind.NOTIFICATION_SENDER_SET, AuditEventKind.NOTIFICATION_SENDER_REMOVED),
    "client_trust": (AuditEventKind.CLIENT_TRUST_SET, AuditEventKind.CLIENT_TRUST_REMOVED),
}


@dataclass(frozen=True, slots=True, repr=False)
class DeploymentSetting:
    """One row. Its secret is opened by :meth:`DeploymentSettingsStore.unwrap_secret`."""

    kind: SettingKind
    name: str
    version: int
    settings: Mapping[str, Any]
    kek_id: str | None
    wrapped: bytes | None
    created_at: datetime
    updated_at: datetime


def get_setting_version(setting: DeploymentSetting | None) -> ObjectVersion:
    """The version of a setting; that of one which is not stored is 0."""
    return ObjectVersion(0) if setting is None else ObjectVersion(setting.version, setting.updated_at)


class DeploymentSettingsStore:
    """The stored settings of one deployment, behind the broker's own database role."""

    def __init__(self, database: Database, provider: KeyProvider, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._provider = provider
        self._clock = clock
        self._deployment_id: UUID | None = None

    async def list(self, kind: SettingKind) -> "list[DeploymentSetting]":
        """Every setting of a kind, by name.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        async with self._database.tenant(DEPLOYMENT_CHAIN) as work:
            return [_build_setting(kind, row) for row in await work.fetch(_LIST, kind)]

    async def find(self, kind: SettingKind, name: str) -> DeploymentSetting | None:
        """One setting; None if there is none of that name."""
        async with self._database.tenant(DEPLOYMENT_CHAIN) as work:
            row = await work.fetchrow(_FIND, kind, name)
        return None if row is None else _build_setting(kind, row)

    async def unwrap_secret(self, setting: DeploymentSetting) -> Secret | None:
        """The secret of a setting; None if it has none.

        Raises:
            broker.vault.envelope.DecryptionError: the row was changed in the database.
            core.errors.Unavailable: the key-encryption key is not at hand.
        """
        if setting.kek_id is None or setting.wrapped is None:
            return None
        context = _build_context(await self._get_deployment_id(), setting.kind, setting.name, setting.version)
        return Secret((await self._provider.unwrap(setting.kek_id, setting.wrapped, context)).decode())

    async def put(
        self,
        actor: Actor,
        kind: SettingKind,
        name: str,
        settings: Mapping[str, Any],
        secret: Secret | None,
        before: DeploymentSetting | None,
    ) -> DeploymentSetting:
        """Store a setting in the place of `before`, what the caller has read; None stands for a new one.

        Raises:
            Conflict: somebody else changed it meanwhile, or there are too many.
            core.errors.Unavailable: the key-encryption key is not at hand.
        """
        version, now = (before.version if before else 0) + 1, self._clock()
        context = _build_context(await self._get_deployment_id(), kind, name, version)
        wrapped = None if secret is None else await self._provider.wrap(secret.reveal().encode(), context)
        async with self._database.tenant(DEPLOYMENT_CHAIN) as work:
            await work.execute(_LOCK)
            if wrapped is not None:
                await record_key_use(work, self._provider, wrapped.kek_id)
            columns = orjson.dumps(dict(settings)).decode(), wrapped and wrapped.kek_id, wrapped and wrapped.blob, now
            if before is None and await work.fetchval(_COUNT, kind) >= MAX_ROWS:
                raise Conflict(f"there are {MAX_ROWS} of these already: remove one that is no longer used")
            statement = _INSERT if before is None else _UPDATE
            row = await work.fetchrow(statement, kind, name, version, *columns)
            if row is None:
                raise Conflict(
                    "another operator changed this at the same moment; read it again, then repeat your change"
                )
            if wrapped is not None:
                await confirm_key_use(work, self._provider, wrapped.kek_id)
            await audit_change(work, actor, _EVENTS[kind][0], name=name, version=version)
        return _build_setting(kind, row)

    async def remove(self, actor: Actor, kind: SettingKind, name: str) -> None:
        """Forget a setting and its secret.

        Raises:
            NotFound: there is none of that name.
        """
        async with self._database.tenant(DEPLOYMENT_CHAIN) as work:
            if not await work.execute(_REMOVE, kind, name):
                raise NotFound("the database has nothing of that name")
            await audit_change(work, actor, _EVENTS[kind][1], name=name)

    async def _get_deployment_id(self) -> UUID:
        found = self._deployment_id or await self._database.call("SELECT id FROM core.deployment")
        self._deployment_id = found
        return found


class DeploymentSettingRows:
    """Implements :class:`broker.vault.key_rewrap.WrappedRows`."""

    def __init__(self, deployment_id: UUID) -> None:
        self._deployment_id = deployment_id

    @property
    def tenant_id(self) -> UUID:
        return DEPLOYMENT_CHAIN

    async def list_outdated(self, work: UnitOfWork, kek_id: str, after: str, limit: int) -> Sequence[WrappedRow]:
        rows = await work.fetch(_OTHERS, kek_id, after, limit)
        return [
            WrappedRow(
                f"{row['kind']} {row['name']}",
                row["kek_id"],
                row["wrapped"],
                _build_context(self._deployment_id, row["kind"], row["name"], row["version"]),
            )
            for row in rows
        ]

    async def store(self, work: UnitOfWork, row: WrappedRow, wrapped: WrappedKey) -> bool:
        return bool(await work.execute(_STORE, row.name, row.kek_id, row.wrapped, wrapped.kek_id, wrapped.blob))


def _build_context(deployment_id: UUID, kind: str, name: str, version: int) -> bytes:
    parts = deployment_id.bytes, kind.encode(), name.encode(), version.to_bytes(8, "big")
    return join_length_prefixed(WRAP_LABEL, *parts)


def _build_setting(kind: SettingKind, row: Row) -> DeploymentSetting:
    return DeploymentSetting(
        kind,
        row["name"],
        row["version"],
        orjson.loads(row["settings"]),
        row["kek_id"],
        row["wrapped"],
        row["created_at"],
        row["updated_at"],
    )


# These have no tenant; $1 is there because every statement has it.
_LIST = """SELECT name, version, settings, kek_id, wrapped, created_at, updated_at FROM auth.deployment_settings
    WHERE $1::uuid IS NOT NULL AND kind = $2 ORDER BY name LIMIT 1000"""
_FIND = """SELECT name, version, settings, kek_id, wrapped, created_at, updated_at FROM auth.deployment_settings
    WHERE $1::uuid IS NOT NULL AND kind = $2 AND name = $3"""
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('auth.deployment_settings', 0)) WHERE $1::uuid IS NOT NULL"
_COUNT = "SELECT count(*) FROM auth.deployment_settings WHERE $1::uuid IS NOT NULL AND kind = $2"
_INSERT = """INSERT INTO auth.deployment_settings
    (kind, name, version, settings, kek_id, wrapped, created_at, updated_at)
    SELECT $2, $3, $4, $5::jsonb, $6, $7, $8, $8 WHERE $1::uuid IS NOT NULL ON CONFLICT DO NOTHING
    RETURNING name, version, settings, kek_id, wrapped, created_at, updated_at"""
_UPDATE = """UPDATE auth.deployment_settings SET version = $4, settings = $5::jsonb, kek_id = $6, wrapped = $7,
    updated_at = $8 WHERE $1::uuid IS NOT NULL AND kind = $2 AND name = $3 AND version = $4 - 1
    RETURNING name, version, settings, kek_id, wrapped, created_at, updated_at"""
_REMOVE = "DELETE FROM auth.deployment_settings WHERE $1::uuid IS NOT NULL AND kind = $2 AND name = $3"
_OTHERS = """SELECT kind, name, version, kek_id, wrapped FROM auth.deployment_settings WHERE $1::uuid IS NOT NULL
    AND kek_id <> $2 AND kind || ' ' || name > $3 COLLATE "C" ORDER BY (kind || ' ' || name) COLLATE "C" LIMIT $4"""
_STORE = """UPDATE auth.deployment_settings SET kek_id = $5, wrapped = $6
    WHERE $1::uuid IS NOT NULL AND kind || ' ' || name = $2 AND kek_id = $3 AND wrapped = $4"""
