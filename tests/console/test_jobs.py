"""Jobs: one's own with progress as it is told, everyone's for administrators, cancelled and tried again."""

import re

import pytest
from playwright.async_api import Locator, Page, expect

from jobs.job import JobError
from tests.console.console_app import VIEWS, ConsoleApp, confirm_by_typing, in_every_view
from tests.console.job_rows import add_job, change_job, start_job
from tests.support.product import Person
from tools import console

expect.set_options(timeout=15_000)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def _rows(page: Page) -> Locator:
    return page.get_by_role("row").filter(has_not=page.get_by_role("columnheader"))


@in_every_view
async def test_the_page_in_every_view(app: ConsoleApp, view: str) -> None:
    person = await app.add_admin(f"jobs-{view}@acme.test")
    await add_job(app, person, "failed", error="worker_lost", began=True)
    await add_job(app, person, "succeeded", module="", tool="", title="Batch of 3 steps")
    await add_job(app, person, "queued", module="supabase", tool="create_project")
    running = await add_job(app, person, "running", progress=12, total=30, message="12 of 30 files are read " * 5)
    page = await app.open(person, f"/jobs?of=all&user={person.id}", **VIEWS[view])
    await expect(_rows(page)).to_have_count(4)
    await app.look(page, f"jobs-all-{view}")
    await page.goto(f"{page.url}&id={running}")
    await page.get_by_role("dialog").get_by_role("progressbar").wait_for()
    await app.look(page, f"job-panel-{view}")


async def test_progress_and_state_come_without_a_reload(app: ConsoleApp) -> None:
    """In the list of a person without administration, and in the open panel; nobody in another tenant sees it."""
    for state, tool in (("failed", "push_files"), ("succeeded", "get_job_logs")):
        await add_job(app, app.user, state, tool=tool, error="timed_out" if state == "failed" else "")
    job_id = await add_job(app, app.user, "queued", module="supabase", tool="create_project")
    page = await app.open(app.user, "/jobs")
    row = _rows(page).filter(has_text="Supabase: Create project")
    await expect(row).to_contain_text("Waiting")
    await change_job(app, job_id, "running", 3, 12, "read <b>3</b> of 12 files")
    await expect(row.get_by_role("progressbar", name="Progress")).to_have_attribute("value", "0.25")
    await expect(row).to_contain_text("read <b>3</b> of 12 files")
    await app.look(page, "jobs")
    await row.get_by_role("link").click()
    panel = page.get_by_role("dialog", name="Supabase: Create project")
    await change_job(app, job_id, "running", 6, 12)
    await expect(panel).to_contain_text("6 of 12")
    await change_job(app, job_id, "succeeded", 12, 12)
    await expect(panel).to_contain_text("The result is in your client")
    await page.keyboard.press("Escape")
    await expect(row).to_contain_text("Done")
    # Whose rights end at their own things is offered nothing else, and asks for nothing else.
    await expect(page.get_by_role("button", name=re.compile("Whose"))).to_have_count(0)
    await page.goto(f"{app.identity.url}/console/jobs?of=all&user={app.admin.id}&state=running")
    await page.get_by_text("Nothing matches these filters").wait_for()
    await app.use_session(page, app.other_admin)
    await page.goto(f"{app.identity.url}/console/jobs?of=all")
    await page.get_by_text("No jobs").wait_for()


async def test_an_administrator_sees_everyones_without_contents(app: ConsoleApp) -> None:
    person = await app.product.person(app.admin.tenant, "works@acme.test", allow=["*"])
    failed = await add_job(app, person, "failed", message="the salary of Bob")
    await add_job(app, person, "succeeded", module="supabase", tool="create_project")
    page = await app.open(app.admin, "/jobs?of=all")
    await page.get_by_role("combobox", name="Person").fill("works@")
    await page.get_by_role("option", name="works@acme.test").click()
    await expect(_rows(page)).to_have_count(2)
    await page.get_by_role("button", name=re.compile("^Any service")).click()
    await page.get_by_role("option", name="GitHub", exact=True).click()
    await page.wait_for_url(re.compile("service=github"))
    await expect(_rows(page)).to_have_count(1)
    await page.get_by_role("button", name=re.compile("^Any state")).click()
    await page.get_by_role("option", name="Cancelled").click()
    await page.get_by_text("Nothing matches these filters").wait_for()
    await page.get_by_role("button", name="Remove the filter Cancelled").click()
    await _rows(page).get_by_role("link", name="GitHub: Get job logs").click()
    await page.wait_for_url(re.compile(str(failed)))
    panel = page.get_by_role("dialog", name="GitHub: Get job logs")
    await expect(panel).to_contain_text("Only its person can read it")
    await expect(panel).to_contain_text("works@acme.test")
    for hidden in ("salary", "Claude Code"):
        await expect(panel).not_to_contain_text(hidden)
    await expect(panel.get_by_role("button", name="Try again")).to_have_count(0)


@pytest.mark.long
async def test_a_job_that_waits_is_cancelled_and_queued_again(app: ConsoleApp) -> None:
    person = await _add_person(app, "changes-mind")
    job_id = await start_job(app, person)
    page = await app.open(person, f"/jobs?id={job_id}")
    panel = page.get_by_role("dialog", name="Knowledge graph: Read graph")
    await panel.get_by_role("button", name="Cancel the job").click()
    question = page.get_by_role("alertdialog")
    await expect(question).to_contain_text("It has not begun")
    await question.get_by_role("button", name="Cancel the job").click()
    await expect(panel).to_contain_text("It was cancelled before it began.")
    await page.get_by_role("button", name="Undo").click()
    await expect(panel).to_contain_text("Waiting")


async def test_what_has_begun_is_cancelled_and_tried_again_by_typing(app: ConsoleApp) -> None:
    person = await _add_person(app, "types-names")
    job_id = await start_job(app, person, is_repeatable=False)
    page = await app.open(person, f"/jobs?id={job_id}")
    panel = page.get_by_role("dialog", name="Knowledge graph: Read graph")
    await change_job(app, job_id, "running")
    await expect(panel).to_contain_text("Running")
    await panel.get_by_role("button", name="Cancel the job").click()
    await confirm_by_typing(page, "Read graph", "Cancel the job")
    await expect(panel).to_contain_text("Ending")
    await expect(panel.get_by_role("button", name="Cancel the job")).to_have_count(0)
    await change_job(app, job_id, "unknown")
    await expect(panel).to_contain_text("Look at the service whether it took effect")
    await app.look(page, "job-unknown")
    await panel.get_by_role("button", name="Try again").click()
    await confirm_by_typing(page, "Read graph", "Try again")
    await page.get_by_text("Read graph waits for its turn again").wait_for()
    await expect(panel).to_contain_text("Waiting")


async def _add_person(app: ConsoleApp, name: str) -> Person:
    return await app.product.person(app.admin.tenant, f"{name}@acme.test", allow=["*"])


@pytest.mark.parametrize("language", ["en", "ja"])
async def test_every_reason_has_words(language: str) -> None:
    texts = (console.SOURCES / "src" / "messages" / language / "jobs.ts").read_text("utf-8")
    missing = [error.value for error in JobError if error and f"    {error}: {{" not in texts]
    assert not missing, "say in words why such a job has no result, and what to do"


@pytest.mark.long
async def test_a_mail_at_the_end_is_asked_for_and_a_token_has_its_name(app: ConsoleApp) -> None:
    person = await app.product.person(app.admin.tenant, "mails@acme.test", allow=["*"])
    job_id = await start_job(app, person)
    page = await app.open(person, f"/jobs?id={job_id}")
    panel = page.get_by_role("dialog")
    async with app.product.database.admin_connection() as admin:
        name = await admin.fetchval(
            "SELECT t.name FROM auth.api_tokens t JOIN jobs.jobs j ON j.client = t.id WHERE j.id = $1", job_id
        )
    await expect(panel).to_contain_text(f"Asked by{name}")
    await panel.get_by_role("button", name="Mail at the end").click()
    await page.get_by_role("option", name="Always").click()
    await expect(panel.get_by_role("button", name="Mail at the end")).to_contain_text("Always")
    await page.reload()
    await expect(panel.get_by_role("button", name="Mail at the end")).to_contain_text("Always")
    await app.look(page, "job-mail")
