"""Streams of each source, as rows that are shown or stored: read live by the tools of its module.

A stream is all that one of these tools gives. Streams of days (`is_civil`) have dates as the person's own clock showed
them; a date counts as a day of UTC there.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple, cast

from modules.activity.periods import TimeSpan, begin_day
from modules.activity.sources import (
    DAILY_TOTALS,
    EVENTS,
    EXERCISES,
    RESTING_HEART_RATES,
    SLEEPS,
    TIME_ENTRIES,
    ActivitySource,
)
from modules.kit import Context, ToolError

MAX_ROWS = 10_000
"""Of one reading; of what is stored for a stream at once, too."""
MAX_REQUESTS = 400
"""Of one reading."""
TOGGL_PAGE = 10_000
CALENDAR_PAGE, SESSION_PAGE, RATE_PAGE = 100, 25, 100
TOTALS_DAYS = 90
ALL_DAY_BEFORE, ALL_DAY_AFTER = timedelta(hours=14), timedelta(hours=12)
"""How far a whole day begins before that of UTC, and ends after it, at the ends of the earth."""
TOO_MANY = "there is too much in this time; ask for fewer days"


class ActivityRow(NamedTuple):
    """Something that was done. `key` tells it from the others of its stream; `value` is what the tool has given."""

    key: str
    starts_at: datetime
    ends_at: datetime
    value: Mapping[str, Any]


Fetch = Callable[[Context, TimeSpan], Awaitable[list[ActivityRow]]]


@dataclass(frozen=True, slots=True)
class ActivityStream:
    """What one tool gives of a source. `lead` is how long before a time it is asked for what runs into it."""

    name: str
    source: ActivitySource
    tool: str
    fetch: Fetch
    is_civil: bool = False
    lead: timedelta = timedelta(0)


async def fetch_time_entries(context: Context, span: TimeSpan) -> list[ActivityRow]:
    """Fetch the time entries that began within a week before a time, or in it: a timer may have been forgotten."""
    now = datetime.now(UTC)
    rows, waiting = dict[str, ActivityRow](), [TimeSpan(span.start - TIME_ENTRY_LEAD, span.end)]
    for _ in range(MAX_REQUESTS):
        if not waiting:
            return list(rows.values())
        part = waiting.pop()
        found = await context.read(
            TIME_ENTRIES, start_date=part.start.isoformat(), end_date=part.end.isoformat(), per_page=TOGGL_PAGE
        )
        if found.get("incomplete") and part.seconds > 3_600:
            middle = part.start + (part.end - part.start) / 2
            waiting += [TimeSpan(part.start, middle), TimeSpan(middle, part.end)]
            continue
        for entry in _list_rows(found, "time_entries"):
            start = read_moment(entry.get("start"))
            if start is not None:
                end = now if entry.get("running") else start + timedelta(seconds=_read_seconds(entry))
                key = str(entry.get("id"))
                rows[key] = ActivityRow(key, start, max(start, end), entry)
        _check_number(rows)
    raise ToolError(TOO_MANY)


async def fetch_events(context: Context, span: TimeSpan) -> list[ActivityRow]:
    """Fetch the events of one's own calendar that touch a time."""
    window = {"time_min": span.start.isoformat(), "time_max": span.end.isoformat()}
    rows = dict[str, ActivityRow]()
    for found in await _read_pages(context, EVENTS, CALENDAR_PAGE, **window):
        for event in _list_rows(found, "events"):
            times = read_event_times(event)
            if times is not None:
                key = str(event.get("id") or times.start.isoformat())
                rows[key] = ActivityRow(key, times.start, times.end, event)
    return list(rows.values())


async def fetch_daily_totals(context: Context, span: TimeSpan) -> list[ActivityRow]:
    """Fetch what was measured on each day."""
    rows = dict[str, ActivityRow]()
    first, after = span.start.date(), span.end.date()
    while first < after:
        last = min(first + timedelta(days=TOTALS_DAYS), after) - timedelta(days=1)
        found = await context.read(DAILY_TOTALS, start_date=f"{first}", end_date=f"{last}")
        for value in _list_rows(found, "days"):
            _put_day(rows, str(value.get("date")), value, str(value.get("date")))
        first = last + timedelta(days=1)
    return list(rows.values())


async def fetch_sleeps(context: Context, span: TimeSpan) -> list[ActivityRow]:
    """Fetch the sleeps that ended on some days."""
    return await _fetch_dated(context, SLEEPS, "sleeps", SESSION_PAGE, span)


async def fetch_exercises(context: Context, span: TimeSpan) -> list[ActivityRow]:
    """Fetch the exercises that began on some days."""
    return await _fetch_dated(context, EXERCISES, "exercises", SESSION_PAGE, span)


async def fetch_resting_heart_rates(context: Context, span: TimeSpan) -> list[ActivityRow]:
    """Fetch the resting heart rate of some days."""
    return await _fetch_dated(context, RESTING_HEART_RATES, "resting_heart_rates", RATE_PAGE, span)


TIME_ENTRY_LEAD = timedelta(days=7)
STREAMS: tuple[ActivityStream, ...] = (
    ActivityStream("time_entries", ActivitySource.TOGGL, TIME_ENTRIES, fetch_time_entries, lead=TIME_ENTRY_LEAD),
    ActivityStream("events", ActivitySource.GOOGLE_CALENDAR, EVENTS, fetch_events, lead=timedelta(days=400)),
    ActivityStream("daily_totals", ActivitySource.GOOGLE_HEALTH, DAILY_TOTALS, fetch_daily_totals, is_civil=True),
    ActivityStream("sleeps", ActivitySource.GOOGLE_HEALTH, SLEEPS, fetch_sleeps, is_civil=True),
    ActivityStream("exercises", ActivitySource.GOOGLE_HEALTH, EXERCISES, fetch_exercises, is_civil=True),
    ActivityStream(
        "resting_heart_rates", ActivitySource.GOOGLE_HEALTH, RESTING_HEART_RATES, fetch_resting_heart_rates,
        is_civil=True,
    ),
)  # fmt: skip
BY_NAME: Mapping[str, ActivityStream] = {one.name: one for one in STREAMS}


def read_moment(text: Any) -> datetime | None:
    """Read a time with its offset, in UTC; None for anything else."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo is not None and 1 < moment.year < 9_999 else None


def read_day(text: Any) -> date | None:
    """Read a date; None for anything else."""
    try:
        return date.fromisoformat(str(text)) if len(str(text)) == len("2026-01-31") else None
    except ValueError:
        return None


def read_event_times(event: Mapping[str, Any]) -> TimeSpan | None:
    """Read when an event is; of one of whole days, the time in which it is one of them anywhere."""
    first, after = read_day(event.get("start")), read_day(event.get("end"))
    if first is not None:
        end = begin_day(after if after and after > first else first + timedelta(days=1), UTC)
        return TimeSpan(begin_day(first, UTC) - ALL_DAY_BEFORE, end + ALL_DAY_AFTER)
    start = read_moment(event.get("start"))
    if start is None:
        return None
    return TimeSpan(start, max(start, read_moment(event.get("end")) or start))


async def _fetch_dated(context: Context, tool: str, name: str, size: int, span: TimeSpan) -> list[ActivityRow]:
    """Fetch rows with a date, or a start that begins with one."""
    days = {"start_date": f"{span.start:%Y-%m-%d}", "end_date": f"{span.end - timedelta(days=1):%Y-%m-%d}"}
    rows = dict[str, ActivityRow]()
    for found in await _read_pages(context, tool, size, **days):
        for value in _list_rows(found, name):
            day = str(value.get("date") or str(value.get("start"))[:10])
            _put_day(rows, day, value, str(value.get("id") or value.get("start") or day))
    return list(rows.values())


async def _read_pages(context: Context, tool: str, size: int, **arguments: Any) -> list[Any]:
    """Read all pages of a list.

    Raises:
        ToolError: a page cannot be read, or there are too many.
    """
    pages, cursor = list[Any](), dict[str, Any]()
    for _ in range(MAX_ROWS // size):
        found = await context.read(tool, per_page=size, **arguments, **cursor)
        pages.append(found)
        if not found.get("nextCursor"):
            return pages
        cursor = {"cursor": found["nextCursor"]}
    raise ToolError(TOO_MANY)


def _put_day(rows: dict[str, ActivityRow], day_text: str, value: Mapping[str, Any], key: str) -> None:
    day = read_day(day_text)
    if day is not None:
        rows[key] = ActivityRow(key, begin_day(day, UTC), begin_day(day + timedelta(days=1), UTC), value)


def _list_rows(found: Any, name: str) -> list[Mapping[str, Any]]:
    listed = cast("Mapping[str, Any]", found).get(name) if isinstance(found, dict) else None
    return [cast("Mapping[str, Any]", one) for one in cast("list[Any]", listed or []) if isinstance(one, dict)]


def _read_seconds(entry: Mapping[str, Any]) -> int:
    seconds = entry.get("seconds")
    return min(max(0, seconds), 10**8) if type(seconds) is int else 0


def _check_number(rows: Mapping[str, ActivityRow]) -> None:
    if len(rows) > MAX_ROWS:
        raise ToolError(TOO_MANY)
