"""Tools that show what Google Health knows of a person, under the names of the Fitbit tools before them, too."""

from datetime import date

from modules.activity.entry_tools import READ, READ_HINTS, describe_reading
from modules.activity.models import (
    NO_HEALTH_DATA,
    EndDate,
    HealthActivity,
    HealthHeartRate,
    HealthSleep,
    StartDate,
)
from modules.activity.periods import Period, build_period
from modules.activity.reading import read_required
from modules.activity.rows import build_exercise, build_health_day, build_heart_rate, build_sleep
from modules.activity.sources import DAILY_TOTALS, EXERCISES, RESTING_HEART_RATES, SLEEPS
from modules.activity.streams import BY_NAME
from modules.kit import Context, tool
from modules.kit.time_zones import load_zone

MAX_SESSIONS = 1_000
OWN_CLOCK = "UTC"
"""Days of Google Health are those of the person's own clock, wherever they were: no zone is asked for."""


@tool(
    hints=READ_HINTS,
    scopes=[READ],
    aliases=["activity_get_fitbit_activity", "activity_get_health_activity", "get_fitbit_activity"],
    reads=[DAILY_TOTALS, EXERCISES],
    keywords="steps, walked, workout, calories; 歩数, 運動",
)
async def get_health_activity(context: Context, start_date: StartDate, end_date: EndDate) -> HealthActivity:
    """Steps, distance, active minutes and calories of each day, and exercises."""
    period = _build_own_period(start_date, end_date)
    totals = await read_required(context, BY_NAME["daily_totals"], period)
    exercises = await read_required(context, BY_NAME["exercises"], period)
    days = [build_health_day(one) for one in sorted(totals.rows, key=lambda one: one.starts_at)]
    done = sorted((build_exercise(one) for one in exercises.rows), key=lambda one: one.start)
    origin = totals if totals.synced_at is None else exercises
    return HealthActivity(
        message=f"{len(days)} days, {len(done)} exercises." if days or done else NO_HEALTH_DATA,
        days=days,
        exercises=done[:MAX_SESSIONS],
        exercises_left_out=max(0, len(done) - MAX_SESSIONS),
        **describe_reading(origin),
    )


@tool(
    hints=READ_HINTS,
    scopes=[READ],
    aliases=["activity_get_fitbit_sleep", "activity_get_health_sleep", "get_fitbit_sleep"],
    reads=[SLEEPS],
    keywords="slept, night, nap; 睡眠",
)
async def get_health_sleep(context: Context, start_date: StartDate, end_date: EndDate) -> HealthSleep:
    """Sleeps that ended on these days."""
    period = _build_own_period(start_date, end_date)
    reading = await read_required(context, BY_NAME["sleeps"], period)
    sleeps = sorted((build_sleep(one) for one in reading.rows), key=lambda one: (one.date, one.end))
    return HealthSleep(
        message=f"{len(sleeps)} sleeps." if sleeps else NO_HEALTH_DATA,
        sleeps=sleeps[:MAX_SESSIONS],
        left_out=max(0, len(sleeps) - MAX_SESSIONS),
        **describe_reading(reading),
    )


@tool(
    hints=READ_HINTS,
    scopes=[READ],
    aliases=["activity_get_fitbit_heart_rate", "activity_get_health_heart_rate", "get_fitbit_heart_rate"],
    reads=[RESTING_HEART_RATES],
    keywords="pulse, resting; 心拍数",
)
async def get_health_heart_rate(context: Context, start_date: StartDate, end_date: EndDate) -> HealthHeartRate:
    """Resting heart rate of each day."""
    period = _build_own_period(start_date, end_date)
    reading = await read_required(context, BY_NAME["resting_heart_rates"], period)
    days = sorted(filter(None, map(build_heart_rate, reading.rows)), key=lambda one: one.date)
    return HealthHeartRate(
        message=f"{len(days)} days." if days else NO_HEALTH_DATA,
        days=days,
        **describe_reading(reading),
    )


HEALTH_TOOLS = (get_health_activity, get_health_sleep, get_health_heart_rate)


def _build_own_period(first: date, last: date) -> Period:
    zone = load_zone(OWN_CLOCK)
    assert zone is not None
    return build_period(first, last, zone)
