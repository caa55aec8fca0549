"""A day over all sources, put together from what was read of each."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from modules.activity.models import ActivityTotals, SourceState, SummaryDay, SummaryEntry
from modules.activity.periods import Period, count_covered_minutes, count_minutes
from modules.activity.reading import StreamReading
from modules.activity.rows import (
    build_event,
    build_exercise,
    build_health_day,
    build_heart_rate,
    build_sleep,
    build_toggl_entry,
    get_span,
    get_text,
    is_meeting,
    is_of_day,
    is_within,
)
from modules.activity.sources import ActivitySource
from modules.activity.streams import ActivityRow, read_moment
from modules.kit.time_zones import format_in_zone

MAX_ENTRIES = 500
"""Of one day."""
Readings = Mapping[str, StreamReading]


def build_summary_day(day: date, readings: Readings, period: Period) -> SummaryDay:
    """Build the summary of one of the days of a period that was read."""
    own = Period(day, day, period.zone)
    zone_name = period.zone.key
    tracked = [one for one in _list_rows(readings, "time_entries") if own.span.has(one.starts_at, one.ends_at)]
    events = [one for one in _list_rows(readings, "events") if is_within(one, own)]
    exercises = [one for one in _list_rows(readings, "exercises") if is_of_day(one, day)]
    sleeps = [one for one in _list_rows(readings, "sleeps") if is_of_day(one, day)]
    entries = [
        *(_build_tracked(one, zone_name) for one in tracked),
        *(_build_event(one, zone_name) for one in events),
        *(_build_exercise(one, zone_name) for one in exercises),
        *(_build_sleep(one, zone_name) for one in sleeps),
    ]
    entries.sort(key=_get_order)
    meetings = [own.span.cut(*get_span(one)) for one in events if is_meeting(one)]
    totals = ActivityTotals(
        tracked_minutes=_count_known(
            readings, "time_entries", count_minutes(own.span.cut(*get_span(one)) for one in tracked)
        ),
        meetings_minutes=_count_known(readings, "events", count_covered_minutes(meetings)),
        **_add_up_health(day, readings, exercises, sleeps),
    )
    return SummaryDay(
        date=f"{day}", entries=entries[:MAX_ENTRIES], totals=totals, left_out=max(0, len(entries) - MAX_ENTRIES)
    )


def build_source_state(source: ActivitySource, readings: Sequence[StreamReading]) -> SourceState:
    """Build how a source stands, from what was read of its streams."""
    failed = next((one for one in readings if one.error), None)
    synced = [one.synced_at for one in readings if one.synced_at is not None]
    return SourceState(
        source=source,
        connected=any(one.is_connected for one in readings),
        connect_url=next((one.connect_url for one in readings if one.connect_url), None),
        synced_at=min(synced) if synced and len(synced) == len(readings) else None,
        error=failed.error if failed is not None else None,
    )


def _count_known(readings: Readings, stream: str, minutes: int) -> int | None:
    """Return the minutes of a stream; None where it could not be read, as nobody knows that there are none."""
    return None if stream in readings and readings[stream].error else minutes


def _list_rows(readings: Readings, stream: str) -> list[ActivityRow]:
    return readings[stream].rows if stream in readings else []


def _add_up_health(
    day: date, readings: Readings, exercises: Sequence[ActivityRow], sleeps: Sequence[ActivityRow]
) -> dict[str, Any]:
    totals: dict[str, Any] = {}
    for row in _list_rows(readings, "daily_totals"):
        if is_of_day(row, day):
            totals |= build_health_day(row).model_dump(exclude={"date", "light_minutes"})
    for row in _list_rows(readings, "resting_heart_rates"):
        if is_of_day(row, day) and (found := build_heart_rate(row)):
            totals["resting_heart_rate"] = found.beats_per_minute
    minutes = [one for row in sleeps if (one := build_sleep(row).minutes_asleep) is not None]
    if minutes:
        totals["sleep_minutes"] = sum(minutes)
    if exercises:
        totals["exercise_minutes"] = sum(build_exercise(row).minutes or 0 for row in exercises)
    return totals


def _build_tracked(row: ActivityRow, zone_name: str) -> SummaryEntry:
    found = build_toggl_entry(row, zone_name)
    return SummaryEntry(
        source=ActivitySource.TOGGL,
        kind="time_entry",
        start=found.start,
        end=found.end or format_in_zone(row.ends_at, zone_name),
        title=found.description,
        detail=get_text(row.value, "client") or None,
        project=found.project or None,
        tags=found.tags,
        running=found.running,
    )


def _build_event(row: ActivityRow, zone_name: str) -> SummaryEntry:
    found = build_event(row, zone_name)
    return SummaryEntry(
        source=ActivitySource.GOOGLE_CALENDAR,
        kind="event",
        start=found.start,
        end=found.end or found.start,
        title=found.summary,
        detail=found.location or None,
        tags=[found.my_response] if found.my_response else [],
        all_day=found.all_day,
    )


def _build_exercise(row: ActivityRow, zone_name: str) -> SummaryEntry:
    found = build_exercise(row)
    return SummaryEntry(
        source=ActivitySource.GOOGLE_HEALTH,
        kind="exercise",
        start=_place(found.start, zone_name),
        end=_place(found.end, zone_name),
        title=found.title,
        detail=None if found.distance_meters is None else f"{found.distance_meters / 1_000:.1f} km",
    )


def _build_sleep(row: ActivityRow, zone_name: str) -> SummaryEntry:
    found = build_sleep(row)
    return SummaryEntry(
        source=ActivitySource.GOOGLE_HEALTH,
        kind="sleep",
        start=_place(found.start, zone_name),
        end=_place(found.end, zone_name),
        title="Nap" if found.nap else "Sleep",
        detail=None if found.minutes_asleep is None else f"{found.minutes_asleep} min asleep",
    )


def _place(text: str, zone_name: str) -> str:
    """Write a time of the person's clock as one of the zone: the same moment."""
    moment = read_moment(text)
    return format_in_zone(moment, zone_name) if moment else text


def _get_order(entry: SummaryEntry) -> tuple[bool, str, str]:
    """Return by what entries are ordered: those of whole days, then by their moments."""
    moment = read_moment(entry.start)
    return not entry.all_day, moment.isoformat() if moment else entry.start, entry.title
