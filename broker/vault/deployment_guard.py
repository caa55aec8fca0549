"""Guard against using a copy of a deployment's database (threat-model.md §2, row 29).

A copy restored from a backup would present refresh tokens that the original has already used, and so break working
accounts. Two checks tell a copy from the original: the id in the data folder, which no database backup contains, must
equal the id in the database; and the server's system identifier and the database's number must be those recorded with
that id, which no restored dump has.
"""

import asyncio
import logging
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg

from broker.vault.vault import NotAdopted
from core.audit.event import DEPLOYMENT_CHAIN, AuditEventKind
from core.db import Database
from core.directory.audit_trail import Actor, audit_change
from core.errors import Invalid, Unavailable
from core.private_file import read_private, replace_private, write_once

DEPLOYMENT_ID_FILE = "deployment-id"
WATCH_INTERVAL_SECONDS = 5.0  # seconds

log = logging.getLogger(__name__)


class DeploymentGuard:
    """Says whether vendors may be asked; no by default, until :meth:`look` has found out."""

    def __init__(self, database: Database, file: Path) -> None:
        self._database = database
        self._file = file
        self._original = False

    def is_outbound_allowed(self) -> bool:
        """Check whether tokens may be decrypted, refreshed and returned."""
        return self._original

    def require_adopted(self) -> None:
        """Raises:
        NotAdopted: vendors may not be asked.
        """
        if not self._original:
            raise NotAdopted

    async def verify_deployment(self) -> bool:
        """Compare data folder and database; in a database that was never started, give both an id.

        Raises:
            core.errors.Unavailable: the database is away.
            core.errors.Invalid: the file can be read by others, or is damaged.
        """
        row = await _load_deployment(self._database)
        if row.instance is None:
            await _store_first_id(self._database, _create_id(self._file), row.now)
            row = await _load_deployment(self._database)
        self._original = _is_original(row, self._file)
        return self._original

    async def watch(self) -> None:
        """Look again every few seconds while this is a copy, so that an adoption needs no restart; then return."""
        if not self._original:
            log.error(
                "MCPist runs on a copy of its database: vendors are not contacted and tokens are not issued. If the "
                "original deployment is shut down, run `mcpist adopt`",
                extra={"event": "deployment_not_adopted"},
            )
        while not self._original:
            await asyncio.sleep(WATCH_INTERVAL_SECONDS)
            try:
                await self.verify_deployment()
            except (Unavailable, Invalid, OSError) as error:
                log.debug(
                    "deployment id cannot be read",
                    extra={"event": "deployment_id_unreadable", "error": type(error).__name__},
                )


async def get_adoption_state(database: Database, file: Path) -> bool | None:
    """Check whether this is the original deployment; None if it was never started. Changes nothing.

    Raises:
        core.errors.Invalid: the file can be read by others, or is damaged.
    """
    row = await _load_deployment(database)
    return None if row.instance is None else _is_original(row, file)


async def adopt(database: Database, file: Path, actor: Actor) -> None:
    """Make this database the one that may talk to vendors, from this data folder, under an id of its own."""
    row = await _load_deployment(database)
    instance = uuid4()
    replace_private(file, str(instance))
    async with database.tenant(DEPLOYMENT_CHAIN) as work:
        await work.execute(_ADOPT, instance, row.now)
        await audit_change(work, actor, AuditEventKind.OPERATOR_ADOPTED, instance=str(instance))


async def mark_as_copy(database: Database) -> None:
    """Mark this database as a restored copy."""
    async with database.tenant(DEPLOYMENT_CHAIN) as work:
        await work.execute(_ADOPT, uuid4(), "")


class _Deployment:
    """Deployment id in the database, with the database's present location."""

    __slots__ = ("instance", "now", "place")

    def __init__(self, instance: UUID | None, place: str, now: str) -> None:
        self.instance, self.place, self.now = instance, place, now


def _is_original(row: _Deployment, file: Path) -> bool:
    return row.instance == _read(file) and row.place == row.now


async def _load_deployment(database: Database) -> _Deployment:
    try:
        (row,) = await database.fetch(_HERE)
    except asyncpg.InsufficientPrivilegeError:
        (row,) = await database.fetch(_HERE_WITHOUT_SERVER)  # a service that hides pg_control_system()
    return _Deployment(row["instance"], row["place"], row["now"])


async def _store_first_id(database: Database, instance: UUID, place: str) -> None:
    async with database.tenant(DEPLOYMENT_CHAIN) as work:
        await work.execute(_FIRST, instance, place)


def _create_id(file: Path) -> UUID:
    write_once(file, str(uuid4()))
    deployment_id = _read(file)
    assert deployment_id is not None
    return deployment_id


def _read(file: Path) -> UUID | None:
    if not file.exists():
        return None
    try:
        return UUID(read_private(file).strip())
    except ValueError:
        raise Invalid(f"{file} is damaged; restore it, or run `mcpist adopt` if this is the original") from None


_HERE = """SELECT d.instance, d.place, (SELECT system_identifier FROM pg_control_system()) || '/' || b.oid AS now
    FROM core.deployment d, pg_database b WHERE b.datname = current_database()"""
_HERE_WITHOUT_SERVER = """SELECT d.instance, d.place, b.datname || '/' || b.oid AS now
    FROM core.deployment d, pg_database b WHERE b.datname = current_database()"""
# The deployment is no tenant's; $1 is there because every statement has it.
_ADOPT = "UPDATE core.deployment SET instance = $2, place = $3 WHERE $1::uuid IS NOT NULL"
_FIRST = "UPDATE core.deployment SET instance = $2, place = $3 WHERE $1::uuid IS NOT NULL AND instance IS NULL"
