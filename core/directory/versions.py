"""Versions of what administrators edit: two who change the same object at the same time must not overwrite each other.

An object without a row has version 1. The row is locked first in a change's transaction, so that of two changes which
expect the same version the second sees the first.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from core.db import Row, UnitOfWork
from core.directory.audit_trail import Actor
from core.errors import MCPistError

ObjectKind = Literal["user", "role", "service", "tenant", "client", "alerts"]
FIRST_VERSION = 1


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """Version of an object; when it was last changed and by whom, None and '' if it never was."""

    version: int = FIRST_VERSION
    changed_at: datetime | None = None
    changed_by: str = ""


class VersionConflict(MCPistError):
    """Raised where somebody else has changed an object since its expected version. `current` is its version now, and
    `state` the object as the API answers it, for whoever compares."""

    status, code, exit_code = 412, "version_conflict", 5

    def __init__(self, current: ObjectVersion) -> None:
        super().__init__("somebody else has changed this meanwhile; compare with its present state and send it again")
        self.current = current
        self.state: dict[str, Any] | None = None


def check_version(current: ObjectVersion, expected: int | None) -> None:
    """Check the version of an object that has it in its own row.

    Raises:
        VersionConflict: it is not the `expected` one.
    """
    if expected is not None and current.version != expected:
        raise VersionConflict(current)


async def lock_version(work: UnitOfWork, kind: ObjectKind, object_id: str, expected: int | None = None) -> None:
    """Lock the version of an object that may be about to change; called before it is read.

    Raises:
        VersionConflict: its version is not the `expected` one.
    """
    check_version(_build_version(await work.fetchrow(_LOCK, kind, object_id)), expected)


async def record_change(work: UnitOfWork, actor: Actor, kind: ObjectKind, object_id: str) -> None:
    """Give an object its next version, in the transaction of its change."""
    await work.execute(_ADVANCE, kind, object_id, actor.name)


async def fetch_version(work: UnitOfWork, kind: ObjectKind, object_id: str) -> ObjectVersion:
    """Fetch the version of an object. Read it before the object: then it is never newer than what it is shown with."""
    return _build_version(await work.fetchrow(_GET, kind, object_id))


def _build_version(row: Row | None) -> ObjectVersion:
    if row is None or row["version"] == FIRST_VERSION:
        return ObjectVersion()
    return ObjectVersion(row["version"], row["changed_at"], row["changed_by"])


_GET = """SELECT version, changed_at, changed_by FROM core.versions
    WHERE tenant_id = $1 AND kind = $2 AND object_id = $3"""
_ADVANCE = """INSERT INTO core.versions AS v (tenant_id, kind, object_id, version, changed_at, changed_by)
    VALUES ($1, $2, $3, 2, now(), $4)
    ON CONFLICT (tenant_id, kind, object_id) DO UPDATE
    SET version = v.version + 1, changed_at = now(), changed_by = excluded.changed_by"""
_LOCK = """INSERT INTO core.versions AS v (tenant_id, kind, object_id, version, changed_at, changed_by)
    VALUES ($1, $2, $3, 1, now(), '')
    ON CONFLICT (tenant_id, kind, object_id) DO UPDATE SET version = v.version
    RETURNING version, changed_at, changed_by"""
