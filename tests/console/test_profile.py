"""Somebody's own profile: settings, browsers, applications, tokens, notices, in a real browser."""

import re

import pytest
from playwright.async_api import Page, expect

from broker.interface import MandatePurpose
from core.known_clients import DEFAULT_RESULT_TOKENS, LEAST_RESULT_TOKENS, MOST_RESULT_TOKENS
from tests.console.console_app import VIEWS, ConsoleApp, confirm_by_typing, in_every_view
from tests.support.product import Person

expect.set_options(timeout=15_000)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def _person(app: ConsoleApp, name: str) -> Person:
    return await app.product.person(app.admin.tenant, f"{name}@acme.test", allow=["*"])


def _part(page: Page, name: str):
    return page.get_by_role("region", name=name)


@in_every_view
async def test_the_page_in_every_view(app: ConsoleApp, view: str) -> None:
    page = await app.open(app.user, "/profile", **VIEWS[view])
    await page.get_by_role("checkbox").nth(1).wait_for()
    await page.set_viewport_size({"width": 360 if "narrow" in view else 1280, "height": 1700})
    await app.look(page, f"profile-{view}")


@pytest.mark.long
async def test_the_profile_counts_at_once_and_in_another_browser(app: ConsoleApp) -> None:
    person = await _person(app, "settings")
    page = await app.open(person, "/profile")
    await page.get_by_label("Name", exact=False).first.fill("Sae Tings")
    await page.get_by_role("combobox", name="Time zone").fill("new_york")
    await page.get_by_role("option", name="America/New_York").click()
    await page.get_by_role("button", name=re.compile("Language")).click()
    await page.get_by_role("option", name="日本語").click()
    await page.get_by_text("Single-key shortcuts").click()
    await page.get_by_role("button", name="Save").click()
    await page.get_by_role("heading", name="プロフィール", level=1).wait_for()
    other = await app.open(person, "/profile", locale="en-GB")
    await other.get_by_role("heading", name="プロフィール", level=1).wait_for()
    await expect(other.get_by_role("combobox", name=re.compile("タイムゾーン"))).to_have_value("America/New_York")
    title = await other.locator("time").first.get_attribute("title")
    assert re.search(r"GMT-[45]", title or ""), title
    await other.keyboard.press("?")
    assert await other.get_by_role("dialog").count() == 0, "the shortcuts are off"


async def test_a_time_zone_that_is_none_changes_nothing(app: ConsoleApp) -> None:
    person = await _person(app, "nowhere")
    page = await app.open(person, "/profile")
    await page.route(
        "**/api/v1/me",
        lambda route: (
            route.fulfill(
                status=400,
                content_type="application/problem+json",
                json={
                    "code": "invalid",
                    "errors": [{"field": "body.time_zone", "problem": "there is no such time zone"}],
                },
            )
            if route.request.method == "PATCH"
            else route.continue_()
        ),
    )
    save = page.get_by_role("button", name="Save")
    await expect(save).to_be_disabled()
    name = page.get_by_role("textbox", name="Name")
    await name.fill("No Where")
    await expect(save).to_be_enabled()
    await name.fill("")
    await expect(save).to_be_disabled()
    await name.fill("No Where")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("there is no such time zone").wait_for()
    await app.look(page, "profile-field-error")


async def test_other_browsers_are_signed_out_one_by_one_and_all(app: ConsoleApp) -> None:
    person = await _person(app, "browsers")
    page = await app.open(person, "/profile")
    first, second = await app.identity.session(person), await app.identity.session(person)
    await page.reload()
    rows = _part(page, "Signed-in browsers").get_by_role("listitem")
    await expect(rows).to_have_count(3)
    await expect(rows.filter(has_text="This browser")).to_have_count(1)
    await rows.get_by_role("button", name="Sign out").first.click()
    await expect(rows).to_have_count(2)
    await page.get_by_role("button", name="Sign out the others").click()
    await expect(rows).to_have_count(1)
    for cookie in (first, second):
        answer = await page.request.get(f"{app.identity.url}/api/v1/sessions", headers={"Cookie": cookie})
        assert answer.status == 401
    other = await page.context.new_page()
    await other.goto(f"{app.identity.url}/console/tools")
    await other.get_by_role("heading", name="Tools", level=1).wait_for()
    await page.get_by_role("button", name="Sign out everywhere").click()
    await page.wait_for_url("**/signed-out")
    await other.wait_for_url("**/signed-out")


async def test_a_token_is_made_shown_once_used_and_revoked(app: ConsoleApp) -> None:
    person = await _person(app, "tokens")
    page = await app.open(person, "/profile")
    await page.get_by_role("button", name="Create a token").click()
    await page.wait_for_url("**/profile?dialog=token")
    dialog = page.get_by_role("dialog", name="Create a token")
    assert await dialog.get_by_text("administrators").count() == 0, "a user has no scope of administration"
    await dialog.get_by_label("Name").fill("Nightly report")
    await dialog.get_by_text("Call tools that change something").click()
    limit = dialog.get_by_label("Largest result in tokens")
    await expect(limit).to_have_attribute("placeholder", f"{DEFAULT_RESULT_TOKENS:,}")
    await limit.fill(str(MOST_RESULT_TOKENS + 1))
    await page.keyboard.press("Control+Enter")
    await dialog.get_by_text(f"Enter {LEAST_RESULT_TOKENS} to {MOST_RESULT_TOKENS:,}, or nothing.").wait_for()
    await limit.fill("12,000")
    await app.look(page, "profile-token-form")
    await page.keyboard.press("Control+Enter")
    token = await page.get_by_role("dialog", name="The new token").get_by_role("textbox", name="Token").inner_text()
    await app.look(page, "profile-token-shown")
    headers = {"Authorization": f"Bearer {token}"}
    me = await (await page.request.get(f"{app.identity.url}/api/v1/me", headers=headers)).json()
    assert me["scopes"] == ["mcp:read"]
    await page.get_by_role("button", name="Close").click()
    await page.wait_for_url(re.compile(r"/profile$"))
    held = await page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.body.innerHTML])")
    assert token not in held
    assert token not in page.url
    row = _part(page, "API tokens").get_by_role("listitem").filter(has_text="Nightly report")
    await expect(row).to_contain_text(re.compile("results up to 12,000 tokens .* ends in [23] months"))
    await row.get_by_role("button", name="Revoke").click()
    await app.look(page, "profile-revoke")
    await page.get_by_role("alertdialog", name="Revoke Nightly report?").wait_for()
    await confirm_by_typing(page, "Nightly report", "Revoke")
    await expect(row).to_have_count(0)
    assert (await page.request.get(f"{app.identity.url}/api/v1/me", headers=headers)).status == 401


async def test_an_application_that_was_let_in_is_revoked(app: ConsoleApp) -> None:
    person = await _person(app, "grants")
    await app.connect_client(person, "Sharp Editor")
    page = await app.open(person, "/profile")
    row = _part(page, "Connected applications").get_by_role("listitem")
    await expect(row).to_contain_text("Sharp Editor")
    await row.get_by_role("button", name="Revoke").click()
    await page.get_by_role("alertdialog", name="Revoke Sharp Editor?").wait_for()
    await confirm_by_typing(page, "Sharp Editor", "Revoke")
    await page.get_by_text("No application was let in.").wait_for()


async def test_what_works_in_absence_is_seen_and_ended(app: ConsoleApp) -> None:
    """By its person, and by an administrator in the person's panel."""
    person = await _person(app, "absent")
    await app.start_absent_work(person, "Nightly report", MandatePurpose.SCHEDULE)
    await app.start_absent_work(person, "Count stars", MandatePurpose.JOB)
    page = await app.open(person, "/profile")
    rows = _part(page, "Work in absence").get_by_role("listitem")
    await expect(rows.nth(0)).to_contain_text("knowledge_graph.create_entities")
    await expect(rows.nth(1)).to_contain_text("Waits for consent")
    await expect(rows.nth(1).get_by_role("link", name="Decide")).to_have_attribute("href", "/account#mandates")
    await page.set_viewport_size({"width": 1280, "height": 1900})
    await app.look(page, "profile-absence")
    await rows.nth(0).get_by_role("button", name="End").click()
    await page.get_by_role("alertdialog", name="End Count stars?").wait_for()
    await confirm_by_typing(page, "Count stars", "End")
    await expect(rows).to_have_count(1)
    page = await app.open(app.admin, f"/users?id={person.id}&tab=access")
    panel = page.get_by_role("dialog").get_by_role("listitem").filter(has_text="Nightly report")
    await panel.get_by_role("button", name="End").click()
    await confirm_by_typing(page, "Nightly report", "Revoke")
    await page.get_by_text("Nothing works in absence.").wait_for()


@pytest.mark.long
async def test_a_notice_is_switched_off_and_a_refusal_is_taken_back(app: ConsoleApp) -> None:
    person = await _person(app, "notices")
    page = await app.open(person, "/profile")
    part = _part(page, "Notices")
    box = part.get_by_role("checkbox", name="An account has lost its access")
    await expect(box).to_be_checked()
    async with page.expect_response(lambda answer: answer.request.method == "PUT" and answer.ok):
        await part.get_by_text("An account has lost its access").click()
    await page.reload()
    await expect(box).not_to_be_checked()
    await page.route("**/api/v1/notification-preferences", lambda route: route.fulfill(status=503, json={}))
    await part.get_by_text("An account has lost its access").click()
    await part.get_by_role("alert").wait_for()
    await expect(box).not_to_be_checked()
