"""Schedules: agreed to, paused, resumed, run and deleted by their person; seen without contents by administrators."""

from datetime import timedelta
from typing import Any

import httpx2
import pytest
from playwright.async_api import Locator, Page, expect

from tests.console.attacks import ATTACKS
from tests.console.console_app import VIEWS, ConsoleApp, confirm_by_typing, in_every_view
from tests.console.job_rows import add_job, add_schedule
from tests.support.product import Person

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def _rows(page: Page) -> Locator:
    return page.get_by_role("row").filter(has_not=page.get_by_role("columnheader"))


async def _create(app: ConsoleApp, person: Person, **changes: Any) -> str:
    """A schedule as a script creates it, with the person's token."""
    body = {
        "title": "Nightly graph",
        "module": "knowledge_graph",
        "tool": "read_graph",
        "every_seconds": 7200,
    } | changes
    async with httpx2.AsyncClient(base_url=app.identity.url, trust_env=False) as script:
        bearer = {"Authorization": f"Bearer {person.token}"}
        answer = await script.post("/api/v1/schedules", json=body, headers=bearer)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


@in_every_view
async def test_the_page_in_every_view(app: ConsoleApp, view: str) -> None:
    person = await app.add_admin(f"schedules-{view}@acme.test")
    job_id = await add_job(app, person, "succeeded")
    await add_schedule(app, person, "Once in a while", cron="", every=timedelta(hours=2), state="paused")
    await add_schedule(app, person, ATTACKS["handler"] * 3, is_agreed=False)
    ended = await add_schedule(app, person, "Over", state="ended", end_reason="disconnected")
    await add_schedule(app, person, last_job_id=job_id)
    page = await app.open(person, "/jobs?view=schedules", **VIEWS[view])
    await expect(_rows(page)).to_have_count(4)
    await app.look(page, f"schedules-{view}")
    await page.goto(f"{page.url}&id={ended}")
    await page.get_by_role("dialog").get_by_role("heading", level=3).wait_for()
    await app.look(page, f"schedule-panel-{view}")


async def test_a_schedule_is_agreed_to_paused_run_and_deleted(app: ConsoleApp) -> None:
    person = await app.product.person(app.admin.tenant, "keeps-time@acme.test", allow=["*"])
    page = await app.open(person, "/jobs?view=schedules")
    await page.get_by_text("No schedules").wait_for()
    schedule_id = await _create(app, person)
    await page.reload()
    await page.get_by_role("link", name="Nightly graph").click()
    panel = page.get_by_role("dialog", name="Nightly graph")
    await expect(panel).to_contain_text("Every 2 hours")
    await panel.get_by_role("link", name="Agree on your account page").click()
    await page.wait_for_url("**/account#mandates")
    await page.locator("summary").filter(has_text="Allow").click()
    await page.get_by_role("button", name="Allow Nightly graph").click()
    await page.goto(f"{app.identity.url}/console/jobs?view=schedules&id={schedule_id}")
    await panel.get_by_role("button", name="Pause").click()
    await expect(panel).to_contain_text("Paused")
    await page.get_by_role("button", name="Undo").click()
    await panel.get_by_role("button", name="Run now").click()
    await page.get_by_text("Nightly graph runs now").wait_for()
    await app.look(page, "schedule")
    await panel.get_by_role("button", name="Delete the schedule").click()
    await confirm_by_typing(page, "Nightly graph", "Delete the schedule")
    await page.get_by_text("No schedules").wait_for()


@in_every_view
async def test_the_forms_in_every_view(app: ConsoleApp, view: str) -> None:
    person = await app.product.person(app.admin.tenant, f"plans-{view}@acme.test", allow=["*"])
    schedule_id = await add_schedule(app, person)
    page = await app.open(person, "/jobs?view=schedules&dialog=create", **VIEWS[view])
    form = page.get_by_role("dialog")
    await form.get_by_role("combobox").first.fill("read_graph")
    await page.get_by_role("option").filter(has_text="knowledge_graph.read_graph").click()
    await form.locator("code").filter(has_text="knowledge_graph.read_graph").wait_for()
    await app.look(page, f"schedule-create-{view}")
    await page.goto(f"{app.identity.url}/console/jobs?view=schedules&id={schedule_id}&dialog=edit")
    await page.get_by_role("dialog").locator("input[name=cron]").wait_for()
    await app.look(page, f"schedule-edit-{view}")


async def test_a_schedule_is_made_and_changed_in_the_console(app: ConsoleApp) -> None:
    person = await app.product.person(app.admin.tenant, "makes-plans@acme.test", allow=["*"])
    page = await app.open(person, "/jobs?view=schedules")
    await page.get_by_role("button", name="New schedule").first.click()
    form = page.get_by_role("dialog", name="New schedule")
    await form.get_by_role("textbox", name="Name").fill("Ada's mornings")
    await form.get_by_role("textbox", name="Cron expression").fill("30 9 * * MON-FRI")
    await form.get_by_role("button", name="New schedule").click()
    await form.get_by_text("Choose a tool first.").wait_for()
    await form.get_by_role("combobox").first.fill("read_graph")
    await page.get_by_role("option").filter(has_text="knowledge_graph.read_graph").click()
    await form.locator("code").filter(has_text="knowledge_graph.read_graph").wait_for()
    await form.get_by_role("textbox", name="Cron expression").fill("bad")
    await form.get_by_role("button", name="New schedule").click()
    await form.get_by_text("cron has five fields").wait_for()
    await form.get_by_role("textbox", name="Cron expression").fill("30 9 * * MON-FRI")
    await form.get_by_role("button", name="New schedule").click()
    panel = page.get_by_role("dialog", name="Ada's mornings")
    await panel.get_by_role("link", name="Agree on your account page").wait_for()
    await panel.get_by_role("button", name="Edit").click()
    form = page.get_by_role("dialog", name="Edit Ada's mornings")
    await app.look(page, "schedule-edit")
    await form.get_by_role("textbox", name="Name").fill("Ada's hours")
    await form.get_by_role("button", name="When").click()
    await page.get_by_role("option", name="At an interval").click()
    await form.get_by_role("textbox", name="Interval").fill("2")
    await form.get_by_role("button", name="Mail at the end").click()
    await page.get_by_role("option", name="If it fails").click()
    await form.get_by_role("button", name="Save").click()
    panel = page.get_by_role("dialog", name="Ada's hours", exact=True)
    await expect(panel).to_contain_text("Every 2 days")
    await expect(panel).to_contain_text("If it fails")
    await expect(_rows(page)).to_contain_text("Ada's hours")


async def test_the_next_run_is_in_the_time_zone_of_whoever_looks(app: ConsoleApp) -> None:
    """The rule's zone is its own; the last run leads to its job."""
    person = await app.add_admin("zones@acme.test")
    job_id = await add_job(app, person, "succeeded")
    await add_schedule(app, person, time_zone="America/New_York", last_job_id=job_id)
    page = await app.open(person, "/jobs?view=schedules")
    row = _rows(page).filter(has_text="Morning report")
    await expect(row).to_contain_text("1 Jan, 09:30")
    await row.get_by_role("link").last.click()
    await page.get_by_role("dialog", name="GitHub: Get job logs").wait_for()


@pytest.mark.long
async def test_an_administrator_pauses_what_only_its_person_resumes(app: ConsoleApp) -> None:
    person = await app.product.person(app.admin.tenant, "paused@acme.test", allow=["*"])
    await add_schedule(app, person, "The salaries")
    own = await app.open(person, "/jobs?view=schedules")
    await expect(_rows(own)).to_contain_text("The salaries")
    page = await app.open(app.admin, f"/jobs?view=schedules&user={person.id}")
    await expect(_rows(page)).to_contain_text("paused@acme.test")
    assert "salaries" not in await page.content()
    await page.get_by_role("link", name="GitHub: List issues").click()
    panel = page.get_by_role("dialog", name="GitHub: List issues")
    await panel.get_by_role("button", name="Pause").click()
    await confirm_by_typing(page, "GitHub: List issues", "Pause")
    await expect(panel).to_contain_text("Paused")
    for offered in ("Resume", "Run now"):
        await expect(panel.get_by_role("button", name=offered)).to_have_count(0)
    other = await app.open(app.other_admin, "/jobs?view=schedules&of=all")
    await other.get_by_text("No schedules").wait_for()
