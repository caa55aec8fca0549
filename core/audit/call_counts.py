"""Count calls by the hour and by the day, from the sealed audit log: each event once, whatever is restarted or killed.

The counts of a batch and the number of its last event are written in one transaction. Whoever counts locks the number,
so that any number of processes may.
"""

import asyncio
import logging
from typing import LiteralString
from uuid import UUID

import asyncpg

from core.db import Database, UnitOfWork

COUNT_BATCH_EVENTS = 5_000
MAX_BATCHES_PER_TURN = 20
"""Of all tenants together: after an upgrade the whole log waits to be counted, and calls go first."""
MAX_BATCHES_PER_READ = 4
"""That somebody who reads figures waits for: about 0.1 s on a busy product, where 15 seconds of calls wait."""
_WAIT_FOR_COUNTING = "500ms"
KEPT_DAYS = 800
COUNT_SECONDS = 15.0
FORGET_SECONDS = 86_400.0

log = logging.getLogger(__name__)


class CallCounter:
    """`database` is logged in as the console's role."""

    def __init__(self, database: Database, *, batch_events: int = COUNT_BATCH_EVENTS) -> None:
        self._database = database
        self._batch_events = batch_events

    async def count_pending(self, max_batches: int = MAX_BATCHES_PER_TURN) -> int:
        """Count what was sealed since the last time, at most so many batches; return the number of events.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        total, left = 0, max_batches
        for row in await self._database.lookup("deployment", "list", _PENDING, max_batches):
            while left:
                counted = await self.count_batch(row["tenant_id"])
                total, left = total + counted, left - 1
                await asyncio.sleep(0)
                if counted < self._batch_events:
                    break
        return total

    async def forget_old(self) -> None:
        """Delete what is older than :data:`KEPT_DAYS` days.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        for row in await self._database.lookup("deployment", "list", "SELECT tenant_id FROM core.tenants"):
            await self.forget_old_of(row["tenant_id"])

    async def forget_old_of(self, tenant_id: UUID) -> None:
        """Do what :meth:`forget_old` does, for one tenant."""
        async with self._database.tenant(tenant_id) as work:
            for statement in _FORGET:
                await work.execute(statement, KEPT_DAYS)

    async def count_batch(self, tenant_id: UUID) -> int:
        """Count the next batch of one tenant; 0 also where another process does, or the tenant is removed."""
        try:
            async with self._database.tenant(tenant_id) as work:
                return await self._count_in_transaction(work, _LOCK)
        except asyncpg.ForeignKeyViolationError:
            return 0

    async def count_newest(self, tenant_id: UUID, max_batches: int = MAX_BATCHES_PER_READ) -> None:
        """Count what was sealed before now, at most so many batches, for a reader who is to see it. Where another
        process is counting, wait for it as long as :data:`_WAIT_FOR_COUNTING`.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        try:
            for _ in range(max_batches):
                async with self._database.tenant(tenant_id) as work:
                    if not await work.fetchval(_IS_PENDING):
                        return
                    await work.execute(_LIMIT_WAIT, _WAIT_FOR_COUNTING)
                    if await self._count_in_transaction(work, _WAIT) < self._batch_events:
                        return
        except (asyncpg.ForeignKeyViolationError, asyncpg.LockNotAvailableError):
            return

    async def _count_in_transaction(self, work: UnitOfWork, lock: LiteralString) -> int:
        await work.execute(_BEGIN)
        position = await work.fetchval(lock)
        if position is None:
            return 0
        end: int | None = await work.fetchval(_END, position, self._batch_events)
        if end is None:
            return 0
        await work.execute(_COUNT, position, end)
        await work.execute(_ADVANCE, end)
        return end - position


_PENDING = """SELECT t.tenant_id FROM audit.anchors() a JOIN core.tenants t ON t.tenant_id = a.tenant
    LEFT JOIN core.count_positions p ON p.tenant_id = a.tenant
    WHERE a.newest > coalesce(p.seq, 0) ORDER BY a.newest - coalesce(p.seq, 0) LIMIT $1"""
_BEGIN = "INSERT INTO core.count_positions (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING"
_LOCK = "SELECT seq FROM core.count_positions WHERE tenant_id = $1 FOR UPDATE SKIP LOCKED"
_WAIT = "SELECT seq FROM core.count_positions WHERE tenant_id = $1 FOR UPDATE"
_LIMIT_WAIT = "SELECT set_config('lock_timeout', $2, true) WHERE $1::uuid IS NOT NULL"
_IS_PENDING = """SELECT EXISTS (SELECT FROM audit.events WHERE tenant_id = $1
    AND seq > coalesce((SELECT seq FROM core.count_positions WHERE tenant_id = $1), 0))"""
_END = """SELECT max(seq) FROM (SELECT seq FROM audit.events WHERE tenant_id = $1 AND seq > $2
    ORDER BY seq LIMIT $3) AS batch"""
_ADVANCE = "UPDATE core.count_positions SET seq = $2 WHERE tenant_id = $1"

# One statement, which reads the batch once. An outcome stands under its intent's module: `near` is that of an intent in
# the same batch, found by sorting, since a join may become a loop over all pairs where PostgreSQL has no statistics.
# Names of modules that the tenant does not have, which a client makes up, count together, as ''. A person is written
# once an hour: a row that has the hour already stays as it is.
_COUNT = """
WITH event AS MATERIALIZED (
    SELECT e.at, e.id, e.intent, e.kind, e.module, e.outcome, e.duration_us, e.user_id, e.sealed_at,
        max(e.module) FILTER (WHERE e.kind = 'call.intent') OVER (PARTITION BY e.at, coalesce(e.intent, e.id)) AS near
    FROM audit.events e
    WHERE e.tenant_id = $1 AND e.seq > $2 AND e.seq <= $3 AND e.kind IN ('call.intent', 'call.outcome', 'call.denied')
), call AS (
    SELECT date_trunc('hour', e.at, 'UTC') AS hour,
        CASE WHEN e.kind <> 'call.outcome' THEN e.module ELSE coalesce(e.near, (
            SELECT x.module FROM audit.events x WHERE x.tenant_id = $1 AND x.at = e.at AND x.id = e.intent
                AND x.kind = 'call.intent' AND x.sealed_at <= e.sealed_at
                AND x.sealed_at > e.sealed_at - interval '40 days'
            LIMIT 1
        ), e.module) END AS module,
        CASE WHEN e.kind = 'call.intent' THEN 'call' WHEN e.kind = 'call.denied' OR e.outcome = 'denied' THEN 'denied'
            WHEN e.outcome IN ('error', 'timeout') THEN 'error' END AS what,
        CASE WHEN e.kind <> 'call.outcome' OR e.outcome NOT IN ('ok', 'error', 'timeout') THEN NULL
            WHEN e.duration_us < 1000 THEN 0
            ELSE least(40, floor(2 * ln(e.duration_us / 1000.0::float8) / ln(2.0::float8))::int + 1) END AS bucket
    FROM event e
), alike AS (
    SELECT bucket, hour, what, module, count(*) AS events FROM call GROUP BY bucket, hour, what, module
), named AS (
    SELECT unit, date_trunc(unit, a.hour, 'UTC') AS period, name AS module, a.what, a.bucket, a.events
    FROM alike a LEFT JOIN core.services s ON s.tenant_id = $1 AND s.module = a.module,
        LATERAL (VALUES (coalesce(s.module, '')), ('*')) AS both_ways (name), (VALUES ('hour'), ('day')) AS units (unit)
), measured AS (
    SELECT unit, period, module, bucket, sum(events)::bigint AS events FROM named WHERE bucket IS NOT NULL
    GROUP BY unit, period, module, bucket
), counted AS (
    SELECT unit, period, module, coalesce(sum(events) FILTER (WHERE what = 'call'), 0)::bigint AS calls,
        coalesce(sum(events) FILTER (WHERE what = 'error'), 0)::bigint AS errors,
        coalesce(sum(events) FILTER (WHERE what = 'denied'), 0)::bigint AS denied, max(bucket) AS last_bucket
    FROM named GROUP BY unit, period, module
), result AS (
    SELECT c.*, array(
            SELECT coalesce(m.events, 0) FROM generate_series(0, c.last_bucket) n LEFT JOIN measured m
                ON m.unit = c.unit AND m.period = c.period AND m.module = c.module AND m.bucket = n ORDER BY n
        ) AS durations
    FROM counted c
), hours AS (
    INSERT INTO core.hourly_calls AS h (tenant_id, period, module, calls, errors, denied, durations)
    SELECT $1, period, module, calls, errors, denied, durations FROM result WHERE unit = 'hour'
    ON CONFLICT (tenant_id, module, period) DO UPDATE SET calls = h.calls + excluded.calls,
        errors = h.errors + excluded.errors, denied = h.denied + excluded.denied,
        durations = core.add_counts(h.durations, excluded.durations)
), days AS (
    INSERT INTO core.daily_calls AS d (tenant_id, period, module, calls, errors, denied, durations)
    SELECT $1, period, module, calls, errors, denied, durations FROM result WHERE unit = 'day'
    ON CONFLICT (tenant_id, module, period) DO UPDATE SET calls = d.calls + excluded.calls,
        errors = d.errors + excluded.errors, denied = d.denied + excluded.denied,
        durations = core.add_counts(d.durations, excluded.durations)
), people AS (
    INSERT INTO core.active_people AS p (tenant_id, day, user_id, hours)
    SELECT $1, c.day, c.user_id, c.hours FROM (
        SELECT (called.hour AT TIME ZONE 'UTC')::date AS day, called.user_id,
            bit_or(1 << extract(hour FROM called.hour AT TIME ZONE 'UTC')::int) AS hours
        FROM (SELECT DISTINCT date_trunc('hour', at, 'UTC') AS hour, user_id FROM event WHERE kind = 'call.intent')
            AS called
            JOIN core.users u ON u.tenant_id = $1 AND u.id = called.user_id
        GROUP BY day, called.user_id
    ) AS c
    WHERE coalesce((SELECT a.hours FROM core.active_people a
        WHERE a.tenant_id = $1 AND a.day = c.day AND a.user_id = c.user_id), 0) & c.hours <> c.hours
    ON CONFLICT (tenant_id, day, user_id) DO UPDATE SET hours = p.hours | excluded.hours
    RETURNING day, user_id
)
INSERT INTO core.active_days AS d (tenant_id, month, user_id, days)
SELECT $1, day - extract(day FROM day)::int + 1 AS month, user_id, bit_or(1 << (extract(day FROM day)::int - 1))
FROM people GROUP BY month, user_id
ON CONFLICT (tenant_id, month, user_id) DO UPDATE SET days = d.days | excluded.days"""
_FORGET = (
    "DELETE FROM core.hourly_calls WHERE tenant_id = $1 AND period < now() - $2::int * interval '1 day'",
    "DELETE FROM core.daily_calls WHERE tenant_id = $1 AND period < now() - $2::int * interval '1 day'",
    "DELETE FROM core.active_people WHERE tenant_id = $1 AND day < current_date - $2::int",
    "DELETE FROM core.active_days WHERE tenant_id = $1 AND month < date_trunc('month', current_date - $2::int)",
    """UPDATE core.active_days SET days = days & (-1 << (extract(day FROM current_date - $2::int)::int - 1))
    WHERE tenant_id = $1 AND month = date_trunc('month', current_date - $2::int)""",
)
