"""Parameters that several of Google Health's tools share, and the scopes."""

from datetime import date, timedelta
from typing import Annotated

from pydantic import Field

from modules.kit import ToolError
from modules.kit.parameters import CalendarDate, PerPage

_PREFIX = "https://www.googleapis.com/auth/googlehealth."
READ_ACTIVITY = f"{_PREFIX}activity_and_fitness.readonly"
READ_MEASUREMENTS = f"{_PREFIX}health_metrics_and_measurements.readonly"
READ_PROFILE = f"{_PREFIX}profile.readonly"
READ_SETTINGS = f"{_PREFIX}settings.readonly"
READ_SLEEP = f"{_PREFIX}sleep.readonly"

FirstDay = Annotated[CalendarDate, Field(description="First day, as the person's own clock showed it")]
LastDay = Annotated[CalendarDate, Field(description="Last day")]
SessionPage = Annotated[PerPage, Field(description="25 come at once at most")]
MAX_DAYS = 366


def check_days(start: date, end: date, most: int = MAX_DAYS) -> date:
    """Check that days are in order and not too many; the day after the last.

    Raises:
        ToolError: they are not.
    """
    if end < start:
        raise ToolError("end_date is before start_date; give a later end_date")
    if (end - start).days >= most or end == date.max:
        raise ToolError(f"end_date: at most {most} days at once; give an earlier end_date")
    return end + timedelta(days=1)
