"""Mandates as their people and administrators have them: listed, agreed to, revoked; and the record of every end."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from broker.mandates import mandate_records
from broker.mandates.mandate_records import MandateEntry
from core.db import Database
from core.directory.audit_trail import Actor
from core.errors import NotFound

CONSENT_TIME = timedelta(days=1)
"""How long a mandate waits for its person's consent."""

KEPT_AFTER_END = timedelta(days=1)
ROWS_AT_ONCE = 500
MAX_PER_SWEEP = 50_000


class Mandates:
    """The mandates of all tenants, behind the broker's own database role."""

    def __init__(self, database: Database, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def list_page(
        self, tenant_id: UUID, user_id: UUID | None, after: tuple[datetime, UUID] | None, limit: int
    ) -> Sequence[MandateEntry]:
        """The live mandates of a user, or of all, the newest first, after the one of that time and id."""
        async with self._database.tenant(tenant_id) as work:
            return await mandate_records.list_mandates(work, user_id, self._clock(), after, limit)

    async def consent(self, actor: Actor, tenant_id: UUID, mandate_id: UUID, *, user_id: UUID) -> None:
        """Let a mandate of a user count that waits for their consent.

        Raises:
            NotFound: none of theirs waits for it.
        """
        async with self._database.tenant(tenant_id) as work:
            if not await mandate_records.consent_to_mandate(work, actor, mandate_id, user_id, self._clock()):
                raise NotFound("nothing waits for your consent under this id")

    async def revoke(self, actor: Actor, tenant_id: UUID, mandate_id: UUID, *, user_id: UUID | None = None) -> None:
        """End a mandate at once, on every process within a second; with `user_id`, only one of that user's.

        Raises:
            NotFound: there is no such live mandate.
        """
        async with self._database.tenant(tenant_id) as work:
            revoked = await mandate_records.end_mandate(
                work, mandate_id, mandate_records.REVOKED, self._clock(), actor=actor, user_id=user_id
            )
            if not revoked:
                raise NotFound("this mandate does not exist or has ended")

    async def sweep(self) -> int:
        """Record the ends that came with time or by a trigger, of 50,000 mandates at most, and forget those that ended
        long ago; return how many were recorded.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        now, recorded = self._clock(), 0
        for _ in range(MAX_PER_SWEEP // ROWS_AT_ONCE):
            rows = await self._database.fetch(_TO_END, now, now - CONSENT_TIME, ROWS_AT_ONCE)
            for row in rows:
                async with self._database.tenant(row["tenant_id"]) as work:
                    recorded += await mandate_records.record_end(work, row["mandate_id"], now)
            if len(rows) < ROWS_AT_ONCE:
                break
        await self._database.call("SELECT auth.sweep_mandates($1)", now - KEPT_AFTER_END)
        return recorded


_TO_END = "SELECT tenant_id, mandate_id FROM auth.mandates_to_end($1, $2, $3)"
