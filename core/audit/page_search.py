"""Search the audit log of one tenant, from its newest event back, for what a filter leaves.

What an index finds (a kind of change, a tool, a request) is one statement. Anything else is looked for in one stretch
of time after the other, each as long as the one before was fast, until enough is found or the time is up: nobody waits
for a search through years, and what was searched is told.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import LiteralString
from uuid import UUID

from core.db import Row, UnitOfWork

CALL_KIND = "call"
CALLS = (CALL_KIND, "call.intent", "call.outcome")
"""Kinds that all ask for calls; `call.denied` is one of its own."""
SEARCH_SECONDS = 0.12
FIRST_STRETCH, STRETCH_SECONDS = timedelta(hours=1), 0.03
LEAST_GROWTH, MOST_GROWTH = 0.1, 8.0
"""The first stretch of time, how long looking at one is to take, and how many times longer the next one is."""
END = (datetime(9999, 1, 1, tzinfo=UTC), 2**63 - 1)
_FIRST = datetime(1970, 1, 2, tzinfo=UTC)
_INSTANT = timedelta(microseconds=1)
_CLOCK_AHEAD = timedelta(days=1)
"""How far a process's clock may be ahead of the sealer's before `since` misses its events."""


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which items; None is any. `since` is included, `until` is not.

    `kind` is a kind or the part before the dot (``token``); ``call`` means calls, without denials. `outcome` may be
    ``unknown`` (begun, and never heard of again) or ``pending``.
    """

    since: datetime | None = None
    until: datetime | None = None
    user: UUID | None = None
    kind: str | None = None
    module: str | None = None
    tool: str | None = None
    outcome: str | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class FoundRows:
    """Rows, newest first; `searched_until` is None where nothing is left to look at."""

    rows: Sequence[Row]
    searched_until: datetime | None = None


class PageSearch:
    """One search. `monotonic` is for tests."""

    def __init__(
        self, filter: AuditFilter, unknown_after: timedelta, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._filter = filter
        self._unknown_after = unknown_after
        self._monotonic = monotonic
        self._sql: LiteralString = _PAGE + (_ANY_REQUEST if filter.request_id is None else _ONE_REQUEST) + _REST

    async def run(self, work: UnitOfWork, before: tuple[datetime, int], wanted: int, seconds: float) -> FoundRows:
        """Fetch up to `wanted` rows from before a position."""
        # What is not asked for is left out of a plan for these values; a plan for all values reads the log by time.
        await work.execute(_PLAN_BY_VALUES)
        since = max(self._filter.since or _FIRST, _FIRST)
        if self._is_one_statement():
            return FoundRows(await self._fetch(work, since, before, wanted))
        row = await work.fetchrow(_RANGE)
        if row is None or row["oldest"] is None:
            return FoundRows(())
        since = max(since, row["oldest"])
        if self._filter.outcome == "pending":
            since = max(since, row["now"] - self._unknown_after)
        until = min(before[0], self._filter.until or END[0], row["newest"]) + _INSTANT
        return await self._search(work, (since, until), before, wanted, seconds)

    def _is_one_statement(self) -> bool:
        """Check whether the order of one index gives the page."""
        filter = self._filter
        if filter.request_id is not None:
            return True
        if filter.user is not None or filter.outcome is not None:
            return False
        is_change = filter.kind is not None and filter.kind not in CALLS
        return is_change or filter.tool is not None or (filter.kind is None and filter.module is None)

    async def _search(
        self,
        work: UnitOfWork,
        within: tuple[datetime, datetime],
        before: tuple[datetime, int],
        wanted: int,
        seconds: float,
    ) -> FoundRows:
        since, until = within
        rows: list[Row] = []
        deadline, stretch = self._monotonic() + seconds, FIRST_STRETCH
        while until > since:
            began = self._monotonic()
            begin = since if until - since <= stretch else until - stretch
            rows += await self._fetch(work, begin, min(before, (until, 0)), wanted - len(rows))
            if len(rows) >= wanted:
                return FoundRows(rows)
            until = begin
            if self._monotonic() >= deadline and until > since:
                return FoundRows(rows, until)
            took = max(self._monotonic() - began, STRETCH_SECONDS / MOST_GROWTH)
            stretch *= max(LEAST_GROWTH, STRETCH_SECONDS / took)
        return FoundRows(rows)

    async def _fetch(
        self, work: UnitOfWork, since: datetime, before: tuple[datetime, int], limit: int
    ) -> Sequence[Row]:
        filter = self._filter
        kind = "call.intent" if filter.kind in CALLS else filter.kind
        is_whole = kind is not None and "." in kind
        return await work.fetch(
            self._sql,
            since,
            filter.until or END[0],
            *before,
            since - _CLOCK_AHEAD,
            filter.user,
            kind if is_whole else None,
            filter.module,
            filter.tool,
            filter.request_id,
            self._unknown_after,
            filter.outcome,
            limit,
            None if is_whole else kind,
        )


_PLAN_BY_VALUES = "SELECT set_config('plan_cache_mode', 'force_custom_plan', true) WHERE $1::uuid IS NOT NULL"
_RANGE = """SELECT now() AS now,
    (SELECT min(at) FROM audit.events WHERE tenant_id = $1) AS oldest,
    (SELECT max(at) FROM audit.events WHERE tenant_id = $1) AS newest"""
# An outcome has the time of its intent, so that one index finds both; it is sealed after it, never before.
# A clause for the request's id stands apart because it has an index. Kinds are compared by their bytes, as their index
# is: a slash comes after a dot.
_PAGE = """
WITH item AS (
    SELECT e.seq, e.at, e.kind, e.user_id, e.credential_id, e.client, e.request_id, e.module, e.tool, e.digest,
        e.arguments, e.detail, e.actor, o.detail AS more,
        CASE WHEN e.kind = 'call.intent' THEN o.duration_us ELSE nullif(e.duration_us, 0) END AS duration_us,
        CASE WHEN e.kind <> 'call.intent' THEN e.outcome
            ELSE coalesce(o.outcome, CASE WHEN e.at < now() - $12::interval THEN 'unknown' ELSE 'pending' END)
        END AS outcome
    FROM audit.events e
    LEFT JOIN LATERAL (
        SELECT x.outcome, x.duration_us, x.detail FROM audit.events x
        WHERE x.tenant_id = $1 AND x.at = e.at AND x.intent = e.id AND x.kind = 'call.outcome'
            AND x.sealed_at >= e.sealed_at
        ORDER BY x.seq LIMIT 1
    ) o ON e.kind = 'call.intent'
    WHERE e.tenant_id = $1 AND e.kind <> 'call.outcome'
        AND e.at >= $2 AND e.at < $3 AND (e.at, e.seq) < ($4, $5) AND e.sealed_at >= $6
        AND ($7::uuid IS NULL OR e.user_id = $7)
        AND ($8::text IS NULL OR e.kind COLLATE "C" = $8)
        AND ($15::text IS NULL OR (e.kind COLLATE "C" >= $15 AND e.kind COLLATE "C" < $15 || '/'
            AND (e.kind = $15 OR starts_with(e.kind, $15 || '.'))))
        AND (coalesce($8, $15, 'call.intent') = 'call.intent' OR e.kind <> 'call.intent')
        AND ($9::text IS NULL OR e.module = $9)
        AND ($10::text IS NULL OR (e.tool = $10 AND e.tool <> ''))
        AND """
_ANY_REQUEST: LiteralString = "$11::text IS NULL"
_ONE_REQUEST: LiteralString = "e.request_id = $11::text AND e.request_id <> ''"
_REST = """
)
SELECT page.*, u.email FROM (
    SELECT * FROM item WHERE $13::text IS NULL OR outcome = $13 ORDER BY at DESC, seq DESC LIMIT $14
) page LEFT JOIN core.users u ON u.tenant_id = $1 AND u.id = page.user_id ORDER BY page.at DESC, page.seq DESC
"""
