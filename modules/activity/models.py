"""Arguments and results of activity."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field

from modules.activity.periods import ZoneOrigin
from modules.activity.sources import ActivitySource
from modules.kit.parameters import CalendarDate, OptionalParameter, limit_length
from modules.kit.result_texts import TextResult
from modules.kit.results import LEFT_OUT_IF_EMPTY, Count, Flag, Missable
from modules.kit.time_zones import ZoneName
from modules.kit.untrusted import UNTRUSTED

NO_TIME_ENTRIES = "No Toggl entries found for the specified period."
NO_EVENTS = "No calendar events found for the specified period."
NO_HEALTH_DATA = "No health data found for the specified period."
NO_ACTIVITY = "No activity found for the specified period."
NO_DESCRIPTION, NO_PROJECT, NO_TITLE = "(no description)", "(no project)", "(no title)"

StartDate = Annotated[CalendarDate, Field(description="First day, such as 2026-03-02")]
EndDate = Annotated[CalendarDate, Field(description="Last day; at most 366 days in all")]
TimeZone = Annotated[
    OptionalParameter[ZoneName],
    Field(description="IANA zone of the days; without it that of the person's profile or calendar"),
]
ProjectName = Annotated[
    OptionalParameter[Annotated[str, limit_length(1, 256)]],
    Field(description="Only entries of this project, whatever its case"),
]
Origin = Literal["synced", "live"]
Words = Annotated[list[str], LEFT_OUT_IF_EMPTY]


class ReadResult(TextResult):
    """What was read of one source. `origin` says whether it was stored before, at `synced_at`, or read just now."""

    text_field: ClassVar[str] = "message"
    is_complete: ClassVar[bool] = True

    message: str
    origin: Origin
    synced_at: Missable[datetime] = None

    def list_lines(self) -> list[str]:
        """List what is shown, line by line."""
        raise NotImplementedError

    def format_text(self) -> str:
        lines = self.list_lines()
        return "\n".join([UNTRUSTED, self.message, *lines]) if lines else self.message


class TogglEntry(BaseModel):
    """Tracked time. A `running` entry has no end, and lasts until now."""

    description: str
    project: str
    start: str
    end: Missable[str] = None
    minutes: int
    tags: Words = []
    running: Flag = False


class TogglEntries(ReadResult):
    """Newest first; `total` and `tracked_minutes` count all of the period."""

    time_zone: str
    entries: list[TogglEntry]
    total: int
    tracked_minutes: int
    nextCursor: Missable[str] = None  # noqa: N815

    def list_lines(self) -> list[str]:
        return [*map(_format_entry, self.entries), *_format_cursor(self.nextCursor)]


class ActivityEvent(BaseModel):
    """An event of the calendar; one of whole days ends before its end."""

    summary: str
    start: str
    end: str
    location: Annotated[str, LEFT_OUT_IF_EMPTY] = ""
    my_response: Annotated[str, LEFT_OUT_IF_EMPTY] = ""
    all_day: Flag = False


class ActivityEvents(ReadResult):
    """Oldest first; `total` counts all of the period."""

    time_zone: str
    events: list[ActivityEvent]
    total: int
    nextCursor: Missable[str] = None  # noqa: N815

    def list_lines(self) -> list[str]:
        return [*map(_format_event, self.events), *_format_cursor(self.nextCursor)]


class HealthDay(BaseModel):
    """What was measured on a day."""

    date: str
    steps: Missable[int] = None
    distance_meters: Missable[int] = None
    active_minutes: Missable[int] = None
    light_minutes: Missable[int] = None
    calories_kcal: Missable[int] = None


class ActivityExercise(BaseModel):
    """An exercise."""

    title: str
    start: str
    end: str
    minutes: Missable[int] = None
    distance_meters: Missable[int] = None
    calories_kcal: Missable[int] = None


class HealthActivity(ReadResult):
    """By day and by time. `exercises_left_out` are further ones."""

    days: list[HealthDay]
    exercises: list[ActivityExercise]
    exercises_left_out: Count = 0

    def list_lines(self) -> list[str]:
        return [*map(_format_values, self.days), *map(_format_exercise, self.exercises)]


class SleepNight(BaseModel):
    """A sleep; `date` is the day on which it ended."""

    date: str
    start: str
    end: str
    minutes_asleep: Missable[int] = None
    minutes_awake: Missable[int] = None
    nap: Flag = False


class HealthSleep(ReadResult):
    """Oldest first. `left_out` are further ones."""

    sleeps: list[SleepNight]
    left_out: Count = 0

    def list_lines(self) -> list[str]:
        return [f"- {one.start} to {one.end}: {_format_minutes(one.minutes_asleep)} asleep" for one in self.sleeps]


class HeartRateDay(BaseModel):
    """Resting heart rate of a day."""

    date: str
    beats_per_minute: int


class HealthHeartRate(ReadResult):
    """By day."""

    days: list[HeartRateDay]

    def list_lines(self) -> list[str]:
        return [f"- {one.date}: {one.beats_per_minute} beats a minute at rest" for one in self.days]


class SourceState(BaseModel):
    """How a source stands. `synced_at` is missing where it was read just now."""

    source: ActivitySource
    connected: bool
    connect_url: Missable[str] = None
    synced_at: Missable[datetime] = None
    error: Missable[str] = None


class SummaryEntry(BaseModel):
    """Something that was done. One of whole days has dates, and ends before its end."""

    source: ActivitySource
    kind: Literal["time_entry", "event", "exercise", "sleep"]
    start: str
    end: str
    title: str
    detail: Missable[str] = None
    project: Missable[str] = None
    tags: list[str] = []
    all_day: Flag = False
    running: Flag = False


class ActivityTotals(BaseModel):
    """Whole minutes and counts of a day. Two meetings at once take the time of one; what one has declined, or is free
    in, counts for nothing. What no source could tell is missing."""

    tracked_minutes: Missable[int] = None
    meetings_minutes: Missable[int] = None
    exercise_minutes: Missable[int] = None
    sleep_minutes: Missable[int] = None
    steps: Missable[int] = None
    distance_meters: Missable[int] = None
    active_minutes: Missable[int] = None
    calories_kcal: Missable[int] = None
    resting_heart_rate: Missable[int] = None


class SummaryDay(BaseModel):
    """A day. Entries that last over midnight are of both days, with their own start and end; the totals count what is
    within the day. `left_out` are further entries."""

    date: str
    entries: list[SummaryEntry]
    totals: ActivityTotals
    left_out: Count = 0


class ActivitySummary(TextResult):
    """A day: `date`, `entries` and `totals`; or several: `days`. `zone_origin` is how the zone was found."""

    text_field: ClassVar[str] = "message"
    is_complete: ClassVar[bool] = True

    message: str
    time_zone: str
    zone_origin: ZoneOrigin
    sources: list[SourceState]
    date: Missable[str] = None
    entries: Missable[list[SummaryEntry]] = None
    totals: Missable[ActivityTotals] = None
    left_out: Count = 0
    days: Missable[list[SummaryDay]] = None

    def format_text(self) -> str:
        days = self.days or [_build_single_day(self)]
        lines = [line for day in days for line in _format_day(day, self.time_zone)]
        return "\n".join([UNTRUSTED, *lines, *map(_format_source, self.sources)])


class SourceSync(BaseModel):
    """What a sync did for a source. `synced_from` and `synced_until` are the days that are stored now."""

    source: ActivitySource
    connected: bool
    connect_url: Missable[str] = None
    entries: int = 0
    error: Missable[str] = None


class ActivitySync(BaseModel):
    """Outcome of a sync; `entries` are those that were read."""

    message: str
    synced_at: datetime
    sources: list[SourceSync]


class DeletedActivity(BaseModel):
    """How many stored rows were deleted."""

    message: str
    deleted: int


def _format_entry(entry: TogglEntry) -> str:
    tags = f" [{', '.join(entry.tags)}]" if entry.tags else ""
    lasts = f"{entry.minutes} min{', running' if entry.running else ''}"
    project = f"({entry.project})" if entry.project else NO_PROJECT
    return f"- {entry.start}: {entry.description or NO_DESCRIPTION} {project}, {lasts}{tags}"


def _format_event(event: ActivityEvent) -> str:
    place = f", {event.location}" if event.location else ""
    return f"- {event.start} to {event.end}: {event.summary or NO_TITLE}{place}"


def _format_values(day: HealthDay) -> str:
    values = {name: one for name, one in day.model_dump(exclude={"date"}).items() if one is not None}
    return f"- {day.date}: " + ", ".join(f"{name.replace('_', ' ')} {one:,}" for name, one in values.items())


def _format_exercise(exercise: ActivityExercise) -> str:
    return f"- {exercise.start}: {exercise.title or NO_TITLE}, {_format_minutes(exercise.minutes)}"


def _format_minutes(minutes: int | None) -> str:
    if minutes is None:
        return "unknown time"
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def _format_cursor(cursor: str | None) -> list[str]:
    return [f"nextCursor: {cursor}"] if cursor else []


def _build_single_day(summary: ActivitySummary) -> SummaryDay:
    totals = summary.totals or ActivityTotals()
    return SummaryDay(date=summary.date or "", entries=summary.entries or [], totals=totals, left_out=summary.left_out)


def _format_day(day: SummaryDay, zone: str) -> list[str]:
    totals = day.totals
    named = (
        ("tracked", totals.tracked_minutes), ("meetings", totals.meetings_minutes), ("asleep", totals.sleep_minutes),
    )  # fmt: skip
    heads = [f"{name} {_format_minutes(minutes)}" for name, minutes in named if minutes is not None]
    heads += [f"{totals.steps:,} steps"] if totals.steps is not None else []
    lines = [f"- {one.start} to {one.end}: {_format_title(one)}{_format_project(one)}" for one in day.entries]
    more = [f"- and {day.left_out} more"] if day.left_out else []
    return [f"{day.date} ({zone}): {', '.join(heads) or 'no totals'}", *lines, *more]


def _format_title(entry: SummaryEntry) -> str:
    return entry.title or (NO_DESCRIPTION if entry.kind == "time_entry" else NO_TITLE)


def _format_project(entry: SummaryEntry) -> str:
    project = f" ({entry.project})" if entry.project else ""
    return project + (f" [{', '.join(entry.tags)}]" if entry.tags else "")


def _format_source(state: SourceState) -> str:
    if state.error is None:
        origin = f"as of {state.synced_at:%Y-%m-%dT%H:%MZ}" if state.synced_at else "read now"
        return f"{state.source.label}: {origin}"
    link = f" Connect it at {state.connect_url}." if state.connect_url and state.connect_url not in state.error else ""
    return f"{describe_error(state.source, state.error)}{link}"


def describe_error(source: ActivitySource, error: str) -> str:
    """Describe why a source could not be read, with its name in front once."""
    return error if error.startswith(source.label) else f"{source.label}: {error}"
