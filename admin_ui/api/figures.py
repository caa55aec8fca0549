"""``/figures``: calls, errors, denials, durations and active people over time."""

from datetime import datetime, timedelta
from typing import Annotated, Self

from fastapi import Query, Request
from pydantic import Field

from admin_ui.api.admin_dependencies import ConsoleDatabase
from core.api.app import create_router
from core.api.dependencies import AdminRead
from core.api.schemas import RequestModel, ResponseModel, UtcDatetime
from core.api.security import get_security
from core.audit.call_counts import CallCounter
from core.audit.figures import CallFigures, FigureInterval, load_figures

routes = create_router("figures")

DEFAULT_RANGES = {"hour": timedelta(hours=24), "day": timedelta(days=30)}


class FiguresQuery(RequestModel):
    """Range and interval of figures."""

    since: UtcDatetime | None = Field(
        default=None, description="Begin of the range; default 24 hours or 30 days before its end."
    )
    until: UtcDatetime | None = Field(default=None, description="End of the range; default now.")
    interval: FigureInterval = Field(default="hour", description="Length of an interval: `hour` or `day`.")
    utc_offset_hours: int = Field(
        default=0,
        ge=-12,
        le=14,
        description="Hours by which the time zone is ahead of UTC in which a day begins. "
        "Calls are counted by the hour: give the nearest whole one for a zone with minutes in its offset.",
    )


class FiguresView(ResponseModel):
    """Figures of calls."""

    calls: int = Field(description="Number of calls.")
    errors: int = Field(description="Number of calls that ended in an error or a time-out.")
    denied: int = Field(description="Number of denials: hidden or unknown tools, and missing scopes.")
    people: int = Field(description="Number of people who called a tool; 0 where people are not counted.")
    median_ms: float | None = Field(description="Estimated median duration in milliseconds; null without calls.")
    p95_ms: float | None = Field(
        description="Estimated 95th percentile of durations in milliseconds; null without calls."
    )

    @classmethod
    def build(cls, figures: CallFigures) -> Self:
        """Build the view of figures."""
        return cls.model_validate(figures)


class IntervalFiguresView(FiguresView):
    """Figures of one interval."""

    start: datetime = Field(description="Start of the interval.")


class ServiceFiguresView(FiguresView):
    """Figures of one service over the whole range."""

    module: str = Field(description="Name of the module; empty for denied names that are no service of the tenant.")


class FiguresOverTimeView(ResponseModel):
    """Figures of a tenant over time, up to the newest sealed event of the audit log."""

    since: datetime = Field(description="Begin of the range, at the start of an interval.")
    until: datetime = Field(description="End of the range, at the end of an interval.")
    total: FiguresView = Field(description="Figures of the whole range.")
    points: list[IntervalFiguresView] = Field(description="Figures of each interval, oldest first.")
    services: list[ServiceFiguresView] = Field(description="Figures of each service, by name.")


@routes.get("/figures")
async def show_figures(
    filters: Annotated[FiguresQuery, Query()], caller: AdminRead, console: ConsoleDatabase, request: Request
) -> FiguresOverTimeView:
    """Get figures of the tenant over time.

    At most 31 days by the hour, or 400 days by the day (92 where days do not begin at midnight UTC). What was sealed
    since the last counting is counted first, as long as fewer than 20,000 events wait.
    """
    until = filters.until or get_security(request).clock()
    since = filters.since or until - DEFAULT_RANGES[filters.interval]
    await CallCounter(console).count_newest(caller.tenant_id)
    found = await load_figures(console, caller.tenant_id, since, until, filters.interval, filters.utc_offset_hours)
    return FiguresOverTimeView(
        since=found.since,
        until=found.until,
        total=FiguresView.build(found.total),
        points=[
            IntervalFiguresView(start=start, **dict(FiguresView.build(figures))) for start, figures in found.points
        ],
        services=[
            ServiceFiguresView(module=module, **dict(FiguresView.build(figures))) for module, figures in found.modules
        ],
    )
