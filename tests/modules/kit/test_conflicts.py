"""Changes that a vendor refuses because somebody else was faster: made again where that is right, told where it is not.

Through `/mcp`, with events and tasks: both have versions (RFC 9110 §13.1.1), which Google and Microsoft check.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from modules import google_calendar, microsoft_todo
from modules.kit import VendorAnswer, VendorProblem, conflicts
from modules.kit.conflicts import retry_conflicts
from modules.kit.errors import OUTCOME_UNKNOWN
from tests.support.google_calendar_double import OWNER, GoogleCalendarDouble, GoogleRefused, google_calendar_double
from tests.support.mcp_client import Answer
from tests.support.microsoft_todo_double import TASK, GraphRefused, MicrosoftTodoDouble, microsoft_todo_double
from tests.support.module_app import FULL_KEY, ModuleApp, open_module_app
from tests.support.postgres import DatabaseServer
from tests.support.vendor_double import Operation, VendorCall, VendorDouble, VendorRefusal, VendorReply

pytestmark = pytest.mark.asyncio(loop_scope="module")
EVENT = ("get", "/calendars/{calendarId}/events/{eventId}")
ME = {"email": OWNER, "self": True, "responseStatus": "needsAction"}
BO = {"email": "bo@acme.test", "responseStatus": "accepted"}
CY = {"email": "cy@acme.test", "responseStatus": "accepted"}
TIMES: dict[str, Any] = {
    "start": {"dateTime": "2030-03-04T09:00:00+01:00", "timeZone": "Europe/Berlin"},
    "end": {"dateTime": "2030-03-04T10:00:00+01:00", "timeZone": "Europe/Berlin"},
}
CHANGED_EVENT = "somebody changed the event meanwhile: read it again, and give the etag that it has now, if any"
CHANGED_TASK = "somebody changed it meanwhile: read it again, and give the etag that it has now, if any"
CONFLICT = GraphRefused(409, "ErrorIrresolvableConflict")
MADE_UP = "made-up"
"""Stands in every text of a refusal of the vendor's."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def calendar() -> AsyncIterator[GoogleCalendarDouble]:
    async with google_calendar_double() as double:
        yield double


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def todo() -> AsyncIterator[MicrosoftTodoDouble]:
    async with microsoft_todo_double() as double:
        yield double


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def events(
    calendar: GoogleCalendarDouble, database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ModuleApp]:
    folder: Path = tmp_path_factory.mktemp("events")
    async with open_module_app(database_server, folder, google_calendar.MODULE, calendar.url) as app:
        await app.connect(app.ada, FULL_KEY)
        yield app


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tasks(
    todo: MicrosoftTodoDouble, database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ModuleApp]:
    folder: Path = tmp_path_factory.mktemp("tasks")
    async with open_module_app(database_server, folder, microsoft_todo.MODULE, todo.url) as app:
        await app.connect(app.ada, FULL_KEY)
        yield app


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conflicts, "FIRST_PAUSE", 0)


def change_after_reading(
    monkeypatch: pytest.MonkeyPatch, vendor: VendorDouble, operation: Operation, change: Callable[[], None], times: int
) -> None:
    """Have somebody change what is read, right after each of the next `times` readings."""
    read, left = vendor._routes[operation], [change] * times

    def read_and_change(call: VendorCall) -> Any:
        answer = read(call)
        if left:
            left.pop()()
        return answer

    monkeypatch.setattr(vendor, "_routes", {**vendor._routes, operation: read_and_change})


def join(calendar: GoogleCalendarDouble, event: dict[str, Any]) -> None:
    """Have Cy come to a meeting, which gives it another version."""
    known = calendar.events[OWNER][event["id"]]
    guests = [*(one for one in known["attendees"] if one["email"] != CY["email"]), CY]
    calendar.events[OWNER][event["id"]] = {**known, "attendees": guests, "etag": f'"{known["etag"].strip(chr(34))}1"'}


def list_methods(vendor: VendorDouble, before: int) -> list[str]:
    return [one.partition(" ")[0] for one in vendor.seen[before:]]


@pytest.mark.parametrize(
    ("tool", "params", "guests"),
    [
        ("update_event", {"add_attendees": ["di@acme.test"]}, "needsAction bo:accepted cy:accepted di:needsAction"),
        ("update_event", {"remove_attendees": ["bo@acme.test"]}, "needsAction cy:accepted"),
        ("respond_to_event", {"response": "declined"}, "declined bo:accepted cy:accepted"),
    ],
)
async def test_what_was_read_is_read_again_before_it_is_changed(
    events: ModuleApp, calendar: GoogleCalendarDouble, monkeypatch: pytest.MonkeyPatch,
    tool: str, params: dict[str, Any], guests: str,
) -> None:  # fmt: skip
    """Else the second attempt would take off whoever came meanwhile."""
    event = calendar.add_event(summary="Meeting", attendees=[ME, BO], **TIMES)
    change_after_reading(monkeypatch, calendar, EVENT, lambda: join(calendar, event), times=1)
    before = len(calendar.seen)
    await events.read(tool, event_id=event["id"], **params)
    assert list_methods(calendar, before) == ["GET", "PATCH", "GET", "PATCH"]
    kept = calendar.events[OWNER][event["id"]]["attendees"]
    names = ["" if one.get("self") else one["email"].partition("@")[0] + ":" for one in kept]
    assert " ".join(name + one["responseStatus"] for name, one in zip(names, kept, strict=True)) == guests


async def test_a_recurrence_begins_with_the_date_that_the_task_has_at_last(
    tasks: ModuleApp, todo: MicrosoftTodoDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = todo.add_task(todo.home, dueDateTime={"dateTime": "2030-01-01T00:00:00.0000000", "timeZone": "UTC"})

    def postpone() -> None:
        due = {"dateTime": "2030-02-02T00:00:00.0000000", "timeZone": "UTC"}
        todo.tasks[task["id"]] |= {"dueDateTime": due, "@odata.etag": 'W/"postponed"'}

    change_after_reading(monkeypatch, todo, ("get", TASK), postpone, times=1)
    before = len(todo.seen)
    await tasks.read("update_task", list_id=todo.home, task_id=task["id"], recurrence="FREQ=DAILY")
    assert list_methods(todo, before) == ["GET", "PATCH", "GET", "PATCH"]
    assert todo.tasks[task["id"]]["recurrence"]["range"]["startDate"] == "2030-02-02"


async def test_who_is_slower_three_times_is_told(
    events: ModuleApp, calendar: GoogleCalendarDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = calendar.add_event(summary="Meeting", attendees=[ME, BO], **TIMES)
    change_after_reading(monkeypatch, calendar, EVENT, lambda: join(calendar, event), times=100)
    before = len(calendar.seen)
    answer = await events.call("respond_to_event", event_id=event["id"], response="declined")
    assert list_methods(calendar, before) == ["GET", "PATCH"] * conflicts.MAX_ATTEMPTS
    check_told(answer, CHANGED_EVENT)
    assert calendar.events[OWNER][event["id"]]["attendees"] == [ME, BO, CY]


async def test_a_change_that_rests_on_nothing_is_sent_three_times_at_most(
    tasks: ModuleApp, todo: MicrosoftTodoDouble
) -> None:
    task, before = todo.add_task(todo.home), len(todo.seen)
    todo.refusals[:] = [CONFLICT] * 10
    answer = await tasks.call("complete_task", list_id=todo.home, task_id=task["id"])
    todo.refusals.clear()
    assert list_methods(todo, before) == ["PATCH"] * conflicts.MAX_ATTEMPTS
    check_told(answer, CHANGED_TASK)
    assert todo.tasks[task["id"]]["status"] == "notStarted"


@pytest.mark.parametrize("refusal", [CONFLICT, GraphRefused(412, "PreconditionFailed")], ids=["409", "412"])
@pytest.mark.parametrize("more", [{"title": "Mine"}, {"recurrence": "FREQ=DAILY"}], ids=["plain", "read before"])
async def test_a_change_for_one_version_is_sent_once(
    tasks: ModuleApp, todo: MicrosoftTodoDouble, refusal: VendorRefusal, more: dict[str, str]
) -> None:
    due = {"dateTime": "2030-01-01T00:00:00.0000000", "timeZone": "UTC"}
    task, before = todo.add_task(todo.home, dueDateTime=due), len(todo.seen)
    todo.refusals[:] = [*([None] if "recurrence" in more else []), refusal]
    answer = await tasks.call(
        "update_task", list_id=todo.home, task_id=task["id"], etag=task["@odata.etag"], **more
    )  # fmt: skip
    assert list_methods(todo, before).count("PATCH") == 1
    check_told(answer, CHANGED_TASK)


async def test_an_event_of_one_version_is_changed_once(events: ModuleApp, calendar: GoogleCalendarDouble) -> None:
    event = calendar.add_event(summary="Meeting", attendees=[ME, BO], **TIMES)
    join(calendar, event)
    before = len(calendar.seen)
    answer = await events.call(
        "update_event", event_id=event["id"], add_attendees=["di@acme.test"], etag=event["etag"]
    )  # fmt: skip
    assert list_methods(calendar, before) == ["GET", "PATCH"]
    check_told(answer, CHANGED_EVENT)


@pytest.mark.parametrize(
    "ending", [VendorReply(cut=True), VendorReply(504, b"<html>"), GraphRefused(503, "serviceNotAvailable")],
    ids=["no answer", "a page", "503"],
)  # fmt: skip
async def test_what_may_have_been_done_is_not_sent_again(
    tasks: ModuleApp, todo: MicrosoftTodoDouble, ending: VendorReply | VendorRefusal
) -> None:
    """A conflict says that nothing was changed; what comes after it may say nothing of the kind."""
    before = len(todo.seen)
    todo.refusals[:] = [CONFLICT, ending, None]
    answer = await tasks.call("create_task", list_id=todo.home, title="Once")
    todo.refusals.clear()
    assert list_methods(todo, before) == ["POST", "POST"]
    check_told(answer, OUTCOME_UNKNOWN)
    assert "try again in" not in answer.text


async def test_what_is_there_already_is_not_made_again(events: ModuleApp, calendar: GoogleCalendarDouble) -> None:
    """409 is also what Google says of a thing that exists."""
    before = len(calendar.seen)
    calendar.refusals[:] = [GoogleRefused(409, "duplicate", MADE_UP)]
    answer = await events.call("create_event", summary="x", start="2030-03-04", end="2030-03-05")
    assert list_methods(calendar, before) == ["POST"]
    check_told(answer, "exists already")


async def test_nobody_else_notices(tasks: ModuleApp, todo: MicrosoftTodoDouble) -> None:
    """A change that is made again is made with the credential of whoever asked for it."""
    await tasks.connect(tasks.eve, "stranger")
    task, before = todo.add_task(todo.home), len(todo.seen)
    todo.refusals[:] = [CONFLICT, CONFLICT]
    answer = await tasks.call_as(tasks.eve, "complete_task", list_id=todo.home, task_id=task["id"])
    assert answer.failed
    assert todo.secrets[before:] == ["stranger"] * conflicts.MAX_ATTEMPTS
    assert todo.tasks[task["id"]]["status"] == "notStarted"


def check_told(answer: Answer, text: str) -> None:
    """Whether a call failed with our text and nothing of the vendor's."""
    assert answer.failed
    assert text in answer.text
    assert MADE_UP not in answer.text


def make_conflict(*, unknown: bool = False, answered: bool = True) -> VendorProblem:
    answer = VendorAnswer(409, {}, b"{}", write=True) if answered else None
    return VendorProblem("conflict", "somebody changed it", answer=answer, unknown=unknown)


@pytest.mark.parametrize(
    ("problem", "attempts"),
    [
        (make_conflict(), 3),
        (make_conflict(unknown=True), 1),
        (make_conflict(answered=False), 1),
    ],
    ids=["refused", "unknown", "not answered"],
)
async def test_only_what_the_vendor_has_refused_is_made_again(problem: VendorProblem, attempts: int) -> None:
    """Whatever the module takes for a conflict."""
    made: list[int] = []

    async def attempt() -> None:
        made.append(1)
        raise problem

    with pytest.raises(VendorProblem) as caught:
        await retry_conflicts(attempt, lambda _: True)
    assert caught.value is problem
    assert len(made) == attempts


async def test_pauses_grow_and_are_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two who meet once do not meet again at the same distance."""
    monkeypatch.setattr(conflicts, "FIRST_PAUSE", 0.1)
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    async def attempt() -> None:
        raise make_conflict()

    monkeypatch.setattr(asyncio, "sleep", pause)
    for _ in range(20):
        with pytest.raises(VendorProblem):
            await retry_conflicts(attempt, lambda _: True)
    assert all(0.05 <= one <= 0.15 for one in pauses[::2])
    assert all(0.1 <= one <= 0.3 for one in pauses[1::2])
    assert len(set(pauses)) > 20
