"""The audit log: filters, an entry, denials, the live tail, verification and export, in a real browser."""

import asyncio
import csv
import io
import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Page, Route, expect

from core.audit.sealer import seal_pending_events
from server.role_database import get_utc_now
from tests.console.console_app import SHORT_VIEW, VIEWS, ConsoleApp
from tests.support.canary import SUITE
from tests.support.directory import create_role
from tests.support.eventually import within
from tests.support.mcp_client import Client
from tests.support.product import ACTOR, Person

expect.set_options(timeout=15_000)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def _call(app: ConsoleApp, person: Person, module: str, tool: str) -> None:
    await Client(app.identity.gateway.app, SUITE.hear).call(person.token, module, tool, {})
    await _seal(app)


async def _seal(app: ConsoleApp) -> None:
    await seal_pending_events(app.product.console, get_utc_now)


async def _is_true(value: bool) -> bool:
    return value


def _row(page: Page, text: str):
    return page.get_by_role("row").filter(has_text=text)


async def test_an_administrator_finds_what_happened_and_takes_it_away(app: ConsoleApp) -> None:
    tenant = app.admin.tenant
    limited = await app.product.person(tenant, "limited@acme.test", allow=["knowledge_graph.*"])
    await _call(app, limited, "knowledge_graph", "read_graph")
    await _call(app, limited, "notion", "search_pages")
    page = await app.open(app.admin, "/logs")
    await expect(_row(page, "notion.search_pages")).to_contain_text("Hidden tool")
    await expect(page.get_by_text("Everything is kept.")).to_contain_text("Oldest entry")
    await app.look(page, "logs")
    other = await app.open(app.admin, "/logs?since=24h", **VIEWS[SHORT_VIEW])
    await other.get_by_role("row").nth(1).wait_for()
    await app.look(other, f"logs-{SHORT_VIEW}")
    await page.get_by_role("button", name="Any outcome").click()
    await page.get_by_role("option", name="Denied").click()
    await page.wait_for_url(re.compile("outcome=denied"))
    await expect(_row(page, "knowledge_graph.read_graph")).to_have_count(0)
    await _row(page, "notion.search_pages").click()
    panel = page.get_by_role("dialog", name="notion.search_pages")
    await expect(panel).to_contain_text("Somebody called a tool that exists")
    await app.look(page, "logs-entry")
    await page.reload()
    await expect(panel).to_contain_text("limited@acme.test")
    await page.keyboard.press("Escape")
    await expect(panel).to_have_count(0)

    async with page.expect_download() as download:
        await page.get_by_role("button", name="Export").click()
        await page.get_by_role("menuitem", name="Export as CSV").click()
    text = (await (await download.value).path()).read_text("utf-8-sig")
    assert {row["outcome"] for row in csv.DictReader(io.StringIO(text))} == {"denied"}
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Export").click()
        await page.get_by_role("menuitem", name="Export as JSON Lines").click()
    lines = (await (await download.value).path()).read_text().splitlines()
    assert {json.loads(line)["tool"] for line in lines} == {"search_pages"}

    await page.get_by_role("button", name="Verify").click()
    await page.get_by_text("The chain is intact").wait_for()
    await app.look(page, "logs-verified")


@pytest.mark.long
async def test_the_head_of_the_time_turns_the_order(app: ConsoleApp) -> None:
    tenant = app.admin.tenant
    await create_role(app.product.console, ACTOR, tenant.id, "Comes last")
    await _seal(app)
    page = await app.open(app.admin, "/logs?kind=role&live=1")
    head, rows = page.get_by_role("columnheader", name="Time"), page.get_by_role("row")
    await page.get_by_text("Live: new entries appear by themselves").wait_for()
    await expect(head).to_have_attribute("aria-sort", "descending")
    newest = await rows.nth(1).inner_text()
    await head.get_by_role("button").click()
    await page.wait_for_url(re.compile(r"kind=role&sort=occurred_at$"))
    await expect(head).to_have_attribute("aria-sort", "ascending")
    await expect(rows.last).to_have_text(newest, use_inner_text=True)
    await app.look(page, "logs-oldest-first")
    await page.reload()
    await expect(rows.last).to_have_text(newest, use_inner_text=True)
    # What is live comes in at the top: it takes the newest back there.
    await page.get_by_role("button", name="Live", exact=True).click()
    await page.wait_for_url(re.compile(r"kind=role&live=1$"))
    await expect(rows.nth(1)).to_have_text(newest, use_inner_text=True)


async def test_what_happens_appears_by_itself(app: ConsoleApp) -> None:
    person = await app.product.person(app.admin.tenant, "lively@acme.test", allow=["knowledge_graph.*"])
    await _seal(app)
    page = await app.open(app.admin, f"/logs?live=1&kind=call&user={person.id}")
    await page.get_by_text("Live: new entries appear by themselves").wait_for()
    await page.get_by_text("Nothing matches these filters").wait_for()
    await _call(app, app.user, "knowledge_graph", "read_graph")
    await _call(app, person, "knowledge_graph", "read_graph")
    await _row(page, "lively@acme.test").wait_for()
    assert await page.get_by_role("row").count() == 2, "another person's call passes the filter"
    await app.look(page, "logs-live")

    # Another page of the same person: the tab that reads the stream tells it. When that one closes, this one reads on.
    roles = await page.context.new_page()
    roles.set_default_timeout(15_000)
    await roles.goto(f"{app.identity.url}/console/roles")
    console, tenant = app.product.console, app.admin.tenant.id
    await _row(roles, "ben@acme.test").wait_for()
    await create_role(console, ACTOR, tenant, "Appears")
    await _seal(app)
    await _row(roles, "Appears").wait_for()
    await page.close()
    await create_role(console, ACTOR, tenant, "Takes over")
    await _seal(app)
    await _row(roles, "Takes over").wait_for()


async def test_a_long_search_goes_on_by_itself_and_can_be_stopped(app: ConsoleApp) -> None:
    """Thirty stretches without anything, as a log of ten million records answers, before what is looked for."""
    person = await app.product.person(app.admin.tenant, "rare@acme.test", allow=["knowledge_graph.*"])
    await _call(app, person, "notion", "search_pages")
    asked, is_stopped = list[str](), asyncio.Event()

    async def answer(route: Route) -> None:
        asked.append(route.request.url)
        number = len(asked)
        if number == 20:
            await is_stopped.wait()
        if number >= 30:
            await route.fulfill(response=await route.fetch(url=re.sub("&cursor=[^&]*", "", route.request.url)))
            return
        back_to = (datetime.now(UTC) - timedelta(days=number)).isoformat()
        await route.fulfill(json={"items": [], "next_cursor": f"stretch-{number}", "searched_back_to": back_to})

    page = await app.open(app.admin, "/doctor")
    await page.context.route("**/api/v1/audit?*", answer)
    await page.goto(f"{app.identity.url}/console/logs?outcome=denied")
    await page.get_by_text("Searching: back to").wait_for()
    await app.look(page, "logs-searching")
    await page.get_by_role("button", name="Stop the search").click()
    is_stopped.set()
    await within(15, lambda: _is_true(len(asked) >= 24))
    await expect(page.locator("button:not([data-pending])", has_text="Search further back")).to_be_visible()
    await expect(page.get_by_text("Nothing matches these filters")).to_be_visible()
    assert len(asked) == 24, "what was on its way came to its end, and nothing was asked after it"
    await app.look(page, "logs-search-stopped")
    await page.get_by_role("button", name="Search further back").click()
    await _row(page, "rare@acme.test").wait_for()
    assert len(asked) == 30
    assert len({url.partition("cursor=")[2] for url in asked}) == 30, "each from where the last one ended"
    await expect(page.get_by_text("Search further back")).to_have_count(0)
    await page.context.unroute("**/api/v1/audit?*")


@pytest.mark.long
async def test_the_search_for_what_a_person_has_done_says_how_far_it_is(app: ConsoleApp) -> None:
    asked, goes_on = list[str](), asyncio.Event()

    async def answer(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) == 12:
            await goes_on.wait()
        back_to = (datetime.now(UTC) - timedelta(days=len(asked))).isoformat()
        await route.fulfill(json={"items": [], "next_cursor": f"stretch-{len(asked)}", "searched_back_to": back_to})

    page = await app.open(app.admin, "/doctor")
    await page.route("**/api/v1/audit?*", answer)
    await page.goto(f"{app.identity.url}/console/users?id={app.user.id}&tab=activity")
    await page.get_by_text("Searching: back to").wait_for()
    await app.look(page, "user-activity-searching")
    await page.get_by_role("button", name="Stop the search").click()
    goes_on.set()
    await expect(page.locator("button:not([data-pending])", has_text="Search further back")).to_be_visible()
    await page.get_by_text("Nothing yet.").wait_for()
    assert 12 <= len(asked) <= 16, "what was on its way came to its end, and nothing was asked after it"


@pytest.mark.long
async def test_an_interrupted_stream_is_told_and_goes_on(app: ConsoleApp) -> None:
    person = await app.add_admin("interrupted@acme.test")
    page = await app.open(person, "/roles")
    await page.context.route("**/api/v1/events", lambda route: route.fulfill(status=204))
    await page.reload()
    await page.get_by_text("Live updates are interrupted").wait_for()
    await app.look(page, "interrupted")
    await page.context.unroute("**/api/v1/events")
    await page.evaluate("window.dispatchEvent(new Event('online'))")
    await expect(page.get_by_text("Live updates are interrupted")).to_have_count(0)


async def test_the_log_of_a_tenant_is_for_its_administrators(app: ConsoleApp) -> None:
    await _seal(app)
    page = await app.open(app.user, "/logs")
    await page.get_by_role("heading", name="This page is for administrators").wait_for()
    other = await app.open(app.other_admin, "/logs")
    await _row(other, "user.created").first.wait_for()
    await expect(_row(other, "acme.test")).to_have_count(0)


@pytest.mark.long
async def test_an_operator_says_how_long_logs_are_kept(app: ConsoleApp) -> None:
    operator, today = await app.add_operator(), get_utc_now()
    first = (today.replace(day=1) - timedelta(days=100)).replace(day=1)
    await app.product.console.call("SELECT audit.prepare_month($1)", first)
    kept = (today.replace(day=1) - timedelta(days=1)).replace(day=1)
    days = (kept.date() - first.date()).days
    page = await app.open(operator, "/logs")
    await page.get_by_text("Everything is kept.").wait_for()
    await page.get_by_role("button", name="Change").click()
    form = page.get_by_role("dialog", name="How long audit logs are kept")
    months = form.get_by_label("Whole months before this one")
    await expect(form).to_contain_text("what MCPIST_AUDIT_KEEP_MONTHS says where MCPist runs, which is also the most")
    await months.fill("0")
    await form.get_by_role("button", name="Save").click()
    await expect(months).to_have_attribute("aria-invalid", "true")
    await months.fill("1")
    await app.look(page, "logs-retention")
    await form.get_by_role("button", name="Save").click()
    question = page.get_by_role("alertdialog", name="Keep only 1 month of the audit log?")
    await expect(question).to_contain_text(f"{days} days of the log are deleted, of all tenants: everything before 1 ")
    shorten = question.get_by_role("button", name="Shorten")
    await expect(shorten).to_be_disabled()
    await app.look(page, "logs-retention-confirm")
    await question.get_by_label(f"Type {days} days to confirm").fill(f"{days} days")

    # Meanwhile another operator has saved something else: nothing is overwritten unseen.
    other = await app.open(await app.add_operator(), "/logs?dialog=retention")
    await other.get_by_label("Whole months before this one").fill("1200")
    await other.get_by_role("button", name="Save").click()
    await other.get_by_label("Type 1,200 months to confirm").fill("1,200 months")
    await other.get_by_role("button", name="Shorten").click()
    await other.get_by_text("Kept for 1,200 whole months").wait_for()
    await shorten.click()
    await form.get_by_text("Somebody else has changed this").wait_for()
    await app.look(page, "logs-retention-conflict")
    await form.get_by_role("button", name="Apply mine again").click()
    await page.get_by_text("Kept for 1 whole month").wait_for()
    administrator = await app.open(app.admin, "/logs")
    await administrator.get_by_text("Kept for 1 whole month").wait_for()
    await expect(administrator.get_by_role("button", name="Change")).to_have_count(0)
    await page.get_by_role("button", name="Change").click()
    await months.fill("")
    await form.get_by_role("button", name="Save").click()
    await page.get_by_text("Everything is kept.").wait_for()


@pytest.mark.long
async def test_filters_are_chosen_and_taken_away(app: ConsoleApp) -> None:
    tenant = app.admin.tenant
    finds = await app.product.person(tenant, "finds@acme.test", allow=["knowledge_graph.*"])
    await _call(app, finds, "knowledge_graph", "read_graph")
    page = await app.open(app.admin, "/logs")
    await page.get_by_role("button", name="Any kind").click()
    await page.get_by_role("option", name="Calls of tools").click()
    await page.wait_for_url(re.compile("kind=call"))
    await expect(_row(page, "role.created")).to_have_count(0)
    await page.get_by_role("button", name="Any time").click()
    await page.get_by_role("option", name="Last hour").click()
    await page.wait_for_url(re.compile("since=1h"))
    await page.get_by_role("combobox", name="Person").fill("finds")
    await page.get_by_role("option", name="finds@acme.test").click()
    await page.wait_for_url(re.compile("user="))
    await page.get_by_role("searchbox").fill("knowledge_graph.read_graph")
    await page.wait_for_url(re.compile("tool=knowledge_graph"))
    await expect(page.get_by_role("row").filter(has_text="read_graph")).to_have_count(1)
    await expect(_row(page, "finds@acme.test")).to_have_count(1)
    await page.get_by_role("button", name="Clear all").click()
    await page.wait_for_url(re.compile(r"/logs$"))
    await _row(page, "role.created").first.wait_for()
