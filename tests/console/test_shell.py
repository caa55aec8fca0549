"""What is around every page of the console, in a real browser under the real policy."""

import json
import re

import pytest
from playwright.async_api import Page, Route, expect

from tests.console.console_app import NARROW, VIEWS, WIDE, ConsoleApp, in_every_view, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def _has_table(page: Page) -> None:
    await page.get_by_role("table").wait_for()


@in_every_view
async def test_the_shell_in_every_view(app: ConsoleApp, view: str) -> None:
    page = await app.open(app.admin, "/users", **VIEWS[view])
    await _has_table(page)
    await app.look(page, f"users-{view}")
    assert await page.get_attribute("html", "lang") == ("ja" if "japanese" in view else "en")


async def test_the_start_is_a_page_of_its_own(app: ConsoleApp) -> None:
    page = await app.open(app.admin)
    await page.get_by_role("heading", name="Dashboard", level=1).wait_for()
    await expect(page).to_have_title("Start · MCPist")
    await page.get_by_role("link", name="People").click()
    await _has_table(page)
    assert await page.get_by_role("link", name="Start").get_attribute("aria-current") is None


async def test_nobody_is_sent_to_the_sign_in_and_comes_back_to_the_same_address(app: ConsoleApp) -> None:
    page = await app.open(None, "/roles?id=662E41")
    await page.wait_for_url("**/sign-in?next=*")
    assert page.url.endswith("next=%2Fconsole%2Froles%3Fid%3D662E41")


async def test_the_palette_goes_to_a_page_by_keyboard(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/users")
    await _has_table(page)
    await page.keyboard.press("Control+k")
    field = page.get_by_role("dialog").get_by_role("searchbox").or_(page.get_by_role("dialog").get_by_role("textbox"))
    await field.wait_for()
    await app.look(page, "palette")
    await page.keyboard.press("ArrowUp")
    await expect(page.locator("[role=menuitem][data-focused]")).to_be_in_viewport()
    await expect(page.get_by_role("menuitem").last).to_be_in_viewport()
    await field.fill("no such thing")
    await page.get_by_text("No such command").wait_for()
    await app.look(page, "palette-empty")
    await field.fill("roles")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/console/roles")
    await page.get_by_role("dialog").wait_for(state="detached")
    # Who listens hears the name of the new page.
    await wait_until(page, "() => document.activeElement.tagName === 'H1'")


async def test_the_shortcuts_are_listed_and_can_be_switched_off(app: ConsoleApp) -> None:
    page = await app.open(await app.add_admin("shortcuts@acme.test"), "/users")
    await _has_table(page)
    await page.keyboard.press("g")
    await page.keyboard.press("r")
    await page.wait_for_url("**/console/roles")
    await page.keyboard.press("?")
    await page.get_by_role("dialog", name="Keyboard shortcuts").wait_for()
    await app.look(page, "shortcuts")
    await page.get_by_text("Single-key shortcuts").click()
    await page.keyboard.press("Escape")
    await page.get_by_role("dialog").wait_for(state="detached")
    await page.keyboard.press("g")
    await page.keyboard.press("u")
    await page.keyboard.press("?")
    await page.keyboard.press("Control+k")
    await page.get_by_role("dialog", name="Commands").wait_for()
    assert page.url.endswith("/console/roles")


async def test_language_and_theme_are_chosen_and_stay(app: ConsoleApp) -> None:
    person = await app.add_admin("language@acme.test")
    page = await app.open(person, "/users")
    await page.get_by_role("button", name="Your account").click()
    await page.get_by_role("menu").wait_for()
    await app.look(page, "account-menu")
    await page.get_by_role("menuitemradio", name="Dark").click()
    if not await page.get_by_role("menu").is_visible():
        await page.get_by_role("button", name="Your account").click()
    async with page.expect_response(lambda answer: answer.request.method == "PATCH") as kept:
        await page.get_by_role("menuitemradio", name="日本語").click()
    assert (await kept.value).ok
    await page.get_by_role("heading", name="ユーザー", level=1).wait_for()
    await page.reload()
    await page.get_by_role("heading", name="ユーザー", level=1).wait_for()
    assert await page.evaluate("[document.documentElement.lang, document.documentElement.dataset.theme]") == [
        "ja",
        "dark",
    ]
    await app.look(page, "users-japanese-dark")
    elsewhere = await app.open(person, "/users")
    await elsewhere.get_by_role("heading", name="ユーザー", level=1).wait_for()


async def test_a_person_sees_no_administration_and_a_403_page(app: ConsoleApp) -> None:
    page = await app.open(app.user, "/users")
    await page.get_by_role("heading", name="This page is for administrators").wait_for()
    assert await page.get_by_role("link", name="People").count() == 0
    await app.look(page, "forbidden")
    answer = await page.request.get(f"{app.identity.url}/api/v1/users")
    assert answer.status == 403, "and the API says the same"


async def test_an_unknown_address_says_so(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/no/such/page")
    await page.get_by_role("heading", name="There is no such page").wait_for()
    await app.look(page, "missing")


async def test_an_error_names_its_request_and_can_be_tried_again(app: ConsoleApp) -> None:
    fails = True

    async def answer(route: Route) -> None:
        if not fails:
            await route.continue_()
            return
        body = {
            "type": "about:blank",
            "title": "x",
            "status": 409,
            "code": "conflict",
            "detail": "it is odd",
            "request_id": "r-42",
        }
        await route.fulfill(status=409, content_type="application/problem+json", body=json.dumps(body))

    page = await app.open(app.admin, "/no/such/page")
    await page.route("**/api/v1/users?*", answer)
    await page.goto(f"{app.identity.url}/console/users")
    await page.get_by_role("alert").wait_for()
    assert "r-42" in await page.get_by_role("alert").inner_text()
    assert "it is odd" in await page.get_by_role("alert").inner_text()
    await app.look(page, "error")
    fails = False
    await page.get_by_role("button", name="Try again").click()
    await _has_table(page)


async def test_without_a_network_the_page_says_so(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/users")
    await _has_table(page)
    await page.context.set_offline(True)
    await page.get_by_text("You are offline.").wait_for()
    await app.look(page, "offline")
    await page.context.set_offline(False)
    await page.get_by_text("You are offline.").wait_for(state="detached")


@pytest.mark.long
@pytest.mark.parametrize("view", ["wide", "narrow"])
async def test_the_bar_about_the_network_works_beside_dialogs(app: ConsoleApp, view: str) -> None:
    page = await app.open(await app.add_admin(f"interrupted-dialog-{view}@acme.test"), "/roles")
    await page.context.route("**/api/v1/events", lambda route: route.fulfill(status=204))
    await page.set_viewport_size(NARROW if view == "narrow" else WIDE)
    for name, path in (("panel", f"/users?id={app.user.id}"), ("form", "/users?dialog=invite")):
        await page.goto(f"{app.identity.url}/console{path}")
        dialog = page.get_by_role("dialog")
        await dialog.get_by_role("button", name="Close").wait_for()
        await page.get_by_text("Live updates are interrupted").wait_for()
        await app.look(page, f"interrupted-{name}-{view}")
        async with page.expect_response(lambda answer: "/api/v1/users" in answer.url or "/api/v1/me" in answer.url):
            await page.get_by_role("button", name="Try again").click()
        await dialog.get_by_role("button", name="Close").click()
        await dialog.wait_for(state="detached")
    await page.context.unroute("**/api/v1/events")


async def test_a_part_that_cannot_be_fetched_ahead_takes_nothing_away(app: ConsoleApp) -> None:
    """A page is fetched when its link is pointed at; that it is not there reloads only where it is needed."""
    page = await app.open(app.admin, "/users")
    await _has_table(page)
    missing, reloads = re.compile(r"/assets/RolesPage-[^/]*$"), list[str]()

    async def refuse(route: Route) -> None:
        await route.fulfill(status=404, content_type="text/plain", body="")

    async def note(route: Route) -> None:
        reloads.append(route.request.url)
        await route.continue_()

    await page.route(missing, refuse)
    await page.route(re.compile(r"/console/$"), note)
    await page.evaluate("() => { window.typed = 'half of a name' }")
    async with page.expect_response(missing):
        await page.get_by_role("link", name="Roles").hover()
    await page.get_by_role("link", name="Services").click()
    await _has_table(page)
    assert await page.evaluate("window.typed") == "half of a name"
    assert reloads == []
    await page.get_by_role("link", name="Roles").click()
    await page.wait_for_url("**/console/roles")
    await page.unroute(missing)
    await page.get_by_role("button", name="Try again").or_(page.get_by_role("table", name="Roles")).first.wait_for()
    if await page.get_by_role("button", name="Try again").is_visible():
        await page.get_by_role("button", name="Try again").click()
    await page.get_by_role("table", name="Roles").wait_for()
    heard = app.pages[-1].watched.complaints
    heard[:] = [line for line in heard if "RolesPage" not in line]


async def test_a_session_that_ends_is_asked_for_and_the_page_goes_on(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/roles")
    await _has_table(page)
    await page.context.clear_cookies()
    await page.get_by_role("link", name="People").click()
    dialog = page.get_by_role("alertdialog", name="Your sign-in has ended")
    await dialog.wait_for()
    await app.look(page, "session-ended")
    async with page.context.expect_page() as opened:
        await dialog.get_by_role("button", name="Sign in").click()
    other = await opened.value
    await other.wait_for_url("**/sign-in?next=%2Fconsole%2Fsigned-in")
    await app.use_session(page, app.admin)
    await other.goto(f"{app.identity.url}/console/signed-in")
    await other.get_by_role("heading", name="You are signed in").wait_for()
    await app.look(other, "signed-in")
    await dialog.wait_for(state="detached")
    await page.get_by_role("heading", name="People").wait_for()
    await _has_table(page)


async def test_signing_out_ends_every_tab(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/users")
    await _has_table(page)
    other = await page.context.new_page()
    await other.goto(f"{app.identity.url}/console/roles")
    await _has_table(other)
    await page.get_by_role("button", name="Your account").click()
    await page.get_by_role("menuitem", name="Sign out").click()
    await page.wait_for_url("**/signed-out")
    await other.wait_for_url("**/signed-out")
    assert (await page.request.get(f"{app.identity.url}/api/v1/me")).status == 401


@pytest.mark.long
async def test_the_drawer_of_narrow_screens(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/users", viewport=NARROW, has_touch=True)
    await page.get_by_role("button", name="Open the list of pages").click()
    await page.get_by_role("dialog", name="Pages").wait_for()
    await app.look(page, "drawer")
    await page.get_by_role("dialog").get_by_role("link", name="Roles").click()
    await page.wait_for_url("**/console/roles")
    await page.get_by_role("dialog").wait_for(state="detached")


async def test_the_policy_is_in_force_and_a_breach_is_heard(app: ConsoleApp) -> None:
    """The other tests lean on this one: what breaks the policy or Trusted Types is a complaint."""
    page = await app.open(app.admin, "/users")
    await _has_table(page)
    watched = app.pages.pop().watched
    await page.evaluate("document.body.append(Object.assign(document.createElement('style'), {textContent: 'a{}'}))")
    refused = await page.evaluate(
        "(() => { try { document.body.innerHTML = 'x' } catch (error) { return error.name } })()"
    )
    assert refused == "TypeError"
    await page.evaluate("fetch('http://127.0.0.1:9/').catch(() => null)")
    heard = "\n".join(watched.complaints)
    assert "style-src" in heard
    assert "require-trusted-types-for" in heard
    assert "connect-src" in heard
    await watched.context.close()
