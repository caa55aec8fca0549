"""Sleeps, exercises, and the resting heart rate, page by page."""

from datetime import date
from typing import Annotated

from pydantic import Field

from modules.google_health.parameters import (
    READ_ACTIVITY,
    READ_MEASUREMENTS,
    READ_SLEEP,
    FirstDay,
    LastDay,
    SessionPage,
    check_days,
)
from modules.google_health.rest_client import PAGING, Model, fetch_page
from modules.google_health.results import Exercise, Exercises, RestingHeartRate, RestingHeartRates, Sleep, Sleeps
from modules.kit import Context, build_path, tool
from modules.kit.paging import ReadPage, parse_cursor
from modules.kit.parameters import READ_HINTS, CursorText, PerPage

POINTS = "/v4/users/me/dataTypes/{}/dataPoints"
RECONCILED = "/v4/users/me/dataTypes/{}/dataPoints:reconcile"
"""Of what several devices have measured at once, one."""


@tool(hints=READ_HINTS, scopes=[READ_SLEEP], keywords="slept, nap, night, fitbit; 睡眠")
async def list_sleep(
    context: Context, start_date: FirstDay, end_date: LastDay, per_page: SessionPage = 25, cursor: CursorText = None
) -> Sleeps:
    """Sleeps that ended on these days, with their stages."""
    address, member = build_path(RECONCILED, "sleep"), "sleep.interval.civil_end_time"
    page = await _fetch_days(context, Sleep, address, member, start_date, end_date, per_page, cursor)
    return Sleeps(sleeps=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ_ACTIVITY], keywords="workout, run, walk, training, fitbit; 運動")
async def list_exercises(
    context: Context, start_date: FirstDay, end_date: LastDay, per_page: SessionPage = 25, cursor: CursorText = None
) -> Exercises:
    """Exercises that began on these days."""
    address, member = build_path(POINTS, "exercise"), "exercise.interval.civil_start_time"
    page = await _fetch_days(context, Exercise, address, member, start_date, end_date, per_page, cursor)
    return Exercises(exercises=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ_MEASUREMENTS], keywords="pulse, fitbit; 安静時心拍数")
async def list_resting_heart_rates(
    context: Context,
    start_date: FirstDay,
    end_date: LastDay,
    per_page: Annotated[PerPage, Field(description="At most 100")] = 100,
    cursor: CursorText = None,
) -> RestingHeartRates:
    """Resting heart rate of each of these days."""
    address, member = build_path(RECONCILED, "daily-resting-heart-rate"), "daily_resting_heart_rate.date"
    page = await _fetch_days(context, RestingHeartRate, address, member, start_date, end_date, per_page, cursor)
    return RestingHeartRates(resting_heart_rates=page.rows, **page.fields)


async def _fetch_days(
    context: Context,
    shape: type[Model],
    address: str,
    member: str,
    start: date,
    last: date,
    per_page: int,
    cursor: str | None,
) -> ReadPage[Model]:
    """Fetch one page of what is of these days by the `member` that Google compares."""
    condition = f'{member} >= "{start}" AND {member} < "{check_days(start, last)}"'
    asked = parse_cursor(cursor, PAGING, f"{address} {condition}", per_page)
    return await fetch_page(context, shape, address, asked, "dataPoints", {"filter": condition})


TOOLS = (list_sleep, list_exercises, list_resting_heart_rates)
