"""Search the audit log of one tenant for what a filter leaves, from its newest event back or from its oldest on.

What an index finds (a kind of change, a tool, a request) is one statement. Anything else is looked for in one stretch
of time after the other, each as long as the one before was fast, until enough is found or the time is up: nobody waits
for a search through years, and what was searched is told. Both orders take the same positions: a page goes on before
its position with the newest first, behind it with the oldest first.
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
Position = tuple[datetime, int]
"""Time and number of an event; with the number 0, the time before all events of it."""
END: Position = (datetime(9999, 1, 1, tzinfo=UTC), 2**63 - 1)
START: Position = (datetime(1970, 1, 2, tzinfo=UTC), 0)
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
    """Rows in the order of the search; `searched_until` is None where nothing is left to look at."""

    rows: Sequence[Row]
    searched_until: datetime | None = None


class PageSearch:
    """One search, from the newest event back unless `oldest_first`. `monotonic` is for tests."""

    def __init__(
        self,
        filter: AuditFilter,
        unknown_after: timedelta,
        *,
        oldest_first: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._filter = filter
        self._unknown_after = unknown_after
        self._oldest_first = oldest_first
        self._monotonic = monotonic
        behind, order = _OLDEST_FIRST if oldest_first else _NEWEST_FIRST
        request: LiteralString = _ANY_REQUEST if filter.request_id is None else _ONE_REQUEST
        self._sql: LiteralString = _PAGE + behind + _CONDITIONS + request + _ITEMS + order + _PEOPLE + order

    async def run(self, work: UnitOfWork, position: Position | None, wanted: int, seconds: float) -> FoundRows:
        """Fetch up to `wanted` rows that follow a position; None is where the order begins."""
        # What is not asked for is left out of a plan for these values; a plan for all values reads the log by time.
        await work.execute(_PLAN_BY_VALUES)
        if position is None:
            position = START if self._oldest_first else END
        since = max(self._filter.since or START[0], START[0], position[0] if self._oldest_first else START[0])
        if self._is_one_statement():
            return FoundRows(await self._fetch(work, (since, END[0]), position, wanted))
        row = await work.fetchrow(_RANGE)
        if row is None or row["oldest"] is None:
            return FoundRows(())
        since = max(since, row["oldest"])
        if self._filter.outcome == "pending":
            since = max(since, row["now"] - self._unknown_after)
        newest = row["newest"] if self._oldest_first else min(position[0], row["newest"])
        until = min(newest, self._filter.until or END[0]) + _INSTANT
        return await self._search(work, (since, until), position, wanted, seconds)

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
        self, work: UnitOfWork, left: tuple[datetime, datetime], position: Position, wanted: int, seconds: float
    ) -> FoundRows:
        rows: list[Row] = []
        deadline, length = self._monotonic() + seconds, FIRST_STRETCH
        while left[0] < left[1]:
            began = self._monotonic()
            stretch, left = self._split(left, length)
            rows += await self._fetch(work, stretch, position, wanted - len(rows))
            if len(rows) >= wanted:
                return FoundRows(rows)
            if self._monotonic() >= deadline and left[0] < left[1]:
                return FoundRows(rows, left[0] if self._oldest_first else left[1])
            took = max(self._monotonic() - began, STRETCH_SECONDS / MOST_GROWTH)
            length *= max(LEAST_GROWTH, STRETCH_SECONDS / took)
        return FoundRows(rows)

    def _split(
        self, left: tuple[datetime, datetime], length: timedelta
    ) -> tuple[tuple[datetime, datetime], tuple[datetime, datetime]]:
        """Split what is left to look at into the next stretch of at most `length` and the rest."""
        since, until = left
        if until - since <= length:
            return left, (until, until) if self._oldest_first else (since, since)
        if self._oldest_first:
            return (since, since + length), (since + length, until)
        return (until - length, until), (since, until - length)

    async def _fetch(
        self, work: UnitOfWork, within: tuple[datetime, datetime], position: Position, limit: int
    ) -> Sequence[Row]:
        filter, (since, until) = self._filter, within
        kind = "call.intent" if filter.kind in CALLS else filter.kind
        is_whole = kind is not None and "." in kind
        return await work.fetch(
            self._sql,
            since,
            min(filter.until or END[0], until),
            *position,
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
        AND e.at >= $2 AND e.at < $3 AND e.sealed_at >= $6
        AND """
_NEWEST_FIRST: tuple[LiteralString, LiteralString] = ("(e.at, e.seq) < ($4, $5)", "at DESC, seq DESC")
_OLDEST_FIRST: tuple[LiteralString, LiteralString] = ("(e.at, e.seq) > ($4, $5)", "at, seq")
"""What follows a position, and the order."""
_CONDITIONS: LiteralString = """
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
_ITEMS: LiteralString = """
), page AS (
    SELECT * FROM item WHERE $13::text IS NULL OR outcome = $13 ORDER BY """
_PEOPLE: LiteralString = """ LIMIT $14
)
SELECT page.*, u.email FROM page LEFT JOIN core.users u ON u.tenant_id = $1 AND u.id = page.user_id ORDER BY """
