"""Syncs: what is stored is shown without asking the vendors, changes come, and nothing is shown of what is no longer
permitted, connected, or one's own."""

from typing import Any

import pytest

from broker.mandates.mandates import Mandates
from core.directory.audit_trail import Actor
from modules.activity.sources import READS
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database
from tests.modules.activity.desk import ActivityDesk, at, days_ago
from tests.support import directory
from tests.support.eventually import within
from tests.support.mcp_client import NEWEST
from tests.support.module_app import FULL_KEY
from tests.support.product import ACTOR, Person
from tests.support.toggl_double import build_quota_refusal
from tests.support.vendor_double import VendorRefusal

pytestmark = pytest.mark.asyncio(loop_scope="module")
SOURCES = ("toggl", "google_calendar", "google_health")


def get_days(first: int, last: int) -> dict[str, Any]:
    return {"start_date": f"{days_ago(first)}", "end_date": f"{days_ago(last)}"}


async def list_entries(
    desk: ActivityDesk, person: Person | None = None, first: int = 5, last: int = 1
) -> tuple[str, list[str]]:
    found = await desk.read("get_toggl_entries", person, **get_days(first, last), time_zone="Europe/Berlin")
    return found["origin"], [one["description"] for one in found["entries"]]


async def test_what_is_synced_is_read_without_the_vendors(desk: ActivityDesk) -> None:
    day = days_ago(2)
    project = desk.toggl.add_project("Website")
    desk.track(at(day, "09:00"), 90, "設計", project_id=project["id"], tags=["deep"])
    desk.meet(at(day, "11:00"), 60, "Planning")
    desk.block(day, 1, "Fair")
    desk.health.add_day(day, steps=8_123)
    desk.health.add_sleep(at(days_ago(3), "23:50"), at(day, "07:00"), 400)
    desk.health.add_exercise(at(day, "18:00"), at(day, "18:40"), "Run")
    desk.health.add_resting_heart_rate(day, 57)
    live = await desk.read("summary", date=f"{day}")
    report = await desk.sync()
    assert {one["source"]: one["entries"] for one in report["sources"]} == {
        "toggl": 1, "google_calendar": 2, "google_health": 4,
    }  # fmt: skip
    before = desk.asked
    stored = await desk.read("summary", date=f"{day}")
    assert desk.asked == before
    assert (stored["entries"], stored["totals"]) == (live["entries"], live["totals"])
    assert stored["totals"]["sleep_minutes"] == 400
    assert all("synced_at" in one for one in stored["sources"])
    assert not any("synced_at" in one for one in live["sources"])
    for tool in ("get_toggl_entries", "get_calendar_events", "get_health_activity", "get_health_sleep"):
        found = await desk.read(tool, **get_days(5, 1))
        assert (found["origin"], "synced_at" in found) == ("synced", True)
    assert desk.asked == before


async def test_what_is_not_wholly_synced_is_read_live(desk: ActivityDesk) -> None:
    desk.track(at(days_ago(2), "09:00"), 30, "known")
    desk.track(at(days_ago(40), "09:00"), 30, "older")
    await desk.sync(days=10)
    desk.track(at(days_ago(2), "12:00"), 30, "later")
    assert await list_entries(desk) == ("synced", ["known"])
    assert await list_entries(desk, first=45) == ("live", ["later", "known", "older"])
    assert (await list_entries(desk, last=0))[0] == "live", "today is not over"


async def test_a_further_sync_brings_what_has_changed(desk: ActivityDesk) -> None:
    first = desk.track(at(days_ago(2), "09:00"), 30, "one")
    gone = desk.track(at(days_ago(3), "09:00"), 30, "gone")
    old = desk.track(at(days_ago(20), "09:00"), 30, "old")
    event = desk.meet(at(days_ago(2), "09:00"), 30, "event")
    await desk.sync()
    first["description"] = "changed"
    del desk.toggl.account.entries[gone["id"]]
    desk.track(at(days_ago(1), "09:00"), 30, "new")
    old["description"] = "changed long ago"
    event["summary"] = "moved"
    event["start"] = {"dateTime": at(days_ago(1), "09:00").isoformat()}
    event["end"] = {"dateTime": at(days_ago(1), "10:00").isoformat()}
    before = len(desk.toggl.seen)
    await desk.sync()
    assert len(desk.toggl.seen) == before + 1
    assert await list_entries(desk, first=25) == ("synced", ["new", "changed", "old"])
    found = await desk.read("get_calendar_events", **get_days(5, 1))
    assert [(one["summary"], one["start"][:10]) for one in found["events"]] == [("moved", f"{days_ago(1)}")]
    await desk.sync(days=25)
    assert (await list_entries(desk, first=24))[1] == ["new", "changed", "changed long ago"]


async def test_syncing_again_changes_nothing(desk: ActivityDesk) -> None:
    for number in range(1, 6):
        desk.track(at(days_ago(number), "09:00"), 30, f"e{number}")
    first = await desk.sync()
    again = await desk.sync(sources=["toggl"])
    assert [one["entries"] for one in first["sources"]] == [5, 0, 0]
    assert [(one["source"], one["entries"]) for one in again["sources"]] == [("toggl", 5)]
    assert await list_entries(desk) == ("synced", [f"e{number}" for number in range(1, 6)])


async def test_an_entry_over_midnight_is_of_both_days(desk: ActivityDesk) -> None:
    desk.track(at(days_ago(3), "23:00"), 120, "night")
    await desk.sync(days=2)
    found = await desk.read("summary", date=f"{days_ago(2)}")
    assert found["totals"]["tracked_minutes"] == 60
    assert "synced_at" in found["sources"][0]


async def test_every_person_has_their_own_rows(desk: ActivityDesk) -> None:
    eve = desk.app.eve
    bob = await desk.make_person("bob")
    desk.track(at(days_ago(2), "09:00"), 30, "adas")
    desk.track(at(days_ago(2), "09:00"), 30, "eves", account=desk.toggl.stranger)
    await desk.sync()
    assert (await list_entries(desk, bob))[0] == "live", "of the same account, but another person"
    assert await list_entries(desk, eve) == ("live", ["eves"])
    await desk.sync(eve)
    assert await list_entries(desk, eve) == ("synced", ["eves"])
    assert await list_entries(desk) == ("synced", ["adas"])
    assert (await desk.read("delete_synced_activity", eve))["deleted"] == 1
    assert await list_entries(desk) == ("synced", ["adas"])


async def test_a_lost_permission_hides_what_is_stored(desk: ActivityDesk) -> None:
    cara = await desk.make_person("cara")
    desk.track(at(days_ago(2), "09:00"), 30, "secret")
    desk.meet(at(days_ago(2), "11:00"), 60, "Planning")
    await desk.sync(cara)
    assert await list_entries(desk, cara) == ("synced", ["secret"])
    await directory.grant(
        desk.app.product.console, ACTOR, cara.tenant.id, cara.email, "deny", "toggl.list_time_entries"
    )

    async def hidden() -> bool:
        return (await desk.ask("get_toggl_entries", cara, **get_days(5, 1))).failed

    await within(5, hidden)
    answer = await desk.ask("summary", cara, date=f"{days_ago(2)}")
    assert "secret" not in answer.body.decode()
    assert answer.value["totals"]["meetings_minutes"] == 60


async def test_a_removed_account_hides_what_is_stored(desk: ActivityDesk) -> None:
    dora = await desk.make_person("dora")
    desk.track(at(days_ago(2), "09:00"), 30, "secret")
    await desk.sync(dora)
    await desk.disconnect(dora, "toggl")
    answer = await desk.ask("summary", dora, date=f"{days_ago(2)}")
    assert "secret" not in answer.body.decode()
    assert "not connected" in (await desk.ask("get_toggl_entries", dora, **get_days(5, 1))).text


async def test_another_account_does_not_show_the_rows_of_the_first(desk: ActivityDesk) -> None:
    finn = await desk.make_person("finn")
    desk.track(at(days_ago(2), "09:00"), 30, "of the first account")
    await desk.sync(finn)
    await desk.disconnect(finn, "toggl")
    await desk.connect(finn, "stranger", "toggl")

    async def connected() -> bool:
        return not (await desk.ask("get_toggl_entries", finn, **get_days(5, 1))).failed

    await within(5, connected)
    assert await list_entries(desk, finn) == ("live", [])
    await desk.sync(finn)
    assert await list_entries(desk, finn) == ("synced", [])


async def test_a_source_that_fails_does_not_stop_the_others(desk: ActivityDesk) -> None:
    gina = await desk.app.product.person(desk.app.ada.tenant, "gina@acme.test", allow=["*"])
    await desk.connect(gina, FULL_KEY, "toggl", "google_calendar")
    desk.track(at(days_ago(2), "09:00"), 30, "kept")
    await desk.sync(gina)
    desk.toggl.refusals[:] = [VendorRefusal(400, "no")] * 5
    report = await desk.sync(gina)
    states = {one["source"]: one for one in report["sources"]}
    assert (states["toggl"]["connected"], "error" in states["toggl"]) == (True, True)
    assert "error" not in states["google_calendar"]
    assert states["google_health"]["connect_url"].endswith("/connect/google_health")
    desk.toggl.refusals.clear()
    assert await list_entries(desk, gina) == ("synced", ["kept"]), "what was there stays"


async def test_nothing_that_can_be_synced_is_an_error(desk: ActivityDesk) -> None:
    hugo = await desk.app.product.person(desk.app.ada.tenant, "hugo@acme.test", allow=["*"])
    call = {"module": "activity", "tool_name": "sync_activity", "params": {}}
    created = await desk.app.node.post(hugo.token, "tools/call", {"name": "call", "arguments": call, "task": {}})
    task = {"taskId": created.result["task"]["taskId"]}
    result = (await desk.app.node.post(hugo.token, "tasks/result", task, revision=NEWEST)).result
    assert result["isError"]
    text = result["content"][0]["text"]
    for source in SOURCES:
        assert f"/connect/{source}" in text


async def test_a_quota_of_toggl_is_told(desk: ActivityDesk) -> None:
    ida = await desk.make_person("ida")
    desk.toggl.tokens["idas"] = desk.toggl.tokens["full"]
    await desk.connect(ida, "idas", "toggl")
    desk.toggl.refusals[:] = [build_quota_refusal(1_800)]
    report = await desk.sync(ida)
    states = {one["source"]: one for one in report["sources"]}
    assert "try again in 1800 s" in states["toggl"]["error"]
    assert "error" not in states["google_calendar"]


async def test_a_year_is_synced_of_every_source(desk: ActivityDesk) -> None:
    """Toggl refuses a time of more than three months ago, so what is older comes from its reports."""
    desk.track(at(days_ago(80), "09:00"), 30, "in time")
    desk.track(at(days_ago(300), "09:00"), 30, "long ago")
    desk.meet(at(days_ago(300), "09:00"), 30, "long ago")
    report = await desk.sync(days=366)
    assert [one["entries"] for one in report["sources"]] == [2, 1, 0]
    assert not any("error" in one for one in report["sources"])
    before = desk.asked
    assert await list_entries(desk, first=360) == ("synced", ["in time", "long ago"])
    assert desk.asked == before


async def test_what_is_stored_can_be_deleted(desk: ActivityDesk) -> None:
    desk.track(at(days_ago(2), "09:00"), 30, "one")
    desk.meet(at(days_ago(2), "09:00"), 30, "two")
    await desk.sync()
    assert (await desk.read("delete_synced_activity", sources=["google_calendar"]))["deleted"] == 1
    assert (await list_entries(desk))[0] == "synced"
    assert (await desk.read("get_calendar_events", **get_days(5, 1)))["origin"] == "live"
    assert (await desk.read("delete_synced_activity"))["deleted"] == 1
    assert (await list_entries(desk))[0] == "live"


async def test_a_schedule_syncs_in_the_persons_absence(desk: ActivityDesk) -> None:
    """With their consent to the tools by which it reads, and to no others."""
    app, ada = desk.app, desk.app.ada
    desk.track(at(days_ago(2), "09:00"), 30, "by schedule")
    wanted: dict[str, Any] = {
        "title": "Sync", "module": "activity", "tool_name": "sync_activity", "params": {}, "every_seconds": 3_600,
    }  # fmt: skip
    made = await app.node.call(ada.token, "jobs", "create_schedule", wanted)
    assert made.value["state"] == "waiting_for_consent"
    async with open_role_database(app.product.deployment, BROKER_ROLE, max_connections=1) as broker:
        mandates = Mandates(broker, clock=get_utc_now)
        waiting = [one for one in await mandates.list_page(ada.tenant.id, ada.id, None, 100) if not one.consented_at]
        assert [set(one.tools) for one in waiting] == [{"activity.sync_activity", *READS}]
        await mandates.consent(Actor(ada.email, ada.id), ada.tenant.id, waiting[0].id, user_id=ada.id)
    async with app.product.database.admin_connection() as admin:
        await admin.execute("UPDATE jobs.schedules SET next_run_at = clock_timestamp() WHERE state = 'active'")
        await admin.execute("SELECT pg_notify('mcpist_schedule', '')")

    async def synced() -> bool:
        return await list_entries(desk) == ("synced", ["by schedule"])

    await within(15, synced)


@pytest.mark.parametrize(
    ("params", "told"), [({"days": 0}, "days"), ({"days": 367}, "days"), ({"sources": ["fitbit"]}, "sources")]
)
async def test_bad_input_is_named(desk: ActivityDesk, params: dict[str, Any], told: str) -> None:
    answer = await desk.ask("sync_activity", **params)
    assert answer.failed
    assert told in answer.text
