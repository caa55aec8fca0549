"""How long the audit log is kept: what an operator has stored, and at most what the environment says.

It is a setting of the whole deployment: a month of the log is one partition with the events of all tenants, and a chain
that were thinned out for one of them would not verify. Whoever drops old months reads it each time, so a change counts
without a restart.
"""

from dataclasses import dataclass
from datetime import date, datetime

from core.audit.event import DEPLOYMENT_CHAIN, AuditEventKind
from core.audit.retention import MAX_MONTHS, compute_first_kept_day, fetch_oldest_month
from core.db import Database, Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_deployment_change
from core.directory.versions import ObjectVersion, check_version
from core.errors import InvalidFields


@dataclass(frozen=True, slots=True)
class AuditRetention:
    """How many whole months are kept; None keeps everything. `stored` is what an operator has stored, `default` what
    the environment says: what counts where nothing is stored, and the most that counts. `version` is 0 before the first
    change."""

    stored: int | None
    default: int | None
    version: ObjectVersion

    @property
    def is_default(self) -> bool:
        """Check whether the environment's number is the one that counts."""
        return self.keep_months == self.default

    @property
    def keep_months(self) -> int | None:
        """The whole months that are kept now."""
        return min((months for months in (self.stored, self.default) if months is not None), default=None)


@dataclass(frozen=True, slots=True)
class RetentionEffect:
    """What goes with a retention: `days` days of the log, all that is older than `first_kept_day`. None and 0 where
    nothing does."""

    first_kept_day: date | None = None
    days: int = 0


class AuditRetentionStore:
    """The retention of a deployment. `database` is logged in as the control plane; `default_months` is the
    environment's, 0 to keep everything."""

    def __init__(self, database: Database, default_months: int) -> None:
        self._database = database
        self._default = default_months or None

    async def fetch(self) -> AuditRetention:
        """Fetch the retention that counts now."""
        async with self._database.tenant(DEPLOYMENT_CHAIN) as work:
            return self._build(await work.fetchrow(_GET))

    async def put(
        self, actor: Actor, keep_months: int, now: datetime, *, expected_version: int | None = None
    ) -> AuditRetention:
        """Store another number of months.

        Raises:
            InvalidFields: it is not between 1 and what the environment allows.
            VersionConflict: the stored version is not the expected one.
        """
        most = self._default or MAX_MONTHS
        if not 1 <= keep_months <= most:
            raise InvalidFields({"keep_months": f"must be between 1 and {most}" + self._describe_limit()})
        return await self._change(actor, keep_months, now, expected_version)

    async def reset(self, actor: Actor, now: datetime, *, expected_version: int | None = None) -> AuditRetention:
        """Forget what is stored: the environment's number counts again, which is never less.

        Raises:
            VersionConflict: the stored version is not the expected one.
        """
        return await self._change(actor, None, now, expected_version)

    async def preview(self, keep_months: int | None, now: datetime) -> RetentionEffect:
        """Tell what goes with so many months; None stands for the environment's."""
        months = self._default if keep_months is None else keep_months
        oldest = await fetch_oldest_month(self._database)
        if months is None or oldest is None:
            return RetentionEffect()
        kept = compute_first_kept_day(now, months)
        return RetentionEffect(kept, (kept - oldest).days) if oldest < kept else RetentionEffect()

    async def _change(
        self, actor: Actor, keep_months: int | None, now: datetime, expected_version: int | None
    ) -> AuditRetention:
        async with self._database.tenant(DEPLOYMENT_CHAIN) as work:
            before = self._build(await work.fetchrow(_LOCK))
            check_version(before.version, expected_version)
            if before.stored == keep_months:
                return before
            after = self._build(await work.fetchrow(_CHANGE, keep_months, now, actor.name))
            await _record_change(work, actor, before, after)
        return after

    def _build(self, row: Row | None) -> AuditRetention:
        assert row is not None, "the migration has made the row"
        version = ObjectVersion(row["version"], row["changed_at"], row["changed_by"])
        return AuditRetention(row["keep_months"], self._default, version)

    def _describe_limit(self) -> str:
        return "" if self._default is None else ", the limit that MCPIST_AUDIT_KEEP_MONTHS sets where MCPist runs"


async def _record_change(work: UnitOfWork, actor: Actor, before: AuditRetention, after: AuditRetention) -> None:
    """Record what counted and what counts now, in months; 0 keeps everything."""
    kind = AuditEventKind.AUDIT_RETENTION_REMOVED if after.stored is None else AuditEventKind.AUDIT_RETENTION_SET
    await audit_deployment_change(
        work, actor, kind, before_months=before.keep_months or 0, keep_months=after.keep_months or 0
    )


_GET = "SELECT version, keep_months, changed_at, changed_by FROM audit.retention WHERE $1::uuid IS NOT NULL"
_LOCK = """SELECT version, keep_months, changed_at, changed_by FROM audit.retention WHERE $1::uuid IS NOT NULL
    FOR UPDATE"""
_CHANGE = """UPDATE audit.retention SET version = version + 1, keep_months = $2, changed_at = $3, changed_by = $4
    WHERE $1::uuid IS NOT NULL RETURNING version, keep_months, changed_at, changed_by"""
