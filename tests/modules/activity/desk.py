"""A product with activity before three doubles: ada is connected to all, eve of another tenant to her own accounts."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from core.directory.profiles import change_profile
from modules.activity import MODULE as ACTIVITY
from modules.google_calendar import MODULE as CALENDAR
from modules.google_health import MODULE as HEALTH
from modules.toggl import MODULE as TOGGL
from tests.support.eventually import within
from tests.support.google_calendar_double import GoogleCalendarDouble, google_calendar_double
from tests.support.google_health_double import GoogleHealthDouble, google_health_double
from tests.support.mcp_client import Answer
from tests.support.module_app import FULL_KEY, ModuleApp, open_module_app
from tests.support.postgres import DatabaseServer
from tests.support.product import ACTOR, Person
from tests.support.task_forms import CORE, run_as_task
from tests.support.toggl_double import TOGGL_SCHEME, TogglDouble, toggl_double

SERVICES = ("toggl", "google_calendar", "google_health")
BERLIN = ZoneInfo("Europe/Berlin")


@dataclass(frozen=True)
class ActivityDesk:
    """The product and its vendors."""

    app: ModuleApp
    toggl: TogglDouble
    calendar: GoogleCalendarDouble
    health: GoogleHealthDouble

    async def ask(self, tool: str, person: Person | None = None, **params: Any) -> Answer:
        return await self.app.node.call((person or self.app.ada).token, "activity", tool, params)

    async def read(self, tool: str, person: Person | None = None, **params: Any) -> Any:
        answer = await self.ask(tool, person, **params)
        assert not answer.failed, answer.text
        return answer.value

    async def sync(self, person: Person | None = None, **params: Any) -> Any:
        return await run_as_task(self.app.node, person or self.app.ada, CORE, "activity", "sync_activity", params)

    async def connect(self, person: Person, key: str, *services: str) -> None:
        """Connect accounts of somebody who has none there."""
        for service in services or SERVICES:
            scheme = TOGGL_SCHEME if service == "toggl" else None
            await self.app.connect(person, key, scheme=scheme, service=service)

    async def disconnect(self, person: Person, service: str) -> None:
        """Remove somebody's account, and wait until the product has heard of it."""
        owner = await self.app.credentials.resolve_owner(person.tenant.id, email=person.email)
        await self.app.credentials.remove(ACTOR, person.tenant.id, service, owner)

        async def heard() -> bool:
            states = (await self.read("summary", person))["sources"]
            return not next(one["connected"] for one in states if one["source"] == service)

        await within(5, heard)

    async def set_zone(self, person: Person, zone: str | None) -> None:
        await change_profile(self.app.product.console, ACTOR, person.tenant.id, person.id, time_zone=zone)

    async def make_person(self, name: str, *, deny: tuple[str, ...] = ()) -> Person:
        """A further person of ada's tenant, connected as ada is."""
        person = await self.app.product.person(self.app.ada.tenant, f"{name}@acme.test", allow=["*"], deny=deny)
        await self.connect(person, FULL_KEY)
        return person

    def forget(self) -> None:
        """Empty the vendors."""
        self.toggl.reset()
        self.toggl.refusals.clear()
        self.calendar.reset()
        self.calendar.refusals.clear()
        self.health.reset()
        self.health.refusals.clear()

    async def forget_stored(self, *people: Person) -> None:
        for person in people or (self.app.ada, self.app.eve):
            await self.read("delete_synced_activity", person)

    def track(self, start: datetime, minutes: int, text: str = "work", **more: Any) -> dict[str, Any]:
        """Track time at Toggl; below 0 it runs."""
        return self.toggl.add_entry(start, minutes * 60 if minutes >= 0 else -1, text, **more)

    def meet(self, start: datetime, minutes: int, title: str = "meeting", **more: Any) -> dict[str, Any]:
        """Put an event into the calendar."""
        end = start + timedelta(minutes=minutes)
        return self.calendar.add_event(
            summary=title, start={"dateTime": start.isoformat()}, end={"dateTime": end.isoformat()}, **more
        )

    def block(self, first: date, days: int, title: str) -> dict[str, Any]:
        """Put an event of whole days into the calendar."""
        return self.calendar.add_event(
            summary=title, start={"date": f"{first}"}, end={"date": f"{first + timedelta(days=days)}"}
        )

    @property
    def asked(self) -> int:
        """How many requests the vendors have got."""
        return len(self.toggl.seen) + len(self.calendar.seen) + len(self.health.seen)


@contextlib.asynccontextmanager
async def open_desk(server: DatabaseServer, folder: Path) -> AsyncIterator[ActivityDesk]:
    async with toggl_double() as toggl, google_calendar_double() as calendar, google_health_double() as health:
        urls = {"google_calendar": calendar.url, "google_health": health.url}
        beside = [CALENDAR, HEALTH, ACTIVITY]
        async with open_module_app(server, folder, TOGGL, toggl.url, beside, urls) as app:
            desk = ActivityDesk(app, toggl, calendar, health)
            await desk.connect(app.ada, FULL_KEY)
            await desk.connect(app.eve, "stranger")
            yield desk


def at(day: date | str, clock: str, zone: str = "Europe/Berlin") -> datetime:
    """A moment as the clocks of a zone show it."""
    return datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=ZoneInfo(zone))


def days_ago(days: int) -> date:
    """A day before today, in Berlin."""
    return datetime.now(BERLIN).date() - timedelta(days=days)
