"""Results of Google Health's tools: compact, in meters and minutes, with times as the person's clock showed them."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import Field, model_validator

from modules.google_health.values import (
    divide,
    get_object,
    get_objects,
    read_civil_date,
    read_duration,
    read_local_time,
    read_number,
    read_whole,
)
from modules.kit.results import Count, Flag, ListPage, Missable, OptionalIdentifier, ResultModel, Word, read_at

Raw = Mapping[str, Any]


class DayTotals(ResultModel):
    """What was measured on a day. `active_minutes` are of moderate or vigorous activity, `light_minutes` of light."""

    date: str
    steps: Missable[int] = None
    distance_meters: Missable[int] = None
    floors: Missable[int] = None
    active_minutes: Missable[int] = None
    light_minutes: Missable[int] = None
    zone_minutes: Missable[int] = None
    calories_kcal: Missable[int] = None
    heart_rate_average: Missable[int] = None
    heart_rate_minimum: Missable[int] = None
    heart_rate_maximum: Missable[int] = None
    weight_kilograms: Missable[float] = None


class DailyTotals(ResultModel):
    """In order of the days; a day of which nothing is known is missing. `unreadable` is the number of rows left out
    because they are not of the documented form. `incomplete`: Google had more: ask for fewer days."""

    days: list[DayTotals]
    unreadable: Count = 0
    incomplete: Flag = False


class SleepStages(ResultModel):
    """Minutes of each stage."""

    deep: Missable[int] = None
    light: Missable[int] = None
    rem: Missable[int] = None
    awake: Missable[int] = None
    asleep: Missable[int] = None
    restless: Missable[int] = None


class Sleep(ResultModel):
    """A sleep. `date` is the day on which it ended; `main` is the longest of that day."""

    id: OptionalIdentifier = ""
    date: str
    start: Word = ""
    end: Word = ""
    minutes_asleep: Missable[int] = None
    minutes_awake: Missable[int] = None
    stages: Missable[SleepStages] = None
    main: Flag = False
    nap: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        return _read_sleep(cast("Raw", raw)) if isinstance(raw, Mapping) else raw


class Sleeps(ListPage):
    """Latest first."""

    sleeps: list[Sleep]


class Exercise(ResultModel):
    """An exercise. `minutes` are without pauses."""

    id: OptionalIdentifier = ""
    title: Word = ""
    type: Word = ""
    start: str
    end: Word = ""
    minutes: Missable[int] = None
    distance_meters: Missable[int] = None
    calories_kcal: Missable[int] = None
    steps: Missable[int] = None
    heart_rate_average: Missable[int] = None
    notes: Word = ""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        return _read_exercise(cast("Raw", raw)) if isinstance(raw, Mapping) else raw


class Exercises(ListPage):
    """Latest first."""

    exercises: list[Exercise]


class RestingHeartRate(ResultModel):
    """Resting heart rate of a day."""

    date: str
    beats_per_minute: int

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        found = get_object(get_object(raw).get("dailyRestingHeartRate"))
        day = read_civil_date(found.get("date"))
        return _drop_missing({"date": day and f"{day}", "beats_per_minute": read_whole(found.get("beatsPerMinute"))})


class RestingHeartRates(ListPage):
    """Latest first."""

    resting_heart_rates: list[RestingHeartRate]


class HealthProfile(ResultModel):
    """Whose the data are."""

    age: Missable[int] = None
    member_since: Word = ""
    walking_stride_millimeters: Missable[int] = None
    running_stride_millimeters: Missable[int] = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        found = get_object(raw)
        since = read_civil_date(found.get("membershipStartDate"))
        fields = {"age": read_whole(found.get("age")), "member_since": since and f"{since}"}
        for kind in ("Walking", "Running"):
            own = read_whole(found.get(f"userConfigured{kind}StrideLengthMm"))
            name = f"{kind.lower()}_stride_millimeters"
            fields[name] = own or read_whole(found.get(f"auto{kind}StrideLengthMm"))
        return _drop_missing(fields)


class HealthSettings(ResultModel):
    """Settings of the account. Results are in meters and kilograms, whatever the units are there."""

    time_zone: Annotated[Word, read_at("timeZone")] = ""
    locale: Annotated[Word, read_at("languageLocale")] = ""
    distance_unit: Annotated[Word, read_at("distanceUnit")] = ""
    weight_unit: Annotated[Word, read_at("weightUnit")] = ""


class PairedDevice(ResultModel):
    """A tracker, watch or scale."""

    id: Annotated[OptionalIdentifier, read_at("name")] = ""
    model: Annotated[Word, read_at("deviceVersion")] = ""
    type: Annotated[Word, read_at("deviceType")] = ""
    battery: Annotated[Word, read_at("batteryStatus")] = ""
    battery_percent: Annotated[Missable[int], Field(validation_alias="batteryLevel")] = None
    last_sync: Annotated[Word, read_at("lastSyncTime")] = ""


class PairedDevices(ListPage):
    devices: list[PairedDevice]


def _drop_missing(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _read_sleep(raw: Raw) -> dict[str, Any]:
    sleep = get_object(raw.get("sleep"))
    interval, summary = get_object(sleep.get("interval")), get_object(sleep.get("summary"))
    metadata = get_object(sleep.get("metadata"))
    start, end = read_local_time(interval, "start"), read_local_time(interval, "end")
    minutes = {
        str(one.get("type")).lower(): read_whole(one.get("minutes"))
        for one in get_objects(summary.get("stagesSummary"))
    }
    stages = {name: minutes[name] for name in SleepStages.model_fields if minutes.get(name) is not None}
    fields = {
        "id": raw.get("dataPointName") or raw.get("name"),
        "date": end and f"{end:%Y-%m-%d}",
        "start": start and start.isoformat(timespec="seconds"),
        "end": end and end.isoformat(timespec="seconds"),
        "minutes_asleep": read_whole(summary.get("minutesAsleep")),
        "minutes_awake": read_whole(summary.get("minutesAwake")),
        "stages": stages or None,
        "main": metadata.get("mainSleep") is True,
        "nap": metadata.get("nap") is True,
    }
    return _drop_missing(fields) if end else {}


def _read_exercise(raw: Raw) -> dict[str, Any]:
    exercise = get_object(raw.get("exercise"))
    interval, metrics = get_object(exercise.get("interval")), get_object(exercise.get("metricsSummary"))
    start, end = read_local_time(interval, "start"), read_local_time(interval, "end")
    seconds = read_duration(exercise.get("activeDuration"))
    if seconds is None and start and end:
        seconds = int((end - start).total_seconds())
    kind = exercise.get("exerciseType")
    fields = {
        "id": raw.get("name"),
        "title": exercise.get("displayName"),
        "type": kind.lower() if isinstance(kind, str) else None,
        "start": start and start.isoformat(timespec="seconds"),
        "end": end and end.isoformat(timespec="seconds"),
        "minutes": None if seconds is None else seconds // 60,
        "distance_meters": _round(divide(read_number(metrics.get("distanceMillimeters")), 1_000, 0)),
        "calories_kcal": _round(read_number(metrics.get("caloriesKcal"))),
        "steps": read_whole(metrics.get("steps")),
        "heart_rate_average": read_whole(metrics.get("averageHeartRateBeatsPerMinute")),
        "notes": exercise.get("notes"),
    }
    return _drop_missing(fields) if start else {}


def _round(value: float | None) -> int | None:
    return None if value is None else round(value)
