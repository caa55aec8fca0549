"""Read figures of a tenant over time, from the counts of calls (:mod:`core.audit.call_counts`)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from operator import add
from typing import Any, Literal
from uuid import UUID

from core.db import Database, Row, UnitOfWork
from core.errors import Invalid

FigureInterval = Literal["hour", "day"]
MAX_HOURS, MAX_DAYS, MAX_LOCAL_DAYS = 31 * 24 + 1, 401, 93
"""Intervals of a range, one more than its length, whose begin and end lie within one. Local days are put together of
hours."""
_EARLIEST, _LATEST = datetime(2000, 1, 2, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_ALL_HOURS, _ALL_DAYS = 2**24 - 1, 2**31 - 1


@dataclass(frozen=True, slots=True)
class CallFigures:
    """Counts of calls. `median_ms` and `p95_ms` are estimates from buckets a square root of 2 wide, None without a
    finished call; `people` have called something.
    """

    calls: int = 0
    errors: int = 0
    denied: int = 0
    people: int = 0
    median_ms: float | None = None
    p95_ms: float | None = None


@dataclass(frozen=True, slots=True)
class FiguresOverTime:
    """Figures of each interval from `since` to `until`, by its start, of each module, and of all; modules that the
    tenant does not have, which clients make up, count as the module ''. People are not counted by module."""

    since: datetime
    until: datetime
    points: tuple[tuple[datetime, CallFigures], ...]
    modules: tuple[tuple[str, CallFigures], ...]
    total: CallFigures


class _Sum:
    """Counts of several rows together."""

    __slots__ = ("calls", "denied", "durations", "errors")

    def __init__(self) -> None:
        self.calls = self.errors = self.denied = 0
        self.durations: list[int] = []

    def add(self, calls: int, errors: int, denied: int, durations: Sequence[int]) -> None:
        self.calls += calls
        self.errors += errors
        self.denied += denied
        mine, buckets = self.durations, len(durations)
        if len(mine) < buckets:
            mine += [0] * (buckets - len(mine))
        mine[:buckets] = map(add, mine, durations)

    def build(self, people: int = 0) -> CallFigures:
        median, p95 = estimate_percentile(self.durations, 0.5), estimate_percentile(self.durations, 0.95)
        return CallFigures(self.calls, self.errors, self.denied, people, median, p95)


async def load_figures(
    console: Database,
    tenant_id: UUID,
    since: datetime,
    until: datetime,
    interval: FigureInterval,
    utc_offset_hours: int = 0,
) -> FiguresOverTime:
    """Load figures from the interval of `since` to that of `until`. Days begin at midnight in a zone that is so many
    hours ahead of UTC.

    Raises:
        Invalid: the range is empty or too long for the interval.
    """
    if not _EARLIEST <= since <= until <= _LATEST:
        raise Invalid("the range must have its begin before its end, between the years 2000 and 2200")
    offset, step = timedelta(hours=utc_offset_hours), _HOUR if interval == "hour" else _DAY
    begin, end = _floor(since, step, offset), _ceil(until, step, offset)
    starts = _list_starts(begin, end, step, interval, offset)
    async with console.tenant(tenant_id) as work:
        of_all = await work.fetch(_DAYS if interval == "day" and not offset else _HOURS, begin, end)
        of_modules = await _load_modules(work, begin, end)
        people = await _load_people(work, begin, end, interval, offset)
        everybody = await _count_everybody(work, begin, end)
    by_number = _sum_by(of_all, _build_numbering(begin, step))
    by_module = _sum_by(of_modules, lambda row: row["module"])
    total = _Sum()
    for part in by_number.values():
        total.add(part.calls, part.errors, part.denied, part.durations)
    points = tuple(
        (start, by_number.get(number, _Sum()).build(people.get(start, 0))) for number, start in enumerate(starts)
    )
    modules = tuple((module, by_module[module].build()) for module in sorted(by_module))
    return FiguresOverTime(begin, end, points, modules, total.build(everybody))


def estimate_percentile(durations: Sequence[int], share: float) -> float | None:
    """Estimate the duration in milliseconds that `share` of the calls stay below, of the calls in each bucket: within
    its bucket, calls lie evenly on a logarithmic scale."""
    wanted = share * sum(durations)
    if not wanted:
        return None
    for bucket, calls in enumerate(durations):
        if calls and wanted <= calls:
            return round(2 ** ((bucket - 1 + wanted / calls) / 2), 1)
        wanted -= calls
    return round(2 ** ((len(durations) - 1) / 2), 1)


def _sum_by(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, _Sum]:
    sums: dict[Any, _Sum] = {}
    for row in rows:
        found = key(row)
        if found not in sums:
            sums[found] = _Sum()
        sums[found].add(row["calls"], row["errors"], row["denied"], row["durations"])
    return sums


def _build_numbering(begin: datetime, step: timedelta) -> Callable[[Row], int]:
    """Build the function that numbers the interval of a row; a quarter of the time that datetimes take."""
    origin, seconds = begin.timestamp(), step.total_seconds()
    return lambda row: int((row["period"].timestamp() - origin) // seconds)


def _floor(time: datetime, step: timedelta, offset: timedelta) -> datetime:
    origin = datetime(1970, 1, 1, tzinfo=UTC) - offset
    return time - (time - origin) % step


def _ceil(time: datetime, step: timedelta, offset: timedelta) -> datetime:
    floor = _floor(time, step, offset)
    return floor if floor == time else floor + step


def _list_starts(
    begin: datetime, end: datetime, step: timedelta, interval: FigureInterval, offset: timedelta
) -> list[datetime]:
    most = MAX_HOURS if interval == "hour" else MAX_LOCAL_DAYS if offset else MAX_DAYS
    count = (end - begin) // step
    if not 1 <= count <= most:
        raise Invalid(f"ask for 1 to {most - 1} {interval}s at a time; these are {max(0, count)}")
    return [begin + number * step for number in range(count)]


async def _load_modules(work: UnitOfWork, begin: datetime, end: datetime) -> list[Row]:
    """Load the counts of each module: by whole days (UTC), and by hours where the range begins or ends within one."""
    first, last = _ceil(begin, _DAY, timedelta(0)), _floor(end, _DAY, timedelta(0))
    if first >= last:
        return [*await work.fetch(_HOURS_OF_MODULES, begin, end)]
    rows = [*await work.fetch(_DAYS_OF_MODULES, first, last)]
    for edge in ((begin, first), (last, end)):
        if edge[0] < edge[1]:
            rows += await work.fetch(_HOURS_OF_MODULES, *edge)
    return rows


async def _load_people(
    work: UnitOfWork, begin: datetime, end: datetime, interval: FigureInterval, offset: timedelta
) -> Mapping[datetime, int]:
    if interval == "hour":
        return {row["start"]: row["people"] for row in await work.fetch(_PEOPLE_BY_HOUR, *_build_day_masks(begin, end))}
    if offset:
        return await _load_people_of_local_days(work, begin, end, offset)
    rows = await work.fetch(_PEOPLE_BY_DAY, *_build_month_masks(begin.date(), end.date()))
    return {row["start"]: row["people"] for row in rows}


async def _load_people_of_local_days(
    work: UnitOfWork, begin: datetime, end: datetime, offset: timedelta
) -> Mapping[datetime, int]:
    """A local day is parts of two days (UTC): who called in one, and who in the other, but who in both once."""
    own, neighbour = _build_offset_masks(offset // _HOUR)
    ahead = offset > timedelta(0)
    later, earlier = (own, neighbour) if ahead else (neighbour, own)
    people: dict[datetime, int] = {}
    for row in await work.fetch(_PEOPLE_BY_PART, *_build_day_masks(begin, end), own, neighbour, later, earlier):
        day = row["start"] - offset
        beside = day + _DAY if ahead else day - _DAY
        people[day] = people.get(day, 0) + row["own"]
        people[beside] = people.get(beside, 0) + row["neighbour"]
        both = day if ahead else beside
        people[both] = people.get(both, 0) - row["both_parts"]
    return people


async def _count_everybody(work: UnitOfWork, begin: datetime, end: datetime) -> int:
    """Count who called in the range: by the days between its first and its last, and by the hours of those two."""
    first, last, *hours = _build_day_masks(begin, end)
    months = _build_month_masks(first + _DAY, last)
    count: int = await work.fetchval(_EVERYBODY, first, last, *hours, *months)
    return count


def _build_day_masks(begin: datetime, end: datetime) -> tuple[date, date, int, int]:
    """First and last day (UTC) of the range, and the hours of each that belong to it."""
    last = end - _HOUR
    first_hours = _ALL_HOURS & ~(2**begin.hour - 1)
    return begin.date(), last.date(), first_hours, 2 ** (last.hour + 1) - 1


def _build_month_masks(first: date, end: date) -> tuple[date, date, int, int]:
    """First and last month of the days from `first` until before `end`, and the days of each that belong to them."""
    last = end - _DAY
    return first.replace(day=1), last.replace(day=1), _ALL_DAYS & ~(2 ** (first.day - 1) - 1), 2**last.day - 1


def _build_offset_masks(offset: int) -> tuple[int, int]:
    """The hours of a day (UTC) that belong to the local day of the same date, and those of the day beside it."""
    if offset > 0:
        own = 2 ** (24 - offset) - 1
        return own, _ALL_HOURS & ~own
    neighbour = 2**-offset - 1
    return _ALL_HOURS & ~neighbour, neighbour


_COUNTS = "SELECT period, module, calls, errors, denied, durations "
_HOURS = _COUNTS + "FROM core.hourly_calls WHERE tenant_id = $1 AND module = '*' AND period >= $2 AND period < $3"
_DAYS = _COUNTS + "FROM core.daily_calls WHERE tenant_id = $1 AND module = '*' AND period >= $2 AND period < $3"
_HOURS_OF_MODULES = (
    _COUNTS + "FROM core.hourly_calls WHERE tenant_id = $1 AND period >= $2 AND period < $3 AND module <> '*'"
)
_DAYS_OF_MODULES = (
    _COUNTS + "FROM core.daily_calls WHERE tenant_id = $1 AND period >= $2 AND period < $3 AND module <> '*'"
)
_IN_RANGE = """FROM core.active_people
    CROSS JOIN LATERAL (SELECT hours & CASE WHEN day = $2 THEN $4::int ELSE -1 END
        & CASE WHEN day = $3 THEN $5::int ELSE -1 END AS bits) b
    WHERE tenant_id = $1 AND day >= $2::date AND day <= $3::date AND bits <> 0 """
# Where no day lies between the first and the last, the months or their days are none.
_EVERYBODY = """SELECT count(*) FROM (
    SELECT user_id FROM core.active_people WHERE tenant_id = $1 AND day IN ($2::date, $3::date)
        AND hours & CASE WHEN day = $2 THEN $4::int ELSE -1 END & CASE WHEN day = $3 THEN $5::int ELSE -1 END <> 0
    UNION SELECT user_id FROM core.active_days WHERE tenant_id = $1 AND month >= $6::date AND month <= $7::date
        AND days & CASE WHEN month = $6 THEN $8::int ELSE -1 END & CASE WHEN month = $7 THEN $9::int ELSE -1 END <> 0
) AS everybody"""
# One pass over the rows of a range, whose hours are bits.
_PEOPLE_BY_HOUR = (
    """SELECT (day + interval '1 hour' * (n - 1)) AT TIME ZONE 'UTC' AS start, people FROM (SELECT day, ARRAY[
        count(*) FILTER (WHERE bits & 1 <> 0), count(*) FILTER (WHERE bits & 2 <> 0),
        count(*) FILTER (WHERE bits & 4 <> 0), count(*) FILTER (WHERE bits & 8 <> 0),
        count(*) FILTER (WHERE bits & 16 <> 0), count(*) FILTER (WHERE bits & 32 <> 0),
        count(*) FILTER (WHERE bits & 64 <> 0), count(*) FILTER (WHERE bits & 128 <> 0),
        count(*) FILTER (WHERE bits & 256 <> 0), count(*) FILTER (WHERE bits & 512 <> 0),
        count(*) FILTER (WHERE bits & 1024 <> 0), count(*) FILTER (WHERE bits & 2048 <> 0),
        count(*) FILTER (WHERE bits & 4096 <> 0), count(*) FILTER (WHERE bits & 8192 <> 0),
        count(*) FILTER (WHERE bits & 16384 <> 0), count(*) FILTER (WHERE bits & 32768 <> 0),
        count(*) FILTER (WHERE bits & 65536 <> 0), count(*) FILTER (WHERE bits & 131072 <> 0),
        count(*) FILTER (WHERE bits & 262144 <> 0), count(*) FILTER (WHERE bits & 524288 <> 0),
        count(*) FILTER (WHERE bits & 1048576 <> 0), count(*) FILTER (WHERE bits & 2097152 <> 0),
        count(*) FILTER (WHERE bits & 4194304 <> 0), count(*) FILTER (WHERE bits & 8388608 <> 0)
    ] AS counts """  # noqa: S608 constants
    + _IN_RANGE
    + "GROUP BY day) AS by_day, unnest(counts) WITH ORDINALITY AS of_hour (people, n) WHERE people > 0"
)
_PEOPLE_BY_DAY = """SELECT (month + n::int - 1)::timestamp AT TIME ZONE 'UTC' AS start, people
    FROM (SELECT month, ARRAY[
        count(*) FILTER (WHERE bits & 1 <> 0), count(*) FILTER (WHERE bits & 2 <> 0),
        count(*) FILTER (WHERE bits & 4 <> 0), count(*) FILTER (WHERE bits & 8 <> 0),
        count(*) FILTER (WHERE bits & 16 <> 0), count(*) FILTER (WHERE bits & 32 <> 0),
        count(*) FILTER (WHERE bits & 64 <> 0), count(*) FILTER (WHERE bits & 128 <> 0),
        count(*) FILTER (WHERE bits & 256 <> 0), count(*) FILTER (WHERE bits & 512 <> 0),
        count(*) FILTER (WHERE bits & 1024 <> 0), count(*) FILTER (WHERE bits & 2048 <> 0),
        count(*) FILTER (WHERE bits & 4096 <> 0), count(*) FILTER (WHERE bits & 8192 <> 0),
        count(*) FILTER (WHERE bits & 16384 <> 0), count(*) FILTER (WHERE bits & 32768 <> 0),
        count(*) FILTER (WHERE bits & 65536 <> 0), count(*) FILTER (WHERE bits & 131072 <> 0),
        count(*) FILTER (WHERE bits & 262144 <> 0), count(*) FILTER (WHERE bits & 524288 <> 0),
        count(*) FILTER (WHERE bits & 1048576 <> 0), count(*) FILTER (WHERE bits & 2097152 <> 0),
        count(*) FILTER (WHERE bits & 4194304 <> 0), count(*) FILTER (WHERE bits & 8388608 <> 0),
        count(*) FILTER (WHERE bits & 16777216 <> 0), count(*) FILTER (WHERE bits & 33554432 <> 0),
        count(*) FILTER (WHERE bits & 67108864 <> 0), count(*) FILTER (WHERE bits & 134217728 <> 0),
        count(*) FILTER (WHERE bits & 268435456 <> 0), count(*) FILTER (WHERE bits & 536870912 <> 0),
        count(*) FILTER (WHERE bits & 1073741824 <> 0)
    ] AS counts FROM core.active_days
    CROSS JOIN LATERAL (SELECT days & CASE WHEN month = $2 THEN $4::int ELSE -1 END
        & CASE WHEN month = $3 THEN $5::int ELSE -1 END AS bits) b
    WHERE tenant_id = $1 AND month >= $2::date AND month <= $3::date AND bits <> 0
    GROUP BY month) AS by_month, unnest(counts) WITH ORDINALITY AS of_day (people, n) WHERE people > 0"""
_PEOPLE_BY_PART = (
    """SELECT day::timestamp AT TIME ZONE 'UTC' AS start, count(*) FILTER (WHERE bits & $6::int <> 0) AS own,
        count(*) FILTER (WHERE bits & $7::int <> 0) AS neighbour,
        count(*) FILTER (WHERE bits & $8::int <> 0 AND bits_before & $9::int <> 0 AND day = day_before + 1)
            AS both_parts
    FROM (SELECT day, bits, lag(day) OVER earlier AS day_before, lag(bits) OVER earlier AS bits_before """  # noqa: S608
    + _IN_RANGE
    + "WINDOW earlier AS (PARTITION BY user_id ORDER BY day)) AS active GROUP BY day"
)
