"""Totals of each day, added up by Google over all devices and apps."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from modules.google_health.parameters import READ_ACTIVITY, READ_MEASUREMENTS, FirstDay, LastDay, check_days
from modules.google_health.rest_client import send_request
from modules.google_health.results import DailyTotals, DayTotals
from modules.google_health.values import (
    divide,
    get_object,
    get_objects,
    read_civil_date,
    read_number,
    read_whole,
    write_civil_date,
)
from modules.kit import Context, build_path, tool
from modules.kit.parameters import READ_HINTS

MAX_ROLLUP_DAYS = 90
MAX_DENSE_DAYS = 14
"""Most days of one request for what is measured often."""
ADDRESS = "/v4/users/me/dataTypes/{}/dataPoints:dailyRollUp"


class Measure(StrEnum):
    """What is added up for a day."""

    STEPS = "steps"
    DISTANCE = "distance"
    FLOORS = "floors"
    ACTIVE_MINUTES = "active_minutes"
    ZONE_MINUTES = "zone_minutes"
    CALORIES = "calories"


class BodyMeasure(StrEnum):
    """What is measured of the body."""

    HEART_RATE = "heart_rate"
    WEIGHT = "weight"


class _DataType(NamedTuple):
    """How Google calls a measure in a path and in an answer, how many days one request may have, and what is read."""

    path: str
    field: str
    most_days: int
    read: Callable[[Mapping[str, Any]], dict[str, Any]]


def _read_steps(value: Mapping[str, Any]) -> dict[str, Any]:
    return {"steps": read_whole(value.get("countSum"))}


def _read_floors(value: Mapping[str, Any]) -> dict[str, Any]:
    return {"floors": read_whole(value.get("countSum"))}


def _read_weight(value: Mapping[str, Any]) -> dict[str, Any]:
    return {"weight_kilograms": divide(read_number(value.get("weightGramsAvg")), 1_000, 2)}


def _read_active_minutes(value: Mapping[str, Any]) -> dict[str, Any]:
    levels = get_objects(value.get("activeMinutesRollupByActivityLevel"))
    minutes = {str(one.get("activityLevel")): read_whole(one.get("activeMinutesSum")) or 0 for one in levels}
    active = minutes.get("MODERATE", 0) + minutes.get("VIGOROUS", 0)
    return {"active_minutes": active, "light_minutes": minutes.get("LIGHT")} if minutes else {}


def _read_zone_minutes(value: Mapping[str, Any]) -> dict[str, Any]:
    found = [read_whole(value.get(f"sumIn{zone}HeartZone")) for zone in ("FatBurn", "Cardio", "Peak")]
    known = [one for one in found if one is not None]
    return {"zone_minutes": sum(known)} if known else {}


def _read_heart_rate(value: Mapping[str, Any]) -> dict[str, Any]:
    names = {"average": "Avg", "minimum": "Min", "maximum": "Max"}
    found = {name: read_number(value.get(f"beatsPerMinute{short}"), 0) for name, short in names.items()}
    return {f"heart_rate_{name}": int(one) for name, one in found.items() if one is not None}


def _read_distance(value: Mapping[str, Any]) -> dict[str, Any]:
    meters = divide(read_whole(value.get("millimetersSum")), 1_000, 0)
    return {"distance_meters": None if meters is None else int(meters)}


def _read_calories(value: Mapping[str, Any]) -> dict[str, Any]:
    calories = read_number(value.get("kcalSum"), 0)
    return {"calories_kcal": None if calories is None else int(calories)}


_TYPES: Mapping[StrEnum, _DataType] = {
    Measure.STEPS: _DataType("steps", "steps", MAX_ROLLUP_DAYS, _read_steps),
    Measure.DISTANCE: _DataType("distance", "distance", MAX_ROLLUP_DAYS, _read_distance),
    Measure.FLOORS: _DataType("floors", "floors", MAX_ROLLUP_DAYS, _read_floors),
    Measure.ACTIVE_MINUTES: _DataType("active-minutes", "activeMinutes", MAX_DENSE_DAYS, _read_active_minutes),
    Measure.ZONE_MINUTES: _DataType("active-zone-minutes", "activeZoneMinutes", MAX_ROLLUP_DAYS, _read_zone_minutes),
    Measure.CALORIES: _DataType("total-calories", "totalCalories", MAX_DENSE_DAYS, _read_calories),
    BodyMeasure.HEART_RATE: _DataType("heart-rate", "heartRate", MAX_DENSE_DAYS, _read_heart_rate),
    BodyMeasure.WEIGHT: _DataType("weight", "weight", MAX_ROLLUP_DAYS, _read_weight),
}


@tool(hints=READ_HINTS, scopes=[READ_ACTIVITY], keywords="walked, distance, calories, fitbit; 歩数, 運動")
async def list_daily_totals(
    context: Context,
    start_date: FirstDay,
    end_date: LastDay,
    measures: Annotated[
        list[Measure], Field(min_length=1, max_length=6, fail_fast=True, description="What to add up")
    ] = [Measure.STEPS, Measure.DISTANCE, Measure.ACTIVE_MINUTES, Measure.CALORIES],  # noqa: B006 pydantic copies it
) -> DailyTotals:
    """Steps, distance, active minutes and calories of each day, at most 90 days."""
    return await _add_up(context, start_date, end_date, list(dict.fromkeys(measures)))


@tool(hints=READ_HINTS, scopes=[READ_MEASUREMENTS], keywords="pulse, kilograms, fitbit; 心拍数, 体重")
async def list_body_measurements(
    context: Context,
    start_date: FirstDay,
    end_date: LastDay,
    measures: Annotated[
        list[BodyMeasure], Field(min_length=1, max_length=2, fail_fast=True, description="What was measured")
    ] = [BodyMeasure.HEART_RATE, BodyMeasure.WEIGHT],  # noqa: B006 pydantic copies it
) -> DailyTotals:
    """Heart rate and weight of each day, at most 90 days."""
    return await _add_up(context, start_date, end_date, list(dict.fromkeys(measures)))


async def _add_up(
    context: Context, start: date, last: date, measures: list[Measure] | list[BodyMeasure]
) -> DailyTotals:
    """Fetch each measure in as many requests as its days need, and put them together by day."""
    end = check_days(start, last, MAX_ROLLUP_DAYS)
    days, unreadable, is_incomplete = dict[date, dict[str, Any]](), 0, False
    for measure in measures:
        kind = _TYPES[measure]
        for first, after in _divide_days(start, end, kind.most_days):
            rows, more = await _fetch_rollup(context, kind, first, after)
            is_incomplete |= more
            for row in rows:
                day = read_civil_date(row.get("civilStartTime"))
                if day is None or not start <= day < end:
                    unreadable += 1
                    continue
                found = kind.read(get_object(row.get(kind.field)))
                days.setdefault(day, {}).update({name: one for name, one in found.items() if one is not None})
    listed = [DayTotals(date=f"{day}", **found) for day, found in sorted(days.items()) if found]
    return DailyTotals(days=listed, unreadable=unreadable, incomplete=is_incomplete)


def _divide_days(start: date, end: date, most: int) -> Iterator[tuple[date, date]]:
    while start < end:
        after = min(start + timedelta(days=most), end)
        yield start, after
        start = after


async def _fetch_rollup(
    context: Context, kind: _DataType, start: date, end: date
) -> tuple[list[Mapping[str, Any]], bool]:
    """Fetch the rows of some days, and whether there are more."""
    body = {
        "range": {"start": write_civil_date(start), "end": write_civil_date(end)},
        "windowSizeDays": 1,
        "pageSize": kind.most_days,
    }
    answer = await send_request(context, "POST", build_path(ADDRESS, kind.path), json=body, repeatable=True)
    document = answer.read(dict[str, Any])
    rows = answer.read_part(list[Any], document.get("rollupDataPoints") or [])
    return [get_object(one) for one in rows], bool(document.get("nextPageToken"))


TOOLS = (list_daily_totals, list_body_measurements)
