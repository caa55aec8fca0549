"""The person's activity in the console: a day and a week as a picture and a table, and what is not connected."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.console.console_app import VIEWS, ConsoleApp, in_every_view
from tests.console.tool_answers import answer_tools
from tests.support.product import Person

expect.set_options(timeout=15_000)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

MONDAY = date(2026, 10, 19)
"""Of the week at whose end clocks go back in Europe."""
ENTRIES = (
    ("toggl", "09:00", "11:30", "倉庫移転の設計", "移転", ["deep"]),
    ("toggl", "11:00", "12:10", "Review of pull requests", "Core", []),
    ("toggl", "13:00", "13:04", "Mail", None, []),
    ("google_calendar", "10:00", "10:30", "Stand-up", None, []),
    ("google_calendar", "15:00", "16:30", "Planning with the team in Osaka about what moves first", None, []),
    ("google_health", "00:40", "06:50", "Sleep", None, []),
)


def _build_day(day: date, offset: str, connect_url: str) -> dict[str, Any]:
    entries: list[dict[str, Any]] = [
        {
            "source": source,
            "kind": "sleep" if title == "Sleep" else "event",
            "start": f"{day}T{start}:00{offset}",
            "end": f"{day}T{end}:00{offset}",
            "title": title,
            "project": project,
            "tags": tags,
        }
        for source, start, end, title, project, tags in ENTRIES
        if day.weekday() < 5 or source == "google_health"
    ]
    if day.weekday() == 2:
        entries.append(
            {
                "source": "google_calendar",
                "start": str(day),
                "end": str(day + timedelta(1)),
                "title": "祝日",
                "all_day": True,
            }
        )
    return {
        "date": str(day),
        "entries": entries if not connect_url else [one for one in entries if one["source"] != "google_health"],
        "totals": {"tracked_minutes": 224, "meetings_minutes": 120, "steps": 8_421, "sleep_minutes": 370},
    }


async def _open(app: ConsoleApp, person: Person, path: str, *, connect_url: str = "", **options: Any) -> Page:
    """Open the page of somebody whose activity is made up, in Berlin's time."""

    def answer(params: Mapping[str, Any]) -> Mapping[str, Any]:
        first = date.fromisoformat(params["date"])
        days = [_build_day(first + timedelta(count), "+02:00", connect_url) for count in range(params["days"])]
        sources = [
            {"source": "toggl", "connected": True, "synced_at": "2026-10-19T00:00:00Z"},
            {"source": "google_calendar", "connected": True},
            {"source": "google_health", "connected": not connect_url, "connect_url": connect_url or None},
        ]
        shown = {"days": days} if len(days) > 1 else days[0]
        return {"message": "", "time_zone": "Europe/Berlin", "zone_origin": "parameter", "sources": sources, **shown}

    page = await app.open(person, "/jobs", **options)
    await answer_tools(page, {"activity.summary": answer})
    await page.goto(f"{app.identity.url}/console{path}")
    return page


@in_every_view
async def test_the_page_in_every_view(app: ConsoleApp, view: str) -> None:
    page = await _open(app, app.user, f"/activity?date={MONDAY}", **VIEWS[view])
    await page.get_by_role("main").get_by_role("region", name="2026").first.wait_for()
    await app.look(page, f"activity-week-{view}")
    await page.goto(f"{app.identity.url}/console/activity?view=day&date={MONDAY}")
    await page.locator("[data-spot]").first.focus()
    await app.look(page, f"activity-day-{view}")


async def test_a_week_is_walked_by_keyboard_and_told_as_a_table(app: ConsoleApp) -> None:
    page = await _open(app, app.user, f"/activity?date={MONDAY}")
    await expect(page.get_by_text("Times are those of Europe/Berlin (GMT+2).")).to_be_visible()
    entries = page.locator("[data-spot]")
    await entries.first.focus()
    await expect(entries.first).to_have_accessible_name("Sleep 00:40–06:50 Google Health")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        await page.keyboard.press(key)
    chosen = page.get_by_role("region", name="Entry")
    await expect(chosen).to_contain_text("倉庫移転の設計")
    await expect(chosen).to_contain_text("Wed 21 Oct 09:00–11:30")
    await expect(chosen).to_contain_text("移転")
    await app.look(page, "activity-week")
    await page.keyboard.press("Home")
    await expect(chosen).to_contain_text("祝日")
    await expect(chosen).to_contain_text("All day")
    await page.get_by_text("Entries as a table").click()
    await expect(page.get_by_role("table").get_by_role("row")).to_have_count(1 + 5 * 6 + 2 + 1)
    await app.look(page, "activity-table")


async def test_a_day_of_25_hours_has_an_hour_twice(app: ConsoleApp) -> None:
    page = await _open(app, app.user, "/activity?view=day&date=2026-10-25")
    await expect(page.get_by_text("the clock is changed: the day has 25 hours.")).to_be_visible()
    for label in ("02:00 GMT+2", "02:00 GMT+1"):
        await expect(page.get_by_text(label, exact=True)).to_have_count(1)
    await app.look(page, "activity-25-hours")
    await page.goto(f"{app.identity.url}/console/activity?view=day&date=2026-03-29")
    await expect(page.get_by_text("the clock is changed: the day has 23 hours.")).to_be_visible()
    await expect(page.get_by_text("02:00 GMT", exact=False)).to_have_count(0)


async def test_a_source_that_is_not_connected_is_named_with_its_link(app: ConsoleApp) -> None:
    url = f"{app.identity.url}/connect/google_health"
    page = await _open(app, app.user, f"/activity?view=day&date={MONDAY}", connect_url=url)
    sources = page.get_by_role("list", name="Sources").get_by_role("listitem")
    await expect(sources.nth(2)).to_contain_text("Google HealthNot connected")
    await expect(sources.nth(2).get_by_role("link", name="Connect Google Health")).to_have_attribute("href", url)
    await expect(page.get_by_role("region", name="Toggl")).to_be_visible()
    await app.look(page, "activity-not-connected")
    foreign = await _open(app, app.user, f"/activity?view=day&date={MONDAY}", connect_url="javascript:alert(1)")
    await expect(foreign.get_by_text("Not connected")).to_be_visible()
    await expect(foreign.get_by_role("link", name="Connect Google Health")).to_have_count(0)


async def test_the_picture_opens_at_the_work_and_sleep_has_a_name_in_japanese(app: ConsoleApp) -> None:
    page = await _open(app, app.user, f"/activity?date={MONDAY}", **VIEWS["japanese"])
    frame = page.get_by_role("group", name="の記録")
    await expect(frame.get_by_role("button", name="睡眠 00:40").first).to_be_attached()
    top = await frame.evaluate("(one) => one.scrollTop")
    hour = await frame.evaluate("(one) => one.scrollHeight / 25")
    assert 7 * hour < top, "not at night"


async def test_a_refused_account_is_connected_again(app: ConsoleApp) -> None:
    url = f"{app.identity.url}/connect/toggl"
    page = await app.open(app.user, "/jobs")
    state = {
        "source": "toggl",
        "connected": True,
        "error": f"Toggl Track refuses your account or key. Connect at {url}",
    }
    day = {"date": str(MONDAY), "entries": [], "totals": {"meetings_minutes": 0}}
    shown = {"message": "", "time_zone": "Europe/Berlin", "zone_origin": "parameter", "sources": [state], **day}
    await answer_tools(page, {"activity.summary": lambda _: shown})
    await page.goto(f"{app.identity.url}/console/activity?view=day&date={MONDAY}")
    await expect(page.get_by_role("link", name="Connect Toggl again")).to_have_attribute("href", url)
    await expect(page.get_by_role("complementary", name="Totals")).not_to_contain_text("Tracked")


async def test_somebody_without_accounts_is_told_which_to_connect(app: ConsoleApp) -> None:
    """By the product's own tool."""
    person = await app.product.person(app.admin.tenant, "new@acme.test", allow=["activity.*"])
    page = await app.open(person, "/jobs")
    await page.get_by_role("navigation", name="Pages").get_by_role("link", name="Activity").click()
    sources = page.get_by_role("list", name="Sources").get_by_role("listitem")
    await expect(sources).to_have_count(3)
    for place in range(3):
        await expect(sources.nth(place)).to_contain_text("Not connected")
    await expect(page.get_by_text("Nothing was recorded.")).to_be_visible()
    await expect(page.get_by_text("Times are those of Asia/Tokyo (GMT+9).")).to_be_visible()
    await app.look(page, "activity-nothing")
    await page.goto(f"{app.identity.url}/console/activity?view=day")
    await expect(page.get_by_text("Nothing was recorded.")).to_be_visible()
    await app.look(page, "activity-nothing-day")


async def test_who_has_no_such_tools_is_told_so(app: ConsoleApp) -> None:
    person = await app.product.person(app.admin.tenant, "without@acme.test", allow=["knowledge_graph.*"])
    page = await app.open(person, "/activity")
    await page.get_by_role("heading", name="Activity is not switched on for you").wait_for()
    navigation = page.get_by_role("navigation", name="Pages")
    await expect(navigation.get_by_role("link", name="Activity")).to_have_count(0)
    await app.look(page, "activity-none")


async def test_the_days_are_gone_through(app: ConsoleApp) -> None:
    page = await _open(app, app.user, f"/activity?date={MONDAY}")
    heading = page.get_by_role("main").get_by_role("heading", level=2).first
    await expect(heading).to_have_text("Monday, 19 October 2026 to Sunday, 25 October 2026")
    await page.get_by_role("button", name="Next week").click()
    await expect(heading).to_contain_text("26 October 2026 to")
    await page.get_by_role("link", name="Fri 30 Oct").click()
    await expect(heading).to_have_text("Friday, 30 October 2026")
    await page.keyboard.press("k")
    await expect(heading).to_have_text("Thursday, 29 October 2026")
    assert "date=2026-10-29" in page.url
    await page.go_back()
    await expect(heading).to_have_text("Friday, 30 October 2026")
    await page.get_by_label("Day", exact=True).fill("2026-02-03")
    await expect(heading).to_have_text("Tuesday, 3 February 2026")
