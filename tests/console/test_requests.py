"""Access requests: an administrator approves into a role or declines, and the person sees it, in a real browser."""

import re

import pytest
from playwright.async_api import Page, expect

from core.directory import access_requests
from core.directory.roles import find_role, list_user_roles
from tests.console.console_app import VIEWS, ConsoleApp, in_every_view
from tests.support.directory import create_role, grant
from tests.support.eventually import within
from tests.support.product import ACTOR, Person

expect.set_options(timeout=15_000)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def _ask(
    app: ConsoleApp,
    name: str,
    module: str = "notion",
    tool: str = "search_pages",
    why: str = "",
    *,
    admin: Person | None = None,
) -> Person:
    tenant = (admin or app.admin).tenant
    person = await app.product.person(tenant, f"{name}@acme.test", allow=["knowledge_graph:read"])
    await access_requests.create_request(app.product.console, ACTOR, tenant.id, person.id, module, tool, why)
    return person


def _row(page: Page, email: str):
    return page.get_by_role("row").filter(has_text=email)


@pytest.mark.long
async def test_without_requests_the_page_says_what_they_are(app: ConsoleApp) -> None:
    page = await app.open(app.other_admin, "/requests")
    await page.get_by_text("People ask here for tools").wait_for()
    await app.look(page, "requests-empty")


@pytest.mark.long
async def test_requests_are_searched_and_sorted(app: ConsoleApp) -> None:
    for name in ("first-of-two", "second-of-two"):
        await _ask(app, name)
    page = await app.open(app.admin, "/requests")
    rows = page.get_by_role("row")
    await page.get_by_role("searchbox").fill("-OF-ＴＷＯ")
    await page.wait_for_url(re.compile("q="))
    await expect(rows).to_have_count(3)
    await expect(rows.nth(1)).to_contain_text("second-of-two@acme.test")
    await page.get_by_role("button", name="Asked").click()
    await page.wait_for_url(re.compile("sort=created_at"))
    await expect(rows.nth(1)).to_contain_text("first-of-two@acme.test")
    await app.look(page, "requests-sorted")
    await page.get_by_role("searchbox").fill("nobody at all")
    await page.get_by_text("Nothing matches “nobody at all”").wait_for()


async def test_a_request_is_approved_with_one_click_into_a_role(app: ConsoleApp) -> None:
    person = await _ask(app, "asks", why="For the weekly report")
    console, tenant = app.product.console, app.admin.tenant.id
    await create_role(console, ACTOR, tenant, "Writers")
    await grant(console, ACTOR, tenant, "Writers", "allow", "notion.*")
    page = await app.open(app.admin, "/requests")
    await _row(page, "asks@acme.test").click()
    panel = page.get_by_role("dialog", name="asks@acme.test")
    await expect(panel).to_contain_text("For the weekly report")
    await panel.get_by_role("button", name="Approve into role Writers").wait_for()
    await app.look(page, "request-panel")
    await panel.get_by_role("button", name="Approve into role Writers").click()
    await expect(panel).to_contain_text("Approved")
    await page.keyboard.press("Escape")
    await expect(_row(page, "asks@acme.test")).to_have_count(0)
    assert "Writers" in {role.name for role in await list_user_roles(console, tenant, person.id, None, 50)}
    own = await app.open(person, "/tools?q=notion")
    await own.get_by_role("list", name="Tools of Notion").wait_for()


async def test_the_list_gives_no_role_that_allows_everything(app: ConsoleApp) -> None:
    """One click for one tool makes nobody an owner of all: the panel opens, and the person has what they had."""
    person = await _ask(app, "modest", module="jira", tool="search_issues")
    page = await app.open(app.admin, "/requests")
    await page.get_by_role("button", name="Approve the request of modest@acme.test").click()
    panel = page.get_by_role("dialog", name="modest@acme.test")
    await panel.get_by_role("button", name=f"Approve into role {app.user.email}").wait_for()
    owned = await list_user_roles(app.product.console, app.admin.tenant.id, person.id, None, 50)
    assert [role.name for role in owned] == [person.email]


async def test_a_request_is_approved_in_the_list_and_undone(app: ConsoleApp) -> None:
    """Where one role allows it; where there are more, the panel has them."""
    console, admin, tenant = app.product.console, app.other_admin, app.other_admin.tenant.id
    await create_role(console, ACTOR, tenant, "Wiki")
    await grant(console, ACTOR, tenant, "Wiki", "allow", "confluence.*")
    person = await _ask(app, "quick", module="confluence", tool="search", admin=admin)
    page = await app.open(admin, "/requests")
    await page.get_by_role("button", name="Approve the request of quick@acme.test").click()
    await expect(_row(page, "quick@acme.test")).to_have_count(0)
    assert "Wiki" in {role.name for role in await list_user_roles(console, tenant, person.id, None, 50)}
    await page.get_by_role("button", name="Undo").click()

    async def is_undone() -> bool:
        return "Wiki" not in {role.name for role in await list_user_roles(console, tenant, person.id, None, 50)}

    await within(15, is_undone)
    await expect(_row(page, "quick@acme.test")).to_have_count(1)
    await create_role(console, ACTOR, tenant, "Pages")
    await grant(console, ACTOR, tenant, "Pages", "allow", "confluence:read")
    await _ask(app, "choice", module="confluence", tool="search", admin=admin)
    await page.reload()
    await page.get_by_role("button", name="Approve the request of choice@acme.test").click()
    panel = page.get_by_role("dialog", name="choice@acme.test")
    await panel.get_by_role("button", name="Approve into role Wiki").wait_for()
    await page.context.set_offline(True)
    await expect(panel.get_by_role("button", name="Decline")).to_be_disabled()
    # By its label: behind the panel it has no role.
    await expect(page.locator('[aria-label="Approve the request of choice@acme.test"]')).to_be_disabled()
    await page.context.set_offline(False)


async def test_a_role_that_does_not_allow_it_is_changed_after_a_question(app: ConsoleApp) -> None:
    await _ask(app, "wide", module="jira", tool="search_issues")
    console, tenant = app.product.console, app.admin.tenant.id
    await create_role(console, ACTOR, tenant, "Planners")
    page = await app.open(app.admin, "/requests")
    await _row(page, "wide@acme.test").click()
    panel = page.get_by_role("dialog", name="wide@acme.test")
    await panel.get_by_role("combobox", name="Or allow it in another role").fill("plan")
    await page.get_by_role("option", name="Planners").click()
    question = page.get_by_role("alertdialog", name="Change role Planners?")
    await expect(question).to_contain_text("jira.search_issues")
    await app.look(page, "request-change-role")
    await question.get_by_role("button", name="Change the role and approve").click()
    await expect(panel).to_contain_text("Approved")
    assert "jira.search_issues" in (await find_role(console, tenant, "Planners")).allow


async def test_a_request_is_declined_and_the_person_reads_why(app: ConsoleApp) -> None:
    person = await _ask(app, "no", module="supabase", tool="execute_sql")
    page = await app.open(app.admin, "/requests")
    await _row(page, "no@acme.test").click()
    await page.get_by_role("button", name="Decline").click()
    await page.wait_for_url(re.compile("dialog=decline"))
    await page.get_by_label("Reason").fill("Use the dashboard <b>instead</b>")
    await app.look(page, "request-decline")
    await page.keyboard.press("Control+Enter")
    await expect(page.get_by_role("dialog", name="no@acme.test", exact=True)).to_contain_text("Declined")
    own = await app.open(person, "/tools?hidden=1&q=supabase")
    await own.get_by_text("Use the dashboard <b>instead</b>").wait_for()
    await own.get_by_role("button", name=re.compile("^Request again")).wait_for()
    await app.look(own, "tools-declined")


@in_every_view
async def test_the_page_in_every_view(app: ConsoleApp, view: str) -> None:
    await _ask(app, f"view-{view}", why="x" * 400)
    page = await app.open(app.admin, "/requests?state=any", **VIEWS[view])
    await _row(page, f"view-{view}@acme.test").wait_for()
    await app.look(page, f"requests-{view}")


async def test_people_see_no_requests_of_others(app: ConsoleApp) -> None:
    page = await app.open(app.user, "/requests")
    await page.get_by_role("heading", name="This page is for administrators").wait_for()
    answer = await page.request.get(f"{app.identity.url}/api/v1/access-requests?all_owners=true")
    assert answer.status == 403
    await _ask(app, "unseen")
    own = await app.open(app.admin, "/requests?state=any&q=unseen")
    await _row(own, "unseen@acme.test").wait_for()
    other = await app.open(app.other_admin, "/requests?state=any&q=unseen")
    await other.get_by_text("Nothing matches “unseen”").wait_for()
