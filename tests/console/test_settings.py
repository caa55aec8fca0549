"""Settings of the tenant: policies, alerts, and roles by groups and domains, in a real browser."""

import re

import pytest
from playwright.async_api import Page, expect

from core.audit.sealer import seal_pending_events
from server.role_database import get_utc_now
from tests.console.console_app import NARROW, SHORT_VIEW, VIEWS, ConsoleApp, confirm_by_typing
from tests.support.directory import create_role
from tests.support.product import ACTOR

expect.set_options(timeout=15_000)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_an_administrator_sets_what_counts_for_the_company(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/settings")
    other = await app.open(app.admin, "/settings", color_scheme="dark")
    name = page.get_by_label("Name of the company")
    await name.fill("Acme <b>Inc</b>")
    await other.get_by_label("Name of the company").fill("Other")
    await page.get_by_label("Longest life").fill("30")
    await page.locator("label", has_text="Record the arguments").click()
    await app.look(page, "settings")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("Saved").wait_for()
    await expect(page.get_by_role("banner")).to_contain_text("Acme <b>Inc</b>")
    await other.get_by_role("button", name="Save").click()
    await other.get_by_text("Somebody else has changed this").wait_for()
    await app.look(other, "settings-conflict")
    await other.get_by_role("button", name="Take the new state").click()
    await expect(other.get_by_label("Longest life")).to_have_value("30")

    await page.get_by_role("link", name="Alerts").click()
    await page.get_by_role("button", name="Change: An account has lost its access").click()
    form = page.get_by_role("dialog")
    await form.locator("label", has_text="Tell administrators").click()
    await form.get_by_label("Further addresses").fill("it@acme.test\nno address")
    await form.get_by_role("button", name="Save").click()
    await expect(form.get_by_label("Further addresses")).to_have_attribute("aria-invalid", "true")
    await form.get_by_label("Further addresses").fill("it@acme.test")
    await app.look(page, "settings-alert")
    await form.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("list", name="Alerts")).to_contain_text("it@acme.test")
    await app.look(page, "settings-alerts")

    await create_role(app.product.console, ACTOR, app.admin.tenant.id, "Engineers")
    await page.get_by_role("link", name="Groups and domains").click()
    await page.get_by_text("Nothing is mapped").wait_for()
    await page.get_by_role("button", name="Map a group or domain").click()
    await page.get_by_role("button", name="Provisioning (SCIM) Identity provider").wait_for()
    await page.get_by_role("button", name=re.compile("Kind")).click()
    await page.get_by_role("option", name="Domain").click()
    await page.get_by_role("textbox", name="Domain").fill("acme.test")
    await page.get_by_role("combobox", name="Role").fill("engin")
    await page.get_by_role("option", name="Engineers").click()
    await page.get_by_text("Gives role Engineers").wait_for()
    await app.look(page, "settings-mapping")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("list", name="Groups and domains")).to_contain_text("acme.test → Engineers")
    seen = await app.open(app.admin, "/settings?view=mappings", **VIEWS[SHORT_VIEW])
    await seen.get_by_text("acme.test →").wait_for()
    await app.look(seen, f"settings-mappings-{SHORT_VIEW}")
    await seen.get_by_role("button", name="グループまたはドメインの割り当て").click()
    await seen.get_by_role("button", name="プロビジョニング（SCIM） ID プロバイダー").wait_for()
    await app.look(seen, f"settings-mapping-{SHORT_VIEW}")
    await page.get_by_role("button", name="Remove: acme.test gives Engineers").click()
    await page.get_by_role("alertdialog").get_by_role("button", name="Remove").click()
    await page.get_by_text("Nothing is mapped").wait_for()
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("list", name="Groups and domains")).to_contain_text("acme.test → Engineers")


@pytest.mark.long
async def test_two_administrators_change_an_alert(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/settings?view=notices")
    form = page.get_by_role("dialog")
    await page.get_by_role("button", name="Change: An account has lost its access").click()
    late = await app.open(app.admin, "/settings?view=notices&id=account")
    await late.get_by_label("Further addresses").fill("theirs@acme.test")
    await form.get_by_label("Further addresses").fill("mine@acme.test")
    await late.get_by_role("button", name="Save").click()
    await late.get_by_role("dialog").wait_for(state="detached")
    await form.get_by_role("button", name="Save").click()
    await form.get_by_text("Somebody else has changed this").wait_for()
    await app.look(page, "settings-alert-conflict")
    await form.get_by_role("button", name="Apply mine again").click()
    await expect(page.get_by_role("list", name="Alerts")).to_contain_text("mine@acme.test")


async def test_an_identity_provider_gets_a_token_for_provisioning(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/settings?view=mappings")
    url = await page.get_by_role("textbox", name="SCIM address").inner_text()
    await page.get_by_text("No token: people are invited by hand").wait_for()
    await page.get_by_role("button", name="Create a token").click()
    form = page.get_by_role("dialog", name="Create a SCIM token")
    await form.get_by_label("Name").fill("Entra <b>ID</b>")
    await form.get_by_role("button", name="Create").click()
    token = await page.get_by_role("textbox", name="Token").inner_text()
    await app.look(page, "settings-scim-token")
    asked = {"Authorization": f"Bearer {token}"}
    assert (await page.request.get(f"{url}/ServiceProviderConfig", headers=asked)).status == 200
    await page.keyboard.press("Escape")
    tokens = page.get_by_role("list", name="Provisioning (SCIM)")
    await expect(tokens).to_contain_text("Entra <b>ID</b>")
    assert token not in await page.content()
    seen = await app.open(app.admin, "/settings?view=mappings", **VIEWS[SHORT_VIEW])
    await seen.get_by_text("Entra <b>ID</b>").wait_for()
    await app.look(seen, f"settings-scim-{SHORT_VIEW}")
    other = await app.open(app.other_admin, "/settings?view=mappings")
    await other.get_by_text("No token: people are invited by hand").wait_for()
    await page.get_by_role("button", name="Revoke Entra <b>ID</b>").click()
    await confirm_by_typing(page, "Entra <b>ID</b>", "Revoke")
    await page.get_by_text("No token: people are invited by hand").wait_for()
    await seal_pending_events(app.product.console, get_utc_now)
    await seen.get_by_text("Entra <b>ID</b>").wait_for(state="detached")
    assert (await page.request.get(f"{url}/ServiceProviderConfig", headers=asked)).status == 401


async def test_an_old_sign_in_is_renewed_and_the_form_goes_on(app: ConsoleApp) -> None:
    person = await app.add_admin("tired@acme.test")
    page = await app.open(person, "/settings?view=mappings&dialog=scim", **VIEWS[SHORT_VIEW])
    async with app.product.database.admin_connection() as admin:
        await admin.execute(
            "UPDATE auth.sessions SET authenticated_at = now() - interval '1 day' WHERE user_id = $1", person.id
        )
    form = page.get_by_role("dialog", name="SCIM トークンを作成")
    await form.get_by_role("textbox").fill("Okta")
    await form.get_by_role("button", name="作成").click()
    question = page.get_by_role("alertdialog")
    await question.get_by_role("button", name="サインイン").wait_for()
    await app.look(page, f"sign-in-again-{SHORT_VIEW}")
    # Back in the tab without having signed in: it goes on waiting.
    await _return_to(page)
    await expect(question).to_be_visible()
    await app.use_session(page, person)
    await _return_to(page)
    await page.get_by_role("textbox", name="トークン").wait_for()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("list", name="プロビジョニング（SCIM）")).to_contain_text("Okta")


async def test_what_was_typed_is_not_sent_as_somebody_else(app: ConsoleApp) -> None:
    person = await app.add_admin("swap@acme.test")
    page = await app.open(person, "/settings?view=mappings&dialog=scim")
    form = page.get_by_role("dialog", name="Create a SCIM token")
    await form.get_by_label("Name").fill("Theirs")
    await page.context.clear_cookies()
    await form.get_by_role("button", name="Create").click()
    await page.get_by_role("alertdialog", name="Your sign-in has ended").wait_for()
    await app.use_session(page, app.other_admin)
    await _return_to(page)
    await page.wait_for_url(re.compile("/console/?$"))
    await page.get_by_role("heading", name="Dashboard", level=1).wait_for()
    async with app.product.database.admin_connection() as admin:
        assert await admin.fetchval("SELECT count(*) FROM auth.scim_tokens WHERE name = 'Theirs'") == 0


async def _return_to(page: Page) -> None:
    """Look at the tab again, and let it ask who is signed in."""
    async with page.expect_response("**/api/v1/me"):
        await page.evaluate("() => window.dispatchEvent(new Event('focus'))")


@pytest.mark.long
async def test_tabs_of_narrow_screens_scroll_to_the_selected_one(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/settings?view=collector", viewport=NARROW)
    tabs = page.get_by_role("navigation", name="Settings").get_by_role("link")
    await page.get_by_role("heading", name="Log collector").wait_for()
    await expect(tabs).to_have_count(4)
    places = [await tab.bounding_box() for tab in await tabs.all()]
    assert len({place["y"] for place in places if place}) == 1, "tabs stand on one line"
    selected = places[-1]
    assert selected is not None
    assert selected["x"] >= 0
    assert selected["x"] + selected["width"] <= NARROW["width"], "the selected one is in sight"
    await app.look(page, "settings-tabs-narrow")


@pytest.mark.long
async def test_settings_are_for_administrators_of_the_tenant(app: ConsoleApp) -> None:
    page = await app.open(app.user, "/settings")
    await page.get_by_role("heading", name="This page is for administrators").wait_for()
    other = await app.open(app.other_admin, "/settings")
    await expect(other.get_by_label("Name of the company")).not_to_have_value("Acme <b>Inc</b>")


@pytest.mark.long
async def test_names_of_hidden_tools_are_switched_off_for_the_company_alone(app: ConsoleApp) -> None:
    limits = {"allow": ["knowledge_graph.*"]}
    person = await app.product.person(app.admin.tenant, "sees@acme.test", **limits)
    stranger = await app.product.person(app.other_admin.tenant, "sees@umbrella.test", **limits)
    hidden = re.compile("tools that you may not use")
    theirs = await app.open(person, "/tools")
    await theirs.get_by_role("button", name=hidden).wait_for()
    page = await app.open(app.admin, "/settings")
    await page.locator("label", has_text="People see the names of tools").click()
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("Saved").wait_for()
    await theirs.reload()
    await theirs.get_by_role("button", name="Knowledge graph", exact=True).wait_for()
    await expect(theirs.get_by_role("button", name=hidden)).to_have_count(0)
    others = await app.open(stranger, "/tools")
    await others.get_by_role("button", name=hidden).wait_for()
    await page.locator("label", has_text="People see the names of tools").click()
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_label("People see the names of tools")).to_be_checked()
    await theirs.reload()
    await theirs.get_by_role("button", name=hidden).wait_for()
