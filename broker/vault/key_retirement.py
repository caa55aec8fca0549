"""Retiring a key-encryption key: only when nothing hangs on it, which the database itself proves.

Whatever a key-encryption key seals refers to its row in vault.key_checks. PostgreSQL checks a foreign key past every
row-level policy, so a row that can be deleted is a key on which nothing of any tenant hangs. In the same transaction
the row comes back marked as retired: a process that still has the key cannot seal with it any more.
"""

from datetime import datetime

import asyncpg

from broker.vault.key_wrapping import KeyProvider
from core.audit.event import DEPLOYMENT_CHAIN, AuditEventKind
from core.db import Database
from core.directory.audit_trail import Actor, audit_change
from core.errors import Conflict, NotFound


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
