"""Rows of the streams as what is shown of them, with times as the clocks of the person's zone show them."""

from collections.abc import Mapping
from datetime import UTC, date, timedelta
from typing import Any, cast

from modules.activity.models import (
    ActivityEvent,
    ActivityExercise,
    HealthDay,
    HeartRateDay,
    SleepNight,
    TogglEntry,
)
from modules.activity.periods import Period, TimeSpan
from modules.activity.streams import ActivityRow, read_day, read_moment
from modules.kit.time_zones import format_in_zone

NO_MEETINGS = frozenset({"workingLocation", "birthday", "focusTime", "outOfOffice"})
"""Types of events in which nobody meets."""
Values = Mapping[str, Any]


def build_toggl_entry(row: ActivityRow, zone_name: str) -> TogglEntry:
    """Build what is shown of a time entry."""
    value, is_running = row.value, row.value.get("running") is True
    return TogglEntry(
        description=get_text(value, "description"),
        project=get_text(value, "project"),
        start=format_in_zone(row.starts_at, zone_name),
        end=None if is_running else format_in_zone(row.ends_at, zone_name),
        minutes=int((row.ends_at - row.starts_at).total_seconds() // 60),
        tags=get_texts(value, "tags"),
        running=is_running,
    )


def build_event(row: ActivityRow, zone_name: str) -> ActivityEvent:
    """Build what is shown of an event."""
    value, is_all_day = row.value, read_day(row.value.get("start")) is not None
    start, end = read_moment(value.get("start")), read_moment(value.get("end"))
    return ActivityEvent(
        summary=get_text(value, "summary"),
        start=format_in_zone(start, zone_name) if start and not is_all_day else get_text(value, "start"),
        end=format_in_zone(end, zone_name) if end and not is_all_day else get_text(value, "end"),
        location=get_text(value, "location"),
        my_response=get_text(value, "my_response"),
        all_day=is_all_day,
    )


def is_within(row: ActivityRow, period: Period) -> bool:
    """Check whether an event touches whole days: by its dates where it has no times."""
    first = read_day(row.value.get("start"))
    if first is None:
        return period.span.has(row.starts_at, row.ends_at)
    after = read_day(row.value.get("end"))
    last = after - timedelta(days=1) if after and after > first else first
    return first <= period.last and last >= period.first


def is_meeting(row: ActivityRow) -> bool:
    """Check whether an event takes time of the person's: it has times, and they have not declined it."""
    value = row.value
    is_timed = read_day(value.get("start")) is None
    has_part = value.get("my_response") != "declined" and value.get("free") is not True
    return is_timed and has_part and value.get("type") not in NO_MEETINGS


def build_health_day(row: ActivityRow) -> HealthDay:
    """Build what is shown of a day's measures."""
    numbers = {name: get_number(row.value, name) for name in HealthDay.model_fields if name != "date"}
    return HealthDay(date=get_text(row.value, "date"), **numbers)


def build_exercise(row: ActivityRow) -> ActivityExercise:
    """Build what is shown of an exercise."""
    value = row.value
    return ActivityExercise(
        title=get_text(value, "title") or get_text(value, "type"),
        start=get_text(value, "start"),
        end=get_text(value, "end") or get_text(value, "start"),
        minutes=get_number(value, "minutes"),
        distance_meters=get_number(value, "distance_meters"),
        calories_kcal=get_number(value, "calories_kcal"),
    )


def build_sleep(row: ActivityRow) -> SleepNight:
    """Build what is shown of a sleep."""
    value = row.value
    return SleepNight(
        date=get_text(value, "date"),
        start=get_text(value, "start") or get_text(value, "end"),
        end=get_text(value, "end"),
        minutes_asleep=get_number(value, "minutes_asleep"),
        minutes_awake=get_number(value, "minutes_awake"),
        nap=value.get("nap") is True,
    )


def build_heart_rate(row: ActivityRow) -> HeartRateDay | None:
    """Build what is shown of a day's resting heart rate."""
    beats = get_number(row.value, "beats_per_minute")
    return None if beats is None else HeartRateDay(date=get_text(row.value, "date"), beats_per_minute=beats)


def get_span(row: ActivityRow) -> TimeSpan:
    """Return when something was done."""
    return TimeSpan(row.starts_at, row.ends_at)


def is_of_day(row: ActivityRow, day: date) -> bool:
    """Check whether a row of a stream of days is of this one."""
    return row.starts_at.astimezone(UTC).date() == day


def get_text(value: Values, name: str) -> str:
    """Return a text of a row; "" for anything else."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def get_texts(value: Values, name: str) -> list[str]:
    """Return the texts in a list of a row."""
    found = value.get(name)
    return [one for one in cast("list[Any]", found) if isinstance(one, str)] if isinstance(found, list) else []


def get_number(value: Values, name: str) -> int | None:
    """Return a whole number of a row; None for anything else."""
    found = value.get(name)
    return found if type(found) is int else None
