"""The summary of a day: over all sources, in the person's zone, right where the clocks change and at the date line; a
source that is missing is named, and the others still answer."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from tests.modules.activity.desk import ActivityDesk, at
from tests.support.module_app import FULL_KEY
from tests.support.tool_calls import HTML
from tests.support.vendor_double import VendorRefusal, VendorReply

pytestmark = pytest.mark.asyncio(loop_scope="module")
DAY = "2026-03-03"


async def test_a_day_over_all_sources(desk: ActivityDesk) -> None:
    project = desk.toggl.add_project("Website", client_name="Acme")
    desk.track(at(DAY, "09:00"), 90, "設計", project_id=project["id"], tags=["deep"])
    desk.track(at(DAY, "23:30"), 60, "late")
    desk.track(at("2026-03-02", "23:30"), 45, "the night before")
    desk.track(at("2026-03-04", "00:30"), 45, "the next day")
    desk.meet(at(DAY, "11:00"), 60, "Planning")
    desk.meet(at(DAY, "11:30"), 60, "Review", location="Room 2")
    declined = [{"email": "ada@acme.test", "self": True, "responseStatus": "declined"}]
    desk.meet(at(DAY, "15:00"), 60, "declined", attendees=declined)
    desk.meet(at(DAY, "16:00"), 60, "free", transparency="transparent")
    desk.block(date(2026, 3, 3), 1, "Fair")
    desk.health.add_day(date(2026, 3, 3), steps=8_123, meters=6_100, active=42, kcal=2_310)
    desk.health.add_sleep(at("2026-03-02", "23:50"), at(DAY, "07:00"), 400, mainSleep=True)
    desk.health.add_exercise(at(DAY, "18:00"), at(DAY, "18:40"), "Run")
    desk.health.add_resting_heart_rate(date(2026, 3, 3), 57)
    answer = await desk.ask("summary", date=DAY)
    found = answer.value
    assert (found["date"], found["time_zone"], found["zone_origin"]) == (DAY, "Europe/Berlin", "profile")
    assert found["totals"] == {
        "tracked_minutes": 90 + 30 + 15, "meetings_minutes": 90, "exercise_minutes": 40, "sleep_minutes": 400,
        "steps": 8_123, "distance_meters": 6_100, "active_minutes": 42, "calories_kcal": 2_310,
        "resting_heart_rate": 57,
    }  # fmt: skip
    assert [one["title"] for one in found["entries"]] == [
        "Fair", "the night before", "Sleep", "設計", "Planning", "Review", "declined", "free", "Run", "late",
    ]  # fmt: skip
    assert found["entries"][3] == {
        "source": "toggl", "kind": "time_entry", "start": "2026-03-03T09:00:00+01:00",
        "end": "2026-03-03T10:30:00+01:00", "title": "設計", "detail": "Acme", "project": "Website", "tags": ["deep"],
    }  # fmt: skip
    assert found["entries"][0]["all_day"] is True
    assert found["sources"] == [
        {"source": source, "connected": True} for source in ("toggl", "google_calendar", "google_health")
    ]
    assert "days" not in found
    assert "2026-03-03 (Europe/Berlin): tracked 2 h 15 min, meetings 1 h 30 min" in answer.text
    assert answer.is_marked


async def test_a_week_for_the_picture(desk: ActivityDesk) -> None:
    desk.track(at("2026-03-02", "23:00"), 120, "over midnight")
    desk.track(at("2026-03-08", "10:00"), 30, "sunday")
    found = await desk.read("summary", date="2026-03-02", days=7)
    assert [one["date"] for one in found["days"]] == [f"2026-03-0{number}" for number in range(2, 9)]
    assert [one["totals"]["tracked_minutes"] for one in found["days"]] == [60, 60, 0, 0, 0, 0, 30]
    assert [len(one["entries"]) for one in found["days"]] == [1, 1, 0, 0, 0, 0, 1]
    assert not {"date", "entries", "totals"} & found.keys()


async def test_without_a_date_the_last_day_is_today(desk: ActivityDesk) -> None:
    today = datetime.now(at(DAY, "00:00").tzinfo).date()
    assert (await desk.read("summary"))["date"] == f"{today}"
    days = (await desk.read("summary", days=3))["days"]
    assert [one["date"] for one in days] == [f"{today - timedelta(days=number)}" for number in (2, 1, 0)]


async def test_nothing_was_done(desk: ActivityDesk) -> None:
    found = await desk.read("summary", date=DAY)
    assert (found["message"], found["entries"]) == ("No activity found for the specified period.", [])
    assert found["totals"] == {"tracked_minutes": 0, "meetings_minutes": 0}


@pytest.mark.parametrize(
    ("zone", "day", "start", "end", "minutes"),
    [
        ("Europe/Berlin", "2026-03-29", "2026-03-29T00:30", "2026-03-29T04:30", 180),
        ("Europe/Berlin", "2026-10-25", "2026-10-25T00:30", "2026-10-25T04:30", 300),
        ("America/New_York", "2026-03-08", "2026-03-08T00:00", "2026-03-09T00:00", 23 * 60),
        ("America/New_York", "2026-11-01", "2026-10-31T12:00", "2026-11-02T12:00", 25 * 60),
        ("Pacific/Kiritimati", "2026-03-29", "2026-03-28T23:00", "2026-03-29T01:00", 60),
        ("Pacific/Pago_Pago", "2026-03-29", "2026-03-28T23:00", "2026-03-29T01:00", 60),
        ("Asia/Tokyo", "2026-03-29", "2026-03-29T08:00", "2026-03-29T10:00", 120),
    ],
)
async def test_the_clocks_change_and_the_date_line(
    desk: ActivityDesk, zone: str, day: str, start: str, end: str, minutes: int
) -> None:
    first = at(start[:10], start[11:], zone)
    last = at(end[:10], end[11:], zone)
    length = int((last.astimezone(UTC) - first.astimezone(UTC)).total_seconds() // 60)
    desk.track(first.astimezone(UTC), length, "work")
    desk.meet(first.astimezone(UTC), length, "meeting")
    found = await desk.read("summary", date=day, time_zone=zone)
    assert found["totals"] == {"tracked_minutes": minutes, "meetings_minutes": minutes}
    assert [one["start"][:16] for one in found["entries"]] == [start, start]
    assert (found["time_zone"], found["zone_origin"]) == (zone, "given")


async def test_the_same_moment_is_of_two_days(desk: ActivityDesk) -> None:
    """Kiritimati and Pago Pago are 25 hours apart."""
    desk.track(at("2026-03-29", "00:30", "Pacific/Kiritimati").astimezone(UTC), 20, "work")
    for zone, day in (("Pacific/Kiritimati", "2026-03-29"), ("Pacific/Pago_Pago", "2026-03-27")):
        found = await desk.read("summary", date=day, time_zone=zone)
        assert found["totals"]["tracked_minutes"] == 20, zone


async def test_the_zone_is_that_of_the_profile_or_the_calendar(desk: ActivityDesk) -> None:
    await desk.set_zone(desk.app.ada, "Asia/Tokyo")
    found = await desk.read("summary", date=DAY)
    assert (found["time_zone"], found["zone_origin"]) == ("Asia/Tokyo", "profile")
    await desk.set_zone(desk.app.ada, None)
    found = await desk.read("summary", date=DAY)
    assert (found["time_zone"], found["zone_origin"]) == ("Europe/Berlin", "calendar")
    lonely = await desk.app.product.person(desk.app.ada.tenant, "zoneless@acme.test", allow=["*"])
    found = await desk.read("summary", lonely, date=DAY)
    assert (found["time_zone"], found["zone_origin"]) == ("UTC", "default")


async def test_a_running_timer_lasts_until_now(desk: ActivityDesk) -> None:
    start = datetime.now(UTC) - timedelta(minutes=5)
    desk.track(start, -1, "now")
    found = await desk.read("summary", date=f"{start:%Y-%m-%d}", days=2, time_zone="UTC")
    assert sum(day["totals"]["tracked_minutes"] for day in found["days"]) in (5, 6)
    assert found["days"][0]["entries"][0]["running"] is True


async def test_a_timer_that_was_forgotten_counts_for_today(desk: ActivityDesk) -> None:
    desk.track(datetime.now(UTC) - timedelta(days=3), -1, "forgotten")
    found = await desk.read("summary", days=2, time_zone="UTC")
    assert found["days"][0]["totals"]["tracked_minutes"] == 24 * 60
    assert [one["title"] for one in found["days"][1]["entries"]] == ["forgotten"]


async def test_what_has_no_text_is_told_so(desk: ActivityDesk) -> None:
    desk.track(at(DAY, "09:00"), 30, "")
    desk.meet(at(DAY, "11:00"), 60, "")
    text = (await desk.ask("summary", date=DAY)).text
    assert "+01:00: (no description)\n" in text
    assert "+01:00: (no title)\n" in text


async def test_a_source_that_hangs_hides_no_other(desk: ActivityDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modules.activity.reading.PATIENCE_SECONDS", 0.5)
    desk.track(at(DAY, "09:00"), 30)
    desk.meet(at(DAY, "11:00"), 60, "Planning")
    async with desk.health.hanging():
        answer = await desk.ask("summary", date=DAY)
    assert answer.value["totals"] == {"tracked_minutes": 30, "meetings_minutes": 60}
    states = {one["source"]: one for one in answer.value["sources"]}
    assert "did not answer in time" in states["google_health"]["error"]
    assert "Google Health: the vendor did not answer in time" in answer.text
    assert all("error" not in states[name] for name in ("toggl", "google_calendar"))


async def test_a_calendar_that_hangs_delays_no_zone(desk: ActivityDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modules.activity.periods.ZONE_SECONDS", 0.2)
    await desk.set_zone(desk.app.ada, None)
    desk.track(at(DAY, "09:00"), 30)
    async with desk.calendar.hanging():
        found = await desk.read("get_toggl_entries", start_date=DAY, end_date=DAY)
    assert (found["total"], found["time_zone"]) == (1, "UTC")


async def test_what_is_not_connected_is_named_with_its_link(desk: ActivityDesk) -> None:
    partly = await desk.app.product.person(desk.app.ada.tenant, "partly@acme.test", allow=["*"])
    await desk.connect(partly, FULL_KEY, "google_calendar")
    desk.meet(at(DAY, "11:00"), 60, "Planning")
    answer = await desk.ask("summary", partly, date=DAY)
    found = answer.value
    states = {one["source"]: one for one in found["sources"]}
    assert found["totals"]["meetings_minutes"] == 60
    assert states["google_calendar"] == {"source": "google_calendar", "connected": True}
    for source in ("toggl", "google_health"):
        assert states[source]["connected"] is False
        assert states[source]["connect_url"].endswith(f"/connect/{source}")
        assert "is not connected for you" in states[source]["error"]
        assert states[source]["connect_url"] in answer.text
    assert "tracked_minutes" not in found["totals"]
    assert "Toggl Track: Toggl Track" not in answer.text


async def test_what_is_not_permitted_is_named_without_a_link(desk: ActivityDesk) -> None:
    barred = await desk.make_person("barred", deny=("google_calendar.*", "google_health.list_sleep"))
    desk.track(at(DAY, "09:00"), 30)
    desk.meet(at(DAY, "11:00"), 60, "Planning")
    desk.health.add_day(date(2026, 3, 3), steps=8_123)
    desk.health.add_sleep(at("2026-03-02", "23:50"), at(DAY, "07:00"), 400)
    found = await desk.read("summary", barred, date=DAY, time_zone="Europe/Berlin")
    states = {one["source"]: one for one in found["sources"]}
    assert (found["totals"]["tracked_minutes"], found["totals"]["steps"]) == (30, 8_123)
    assert [one["kind"] for one in found["entries"]] == ["time_entry"]
    assert "which you cannot use" in states["google_calendar"]["error"]
    assert "connect_url" not in states["google_calendar"]
    assert (states["google_health"]["connected"], "sleep" in states["google_health"]["error"]) == (True, True)


REFUSALS: list[VendorRefusal | VendorReply] = [VendorRefusal(400, "no"), VendorReply(500, b""), HTML]


@pytest.mark.parametrize("refusal", REFUSALS, ids=["refused", "away", "unreadable"])
async def test_a_source_that_fails_does_not_hide_the_others(desk: ActivityDesk, refusal: Any) -> None:
    desk.track(at(DAY, "09:00"), 30)
    desk.meet(at(DAY, "11:00"), 60, "Planning")
    desk.toggl.refusals[:] = [refusal] * 5
    found = await desk.read("summary", date=DAY)
    states = {one["source"]: one for one in found["sources"]}
    assert found["totals"] == {"meetings_minutes": 60}, "what is not known is no zero"
    assert states["toggl"]["connected"] is True
    assert states["toggl"]["error"]
    assert "error" not in states["google_calendar"]


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"days": 0}, "days"),
        ({"days": 8}, "days"),
        ({"date": "2026-02-30"}, "date"),
        ({"date": "1960-01-01"}, "from 1970"),
        ({"time_zone": "Tokyo Standard Time"}, "Asia/Tokyo"),
    ],
)
async def test_bad_input_is_named(desk: ActivityDesk, params: dict[str, Any], told: str) -> None:
    answer = await desk.ask("summary", **params)
    assert answer.failed
    assert told in answer.text


async def test_two_people_have_two_days(desk: ActivityDesk) -> None:
    desk.track(at(DAY, "09:00"), 30, "adas")
    desk.track(at(DAY, "09:00"), 60, "eves", account=desk.toggl.stranger)
    for person, minutes in ((desk.app.ada, 30), (desk.app.eve, 60)):
        found = await desk.read("summary", person, date=DAY, time_zone="Europe/Berlin")
        assert found["totals"]["tracked_minutes"] == minutes
