"""Checks of key-encryption keys: genuine ones, what each is needed for, and the retirement of one."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from broker.vault.envelope import KeyProvider
from core.audit.event import DEPLOYMENT_CHAIN, AuditEventKind
from core.db import Database, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.errors import Conflict, Invalid, NotFound


@dataclass(frozen=True, slots=True)
class KeyState:
    """A key-encryption key as the operator sees it. `is_genuine` is False for a key that is not the one that was
    used."""

    kek_id: str
    active: bool
    available: bool
    in_use: bool
    is_genuine: bool


async def list_key_states(database: Database, provider: KeyProvider) -> list[KeyState]:
    """Every key that the keeper has or that has wrapped something of this deployment, by id; retired ones are left
    out.

    Raises:
        core.errors.Unavailable: the keeper or the database cannot be asked now.
    """
    active = await provider.get_active_id()
    checks = await _load_checks(database)
    used = frozenset(kek_id for kek_id, mac in checks.items() if mac is not None)
    kek_ids = (used | provider.kek_ids) - (checks.keys() - used)
    return [_build_state(provider, kek_id, active, checks.get(kek_id)) for kek_id in sorted(kek_ids)]


async def check_keys(database: Database, provider: KeyProvider) -> None:
    """Make sure that every key in use is at hand and is the right one, before anything is sealed or opened.

    A key service is not asked: it may be away for a while when MCPist starts.

    Raises:
        Invalid: names the key that is missing or wrong.
    """
    for kek_id, mac in sorted((await _load_checks(database)).items()):
        state = _build_state(provider, kek_id, "", mac)
        if state.in_use and not state.available:
            raise Invalid(
                f"the vault's key {kek_id} is missing; restore it from your copy of the keys, "
                "or name its keeper in MCPIST_KEYS"
            )
        if state.in_use and not state.is_genuine:
            raise Invalid(
                f"the vault's key {kek_id} is not the key that the stored credentials were sealed with; "
                "restore the right one from your copy of the keys"
            )


async def record_key_use(work: UnitOfWork, provider: KeyProvider, kek_id: str) -> None:
    """Remember that something of this deployment is about to be stored that the key `kek_id` has wrapped."""
    await work.execute(_ADD_CHECK, kek_id, provider.compute_check_value(kek_id))


async def confirm_key_use(work: UnitOfWork, provider: KeyProvider, kek_id: str) -> None:
    """Make sure that what was stored just now, in this transaction, hangs on a key that may be used.

    It comes after the storing: the stored row holds the key's, so that nobody retires it any more before the end.

    Raises:
        Invalid: the key was retired, or is not the key of that id that was used before.
    """
    stored = await work.fetchrow(_CHECK, kek_id)
    if stored is None or stored["retired_at"] is not None:
        raise Invalid(f"the vault's key {kek_id} was retired; `mcpist keys status` shows which one is active")
    if not hmac.compare_digest(stored["mac"], provider.compute_check_value(kek_id)):
        raise Invalid(f"the vault's key {kek_id} is not the one that was used before; restore the right one")


async def _load_checks(database: Database) -> Mapping[str, bytes | None]:
    """The check of each key that has ever wrapped something; None for a retired one."""
    rows = await database.fetch("SELECT kek_id, mac, retired_at FROM vault.key_checks")
    return {row["kek_id"]: None if row["retired_at"] else row["mac"] for row in rows}


def _build_state(provider: KeyProvider, kek_id: str, active: str, mac: bytes | None) -> KeyState:
    at_hand = provider.has(kek_id)
    right = mac is None or (at_hand and hmac.compare_digest(mac, provider.compute_check_value(kek_id)))
    return KeyState(kek_id, kek_id == active, at_hand, mac is not None, right)


# These name no tenant's rows; $1 is there because every statement has it.
_ADD_CHECK = """INSERT INTO vault.key_checks (kek_id, mac) SELECT $2, $3 WHERE $1::uuid IS NOT NULL
    ON CONFLICT DO NOTHING"""
_CHECK = "SELECT mac, retired_at FROM vault.key_checks WHERE $1::uuid IS NOT NULL AND kek_id = $2"


async def count_data_keys(database: Database, tenant_id: UUID) -> Mapping[str, int]:
    """Count the tenant's data keys by wrapping key; `database` is logged in as the broker."""
    async with database.tenant(tenant_id) as work:
        return {row["kek_id"]: row["count"] for row in await work.fetch(_COUNT)}


async def count_deployment_keys(database: Database) -> Mapping[str, int]:
    """Count what belongs to no tenant by wrapping key: the keys that sign access tokens, and secrets of settings."""
    async with database.tenant(DEPLOYMENT_CHAIN) as work:
        return {row["kek_id"]: row["count"] for row in await work.fetch(_OF_DEPLOYMENT)}


# They have no tenant; $1 is there because every statement has it.
_OF_DEPLOYMENT = """SELECT kek_id, count(*) AS count FROM (SELECT kek_id FROM auth.signing_keys
    UNION ALL SELECT kek_id FROM auth.deployment_settings WHERE kek_id IS NOT NULL) wrapped
    WHERE $1::uuid IS NOT NULL GROUP BY kek_id"""
_COUNT = "SELECT kek_id, count(*) AS count FROM vault.deks WHERE tenant_id = $1 GROUP BY kek_id"


async def retire_key(database: Database, provider: KeyProvider, actor: Actor, kek_id: str, now: datetime) -> None:
    """Mark a key as retired; the caller takes it out of its file then.

    Raises:
        Conflict: the key is active, or something hangs on it.
        NotFound: no key of that id was ever used or is at hand.
    """
    if kek_id == await provider.get_active_id():
        raise Conflict(f"the key {kek_id} is active; activate another one first: mcpist keys activate ID")
    try:
        async with database.tenant(DEPLOYMENT_CHAIN) as work:
            row = await work.fetchrow(_TAKE, kek_id)
            if row is None and not provider.has(kek_id):
                raise NotFound(f"there is no key {kek_id[:100]!r}; `mcpist keys status` shows them")
            mac = row["mac"] if row is not None else provider.compute_check_value(kek_id)
            before = row["retired_at"] if row is not None else None
            await work.execute(_KEEP, kek_id, mac, before or now)
            if before is None:
                await audit_change(work, actor, AuditEventKind.KEY_RETIRED, purpose="vault", key=kek_id)
    except asyncpg.ForeignKeyViolationError:
        raise Conflict(f"the key {kek_id} still wraps other keys; run: mcpist keys rewrap") from None


# Keys have no tenant; $1 is there because every statement has it.
_TAKE = "DELETE FROM vault.key_checks WHERE $1::uuid IS NOT NULL AND kek_id = $2 RETURNING mac, retired_at"
_KEEP = "INSERT INTO vault.key_checks (kek_id, mac, retired_at) SELECT $2, $3, $4 WHERE $1::uuid IS NOT NULL"
