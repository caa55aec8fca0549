"""Time entries, events and health data as they are shown, each by its own tool."""

from datetime import date, timedelta
from typing import Any

import pytest

from tests.modules.activity.desk import ActivityDesk, at
from tests.support.mcp_client import NEWEST
from tests.support.vendor_double import VendorRefusal

pytestmark = pytest.mark.asyncio(loop_scope="module")
WEEK: dict[str, Any] = {"start_date": "2026-03-02", "end_date": "2026-03-08"}
MONDAY = "2026-03-02"


async def test_time_entries_are_newest_first(desk: ActivityDesk) -> None:
    project = desk.toggl.add_project("Website")
    desk.track(at(MONDAY, "09:00"), 90, "設計 تصميم", project_id=project["id"], tags=["deep", "am"])
    desk.track(at("2026-03-03", "14:30"), 1, "")
    answer = await desk.ask("get_toggl_entries", **WEEK)
    found = answer.value
    assert [one["start"] for one in found["entries"]] == ["2026-03-03T14:30:00+01:00", "2026-03-02T09:00:00+01:00"]
    assert found["entries"][1] == {
        "description": "設計 تصميم", "project": "Website", "start": "2026-03-02T09:00:00+01:00",
        "end": "2026-03-02T10:30:00+01:00", "minutes": 90, "tags": ["deep", "am"],
    }  # fmt: skip
    assert (found["total"], found["tracked_minutes"], found["origin"]) == (2, 91, "live")
    assert answer.text.split("\n")[1:] == [
        "2 Toggl entries, 91 min.",
        "- 2026-03-03T14:30:00+01:00: (no description) (no project), 1 min",
        "- 2026-03-02T09:00:00+01:00: 設計 تصميم (Website), 90 min [deep, am]",
    ]
    assert answer.is_marked


async def test_entries_of_one_project(desk: ActivityDesk) -> None:
    for name in ("Website", "Web"):
        project = desk.toggl.add_project(name)
        desk.track(at(MONDAY, "09:00"), 30, name, project_id=project["id"])
    desk.track(at(MONDAY, "12:00"), 30, "none")
    found = await desk.read("get_toggl_entries", **WEEK, project_name="website")
    assert [one["description"] for one in found["entries"]] == ["Website"]
    answer = await desk.ask("get_toggl_entries", **WEEK, project_name="Other")
    assert answer.text == "No Toggl entries found for the specified period."


async def test_nothing_is_told_in_the_documents_words(desk: ActivityDesk) -> None:
    told = {
        "get_toggl_entries": "No Toggl entries found for the specified period.",
        "get_calendar_events": "No calendar events found for the specified period.",
        "get_health_activity": "No health data found for the specified period.",
        "get_health_sleep": "No health data found for the specified period.",
        "get_health_heart_rate": "No health data found for the specified period.",
    }
    for tool, text in told.items():
        assert (await desk.ask(tool, **WEEK)).text == text


async def test_events_are_oldest_first(desk: ActivityDesk) -> None:
    desk.meet(at("2026-03-04", "10:00"), 30, "後で", location="東京")
    desk.meet(at(MONDAY, "09:00"), 60, "Planning")
    desk.block(date(2026, 3, 3), 2, "Fair")
    found = await desk.read("get_calendar_events", **WEEK)
    assert [one["summary"] for one in found["events"]] == ["Planning", "Fair", "後で"]
    assert found["events"][1] == {"summary": "Fair", "start": "2026-03-03", "end": "2026-03-05", "all_day": True}
    assert found["events"][2]["location"] == "東京"
    assert found["events"][0]["end"] == "2026-03-02T10:00:00+01:00"


async def test_a_whole_day_is_no_other_day(desk: ActivityDesk) -> None:
    """Wherever one asks from, it is the day that is written in the calendar."""
    desk.block(date(2026, 3, 3), 1, "Holiday")
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago", "Europe/Berlin"):
        for day, count in (("2026-03-02", 0), ("2026-03-03", 1), ("2026-03-04", 0)):
            found = await desk.read("get_calendar_events", start_date=day, end_date=day, time_zone=zone)
            assert len(found["events"]) == count, (zone, day)


async def test_lists_go_on_with_their_cursor(desk: ActivityDesk) -> None:
    for number in range(5):
        desk.track(at(MONDAY, f"1{number}:00"), 10, f"e{number}")
    seen: list[str] = []
    params: dict[str, Any] = {**WEEK, "limit": 2}
    while True:
        found = await desk.read("get_toggl_entries", **params)
        seen += [one["description"] for one in found["entries"]]
        if "nextCursor" not in found:
            break
        params["cursor"] = found["nextCursor"]
    assert seen == ["e4", "e3", "e2", "e1", "e0"]
    other: dict[str, Any] = {"start_date": "2026-03-01", "end_date": "2026-03-08"}
    assert "cursor" in (await desk.ask("get_toggl_entries", **other, cursor=params["cursor"])).text


async def test_more_time_entries_than_toggl_gives_at_once(desk: ActivityDesk) -> None:
    start = at(MONDAY, "00:00")
    for number in range(2_300):
        desk.track(start + timedelta(minutes=4 * number), 2, str(number))
    found = await desk.read("get_toggl_entries", **WEEK, limit=1)
    assert (found["total"], found["tracked_minutes"]) == (2_300, 4_600)


async def test_many_events_are_read_to_their_last_page(desk: ActivityDesk) -> None:
    for number in range(230):
        desk.meet(at(MONDAY, "00:00") + timedelta(minutes=30 * number), 30, f"m{number}")
    assert (await desk.read("get_calendar_events", **WEEK))["total"] == 230


async def test_health_data_by_their_days(desk: ActivityDesk) -> None:
    desk.health.add_day(date(2026, 3, 3), steps=8_123, meters=6_100, active=42, light=180, kcal=2_310)
    desk.health.add_exercise(at("2026-03-03", "18:00"), at("2026-03-03", "18:40"), "ランニング")
    desk.health.add_sleep(at(MONDAY, "23:10"), at("2026-03-03", "06:40"), 421, mainSleep=True)
    desk.health.add_resting_heart_rate(date(2026, 3, 3), 57)
    activity = await desk.read("get_health_activity", **WEEK)
    assert activity["days"] == [
        {
            "date": "2026-03-03", "steps": 8_123, "distance_meters": 6_100, "active_minutes": 42, "light_minutes": 180,
            "calories_kcal": 2_310,
        }
    ]  # fmt: skip
    assert [(one["title"], one["minutes"]) for one in activity["exercises"]] == [("ランニング", 40)]
    [night] = (await desk.read("get_health_sleep", **WEEK))["sleeps"]
    assert (night["date"], night["minutes_asleep"]) == ("2026-03-03", 421)
    assert night["end"] == "2026-03-03T06:40:00+01:00"
    rates = (await desk.read("get_health_heart_rate", **WEEK))["days"]
    assert rates == [{"date": "2026-03-03", "beats_per_minute": 57}]


async def test_the_documents_names_are_good(desk: ActivityDesk) -> None:
    desk.track(at(MONDAY, "09:00"), 30, "work")
    desk.health.add_sleep(at(MONDAY, "23:10"), at("2026-03-03", "06:40"), 421)
    for tool in ("activity_get_toggl_entries", "activity_get_calendar_events", "activity_get_fitbit_activity"):
        assert not (await desk.ask(tool, **WEEK)).failed
    for tool in ("get_fitbit_sleep", "activity_get_fitbit_sleep", "activity_get_health_sleep"):
        assert len((await desk.read(tool, **WEEK))["sleeps"]) == 1
    assert not (await desk.ask("activity_summary", date=MONDAY)).failed


async def test_plain_tools_have_the_documents_names(desk: ActivityDesk) -> None:
    answer = await desk.app.node.post(desk.app.ada.token, "tools/list", {}, revision=NEWEST, url="/mcp/plain/activity")
    names = {one["name"] for one in answer.result["tools"]}
    assert {"activity_get_toggl_entries", "activity_get_calendar_events", "activity_summary"} <= names


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"start_date": "2026-03-08", "end_date": "2026-03-02"}, "end_date is before start_date"),
    ({"start_date": "2026-02-30", "end_date": "2026-03-02"}, "start_date"),
    ({"start_date": "2025-03-02", "end_date": "2026-03-03"}, "at most 366 days"),
    ({"start_date": "1960-01-01", "end_date": "1960-01-02"}, "from 1970"),
    ({"start_date": "9999-12-31", "end_date": "9999-12-31"}, "to 2199"),
    ({"start_date": "2026-03-02"}, "end_date is missing"),
    ({**WEEK, "time_zone": "Mars/Olympus"}, "time_zone"),
    ({**WEEK, "limit": 501}, "limit"),
    ({**WEEK, "cursor": "x"}, "cursor"),
]


@pytest.mark.parametrize(("params", "told"), WRONG)
async def test_bad_input_is_named(desk: ActivityDesk, params: dict[str, Any], told: str) -> None:
    for tool in ("get_toggl_entries", "get_calendar_events"):
        before = desk.asked
        answer = await desk.ask(tool, **params)
        assert answer.failed
        assert told in answer.text
        assert desk.asked == before or "cursor" in params


async def test_another_person_sees_their_own_only(desk: ActivityDesk) -> None:
    desk.track(at(MONDAY, "09:00"), 30, "adas")
    desk.track(at(MONDAY, "09:00"), 30, "eves", account=desk.toggl.stranger)
    for person, text in ((desk.app.ada, "adas"), (desk.app.eve, "eves")):
        found = await desk.read("get_toggl_entries", person, **WEEK, time_zone="Europe/Berlin")
        assert [one["description"] for one in found["entries"]] == [text]


async def test_what_is_not_permitted_or_not_connected_is_told(desk: ActivityDesk) -> None:
    barred = await desk.make_person("barred", deny=("toggl.list_time_entries",))
    assert (
        "needs toggl.list_time_entries, which you cannot use"
        in (await desk.ask("get_toggl_entries", barred, **WEEK)).text
    )
    assert not (await desk.ask("get_calendar_events", barred, **WEEK)).failed
    product = desk.app.product
    lonely = await product.person(desk.app.ada.tenant, "lonely@acme.test", allow=["*"])
    answer = await desk.ask("get_toggl_entries", lonely, **WEEK)
    assert "Toggl Track is not connected for you" in answer.text
    assert "/connect/toggl" in answer.text


async def test_the_vendors_refusal_is_told(desk: ActivityDesk) -> None:
    desk.calendar.refusals[:] = [VendorRefusal(500, {})] * 5
    answer = await desk.ask("get_calendar_events", **WEEK)
    assert answer.failed
    assert "try again" in answer.text
