"""Data points as Google Health keeps them, the filters that it takes, and its refusals."""

import re
from datetime import date, datetime, timedelta
from typing import Any

from tests.support.vendor_double import VendorRefusal

Json = dict[str, Any]
MEMBERS = {
    "sleep": "sleep.interval.civil_end_time",
    "exercise": "exercise.interval.civil_start_time",
    "daily-resting-heart-rate": "daily_resting_heart_rate.date",
}
"""What a list of these is filtered by (the documented patterns for sessions and daily summaries)."""
_FILTER = re.compile(r'([a-z_.]+) >= "(\d{4}-\d{2}-\d{2})" AND ([a-z_.]+) < "(\d{4}-\d{2}-\d{2})"')


class HealthRefused(VendorRefusal):
    """A refusal in Google's form."""

    def __init__(self, status: int, code: str, message: str = "made-up", reason: str = "") -> None:
        details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}] if reason else []
        error: Json = {"code": status, "message": message, "status": code}
        super().__init__(status, {"error": {**error, **({"details": details} if details else {})}})


def read_filter(kind: str, text: str) -> tuple[date, date]:
    """The days that a filter asks for."""
    found = _FILTER.fullmatch(text)
    if found is None or found[1] != MEMBERS.get(kind) or found[1] != found[3]:
        raise HealthRefused(400, "INVALID_ARGUMENT", "Invalid data point filter.")
    return date.fromisoformat(found[2]), date.fromisoformat(found[4])


def read_civil(value: Json) -> date:
    """The day of a civil time, which begins it."""
    if any(value.get("time", {}).values()):
        raise HealthRefused(400, "INVALID_ARGUMENT", "The range must be aligned with the window.")
    day = value["date"]
    return date(day["year"], day["month"], day["day"])


def write_civil(moment: datetime | date) -> Json:
    """A civil time."""
    day: Json = {"date": {"year": moment.year, "month": moment.month, "day": moment.day}}
    if isinstance(moment, datetime):
        day["time"] = {"hours": moment.hour, "minutes": moment.minute, "seconds": moment.second}
    return day


def write_interval(start: datetime, end: datetime) -> Json:
    """An interval of a session: in UTC, with the offsets beside it, and as the clock showed it."""
    made: Json = {}
    for name, moment in (("start", start), ("end", end)):
        offset = moment.utcoffset() or timedelta()
        made[f"{name}Time"] = f"{moment - offset:%Y-%m-%dT%H:%M:%SZ}"
        made[f"{name}UtcOffset"] = f"{int(offset.total_seconds())}s"
        made[f"civil{name.capitalize()}Time"] = write_civil(moment)
    return made


def get_day(kind: str, point: Json) -> date:
    """The day by which a point is filtered."""
    match kind:
        case "sleep":
            value = point["sleep"]["interval"]["civilEndTime"]["date"]
        case "exercise":
            value = point["exercise"]["interval"]["civilStartTime"]["date"]
        case _:
            value = point["dailyRestingHeartRate"]["date"]
    return date(value["year"], value["month"], value["day"])
