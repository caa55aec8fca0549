"""Resources and prompts beside tools, for a person and for administrators, in a real browser."""

import re

import pytest
from playwright.async_api import expect

from core.directory.roles import find_role
from tests.console.console_app import LOADING, VIEWS, ConsoleApp, in_every_view
from tests.support.directory import create_role, grant
from tests.support.product import ACTOR, Person

expect.set_options(timeout=15_000)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
ALLOWED = ("github.search_issues", "github.readme", "github.pr_review")


async def _add_reader(app: ConsoleApp, name: str) -> Person:
    return await app.product.person(app.admin.tenant, f"{name}@acme.test", allow=ALLOWED)


async def test_a_person_finds_them_and_asks_for_one(app: ConsoleApp) -> None:
    person = await _add_reader(app, "attaches")
    page = await app.open(person, "/tools?open=github")
    rows = page.get_by_role("list", name="Tools of GitHub").get_by_role("listitem")
    await expect(rows).to_have_count(len(ALLOWED))
    await expect(rows.filter(has_text="resource")).to_contain_text("readme")
    await expect(rows.filter(has_text="prompt")).to_contain_text("pr_review")
    await app.look(page, "resources-own")
    page = await app.open(person, "/tools?tool=github.readme")
    panel = page.get_by_role("dialog")
    await expect(panel).to_contain_text("resource://github/repos/{owner}/{repo}/readme")
    await expect(panel.get_by_role("heading", name="Result")).to_have_count(0)
    await app.look(page, "resource-panel")

    page = await app.open(person, "/tools?q=diff+of+a+pull+request&hidden=1")
    hidden = page.get_by_role("list", name="Tools that you may not use").get_by_role("listitem")
    hidden = hidden.filter(has_text="pull_request_diff")
    await expect(hidden).to_contain_text("resource")
    await hidden.get_by_role("button", name=re.compile("^Request access")).click()
    await page.keyboard.press("Control+Enter")
    await hidden.get_by_text("Requested").wait_for()
    boss = await app.open(app.admin, "/requests")
    row = boss.get_by_role("row").filter(has_text=person.email)
    await expect(row).to_contain_text("github.pull_request_diff")
    await expect(row).to_contain_text("resource")
    await row.click()
    panel = boss.get_by_role("dialog", name=person.email)
    await expect(panel).to_contain_text("resource")
    await expect(boss.locator(LOADING)).to_have_count(0)
    await app.look(boss, "resource-request")


async def test_a_role_allows_them_one_by_one(app: ConsoleApp) -> None:
    tenant = app.admin.tenant.id
    await create_role(app.product.console, ACTOR, tenant, "Attachments")
    await grant(app.product.console, ACTOR, tenant, "Attachments", "allow", "github.readme")
    role = (await find_role(app.product.console, tenant, "Attachments")).id
    page = await app.open(app.admin, f"/roles?id={role}&tab=permissions&service=github&find=review")
    row = page.get_by_role("row", name=re.compile("pr_review")).filter(has_text="prompt")
    await row.filter(has_not_text="github_pr_review").get_by_role("checkbox").click()
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("Role Attachments was changed").wait_for()
    stored = await find_role(app.product.console, tenant, "Attachments")
    assert {*stored.allow} == {"github.readme", "github.pr_review"}
    page = await app.open(app.admin, f"/roles?id={role}&tab=see-as")
    resources = page.get_by_role("list", name="Resources").get_by_role("listitem")
    await expect(resources).to_contain_text(["resource://github/repos/{owner}/{repo}/readme"])
    await expect(page.get_by_role("list", name="Prompts").get_by_role("listitem")).to_contain_text(["pr_review"])
    await app.look(page, "resources-see-as")


@in_every_view
async def test_the_pages_in_other_views(app: ConsoleApp, view: str) -> None:
    person = await _add_reader(app, f"views-{view}")
    role = (await find_role(app.product.console, app.admin.tenant.id, person.email)).id
    for who, name, path in (
        (person, "own", "/tools?open=github"),
        (person, "panel", "/tools?tool=github.readme"),
        (app.admin, "matrix", f"/roles?id={role}&tab=permissions&service=github&find=review"),
        (app.admin, "see-as", f"/roles?id={role}&tab=see-as"),
    ):
        page = await app.open(who, path, **VIEWS[view])
        await page.get_by_text(re.compile("readme|pr_review")).locator("visible=true").first.wait_for()
        await expect(page.locator(LOADING)).to_have_count(0)
        await app.look(page, f"resources-{name}-{view}")
