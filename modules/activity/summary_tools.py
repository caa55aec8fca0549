"""The tool that sums a day up."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import Field

from modules.activity.entry_tools import READ, READ_HINTS
from modules.activity.models import NO_ACTIVITY, ActivitySummary, TimeZone
from modules.activity.periods import build_period, find_zone, get_today
from modules.activity.reading import read_together
from modules.activity.sources import READS, ActivitySource
from modules.activity.streams import STREAMS
from modules.activity.summary import build_source_state, build_summary_day
from modules.kit import Context, tool
from modules.kit.parameters import CalendarDate, OptionalParameter

MAX_SUMMARY_DAYS = 7


@tool(
    hints=READ_HINTS,
    scopes=[READ],
    aliases=["activity_summary"],
    reads=READS,
    title="Activity summary",
    keywords="what did I do, my day, today, yesterday, this week, review, diary; 今日, 昨日, 振り返り, 日報",
)
async def summary(
    context: Context,
    date: Annotated[
        OptionalParameter[CalendarDate], Field(description="First day; default so that the last one is today")
    ] = None,
    days: Annotated[int, Field(ge=1, le=MAX_SUMMARY_DAYS, description="How many days, at most 7")] = 1,
    time_zone: TimeZone = None,
) -> ActivitySummary:
    """What the person did on a day, or on several: tracked time, meetings, steps, sleep, exercises. A source that is
    not connected is named with its link, which only the person can open."""
    found = await find_zone(context, time_zone)
    first = date or get_today(datetime.now(UTC), found.zone) - timedelta(days=days - 1)
    period = build_period(first, first + timedelta(days=days - 1), found.zone)
    readings = await read_together(context, STREAMS, period)
    sources = [
        build_source_state(source, [one for one in readings.values() if one.stream.source is source])
        for source in ActivitySource
    ]
    built = [build_summary_day(day, readings, period) for day in period.days]
    shown: dict[str, Any] = {"days": built}
    if days == 1:
        (day,) = built
        shown = {"date": day.date, "entries": day.entries, "totals": day.totals, "left_out": day.left_out}
    number = sum(len(day.entries) + day.left_out for day in built)
    return ActivitySummary(
        message=f"{number} entries." if number else NO_ACTIVITY,
        time_zone=found.zone.key,
        zone_origin=found.origin,
        sources=sources,
        **shown,
    )


SUMMARY_TOOLS = (summary,)
