"""Every page in a real browser: nothing scrolls sideways, everything can be read, nothing leaves our origin."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.browser.gallery import CONSENT, PAGES, PROBLEMS, VIEWS, gallery
from tests.support.chromium import chromium, watch
from tests.support.eventually import within

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

NAMES = (*PAGES, *PROBLEMS)

# Of every element with text of its own: the contrast of its colour with what lies behind it (WCAG 2.2, 1.4.3).
CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (node) => { for (let n = node; n; n = n.parentElement) {
    const c = parse(getComputedStyle(n).backgroundColor); if (c.length < 4 || c[3] === 1) return c; }
    return [255, 255, 255]; };
  return [...document.querySelectorAll('body *')].filter((n) => n.offsetParent !== null
      && [...n.childNodes].some((c) => c.nodeType === 3 && c.data.trim())).map((n) => {
    const [a, b] = [light(parse(getComputedStyle(n).color)), light(behind(n))];
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), n.textContent.trim().slice(0, 40)]; });
}"""

# Texts that are keys of ours, and addresses that nobody but us makes.
KEPT = (
    "user_kind",
    "notice",
    "done",
    "purpose",
    "scopes",
    "state",
    "cause",
    "type",
    "kind",
    "refused",
    "skip",
    "name",
    "help_url",
    "redirect_uri",
    "explained",
)
PAYLOAD = "</p><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}\"' onclick=alert(3) \u202egnp.exe"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as running:
        yield running


@pytest.mark.parametrize(
    "view", [name if name == "narrow-japanese" else pytest.param(name, marks=pytest.mark.long) for name in VIEWS]
)
async def test_every_page_in_every_view(browser: Browser, view: str) -> None:
    async with gallery() as url:
        watched = watch(await browser.new_context(**VIEWS[view]))
        page = await watched.page()
        for name in NAMES:
            answer = await page.goto(f"{url}/gallery/{name}")
            assert answer is not None
            assert answer.status == 200 or name not in PAGES, name
            await _looks_right(page, name, "ja" if "japanese" in view else "en")
        watched.check(url)


async def _looks_right(page: Page, name: str, language: str) -> None:
    assert await page.get_attribute("html", "lang") == language, name
    for landmark in ("header", "main", "footer", "h1"):
        assert await page.locator(landmark).count() == 1, (name, landmark)
    assert await page.title(), name
    wide, visible = await page.evaluate("() => [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= visible, f"{name} scrolls sideways: {wide} px"
    pale = [found for found in await page.evaluate(CONTRAST) if found[0] < 4.5]
    assert not pale, (name, pale)
    for button in await page.locator("button, a.button").all():
        box = await button.bounding_box()
        assert box is not None, name
        assert box["height"] >= 24, (name, box)  # WCAG 2.2, 2.5.8


async def test_names_from_outside_are_shown_as_text(browser: Browser) -> None:
    """Stored payloads in every text that somebody else chose (threat-model.md §2, rows 12 and 37)."""
    hostile: dict[str, Any] = {name: _hostile(context) for name, (_, context) in PAGES.items()}
    async with gallery(**hostile) as url:
        watched = watch(await browser.new_context())
        page = await watched.page()
        for name in PAGES:
            await page.goto(f"{url}/gallery/{name}")
            assert await page.locator("main script, main img, [onclick], [onerror]").count() == 0, name
            text = await page.inner_text("main")
            assert "\u202e" not in text, name
            if name not in ("sign-in-none", "signed-out", "api-reference"):  # these show nobody's names
                assert "<script>alert(1)</script>" in text, name
            assert "49" not in text, name
        watched.check(url)


def _hostile(context: Any, key: str = "") -> Any:
    """The same contents with the payload in every text that is not a key of ours."""
    if isinstance(context, dict):
        return {name: _hostile(value, name) for name, value in context.items()}
    if isinstance(context, list | tuple):
        return [_hostile(item, key) for item in context]
    kept = key in KEPT or not isinstance(context, str) or not context
    return context if kept else PAYLOAD


# What an injection would try, should escaping ever fail somewhere.
INJECTION = """(elsewhere) => {
  window.ran = [];
  const script = document.createElement('script'); script.textContent = "window.ran.push('inline')";
  const remote = document.createElement('script'); remote.src = elsewhere + '/x.js';
  const image = document.createElement('img'); image.src = elsewhere + '/x.png';
  const frame = document.createElement('iframe'); frame.src = elsewhere + '/x.html';
  document.body.append(script, remote, image, frame);
  document.body.insertAdjacentHTML('beforeend', `<a id=h onclick="window.ran.push('handler')">x</a>`);
  document.getElementById('h').click();
  document.head.insertAdjacentHTML('beforeend', `<base href="${elsewhere}/">`);
  const form = document.createElement('form'); form.method = 'post'; form.action = elsewhere + '/x';
  document.body.append(form); form.submit();
  return fetch(elsewhere + '/x').catch(() => [...window.ran, new URL('y', document.baseURI).origin]);
}"""


@pytest.mark.parametrize("name", ["sign-in", "consent", "account", "problem"])
async def test_what_is_injected_does_not_run(browser: Browser, name: str) -> None:
    """The second line behind escaping: no script, no other origin, no other place for a form (CSP)."""
    async with gallery() as url, gallery() as elsewhere:
        watched = watch(await browser.new_context())
        page = await watched.page()
        await page.goto(f"{url}/gallery/{name}")
        answered: list[str] = []
        page.on("response", lambda response: answered.append(response.url))
        assert await page.evaluate(INJECTION, elsewhere) == [url]
        assert page.url == f"{url}/gallery/{name}"
        assert answered == [], "the browser has asked nobody for anything"

        async def all_told() -> bool:
            found = " ".join(watched.complaints)
            return all(one in found for one in ("default-src 'none'", "img-src", "base-uri", "form-action"))

        await within(5, all_told)
        assert page.url == f"{url}/gallery/{name}"


@pytest.mark.parametrize("name", ["sign-in", "consent", "account", "problem"])
async def test_no_page_lets_itself_be_framed(browser: Browser, name: str) -> None:
    async with gallery() as url, gallery() as elsewhere:
        page = await browser.new_page()
        # A server on this machine: at other places the browser forbids the frame before it asks us.
        await page.goto(f"{elsewhere}/frame?of={url}/gallery/{name}")
        assert [one.url for one in page.frames[1:]] == ["chrome-error://chromewebdata/"]


async def test_a_posted_form_leads_to_another_site(browser: Browser) -> None:
    """Chromium holds redirects after a form against `form-action`; the page in between does not count as one."""
    async with gallery() as url, gallery() as elsewhere:
        watched = watch(await browser.new_context(java_script_enabled=False))
        page = await watched.page()
        target = f"{elsewhere}/gallery/signed-out"
        form = f'<form method="post" action="/go-on?to={target}"><button>x</button></form>'
        await _with_form(page, f"{url}/gallery/consent", form)
        await page.click("button")
        await page.wait_for_url(target)
        watched.check(url, elsewhere)


async def _with_form(page: Page, url: str, form: str) -> None:
    """A page of ours with its own headers and another form."""

    async def changed(route: Any) -> None:
        answer = await route.fetch()
        body = re.sub(r"<form.*?</form>", lambda _: form, await answer.text(), flags=re.DOTALL)
        await route.fulfill(response=answer, body=body)

    await page.route(url, changed)
    await page.goto(url)


async def test_a_form_of_another_site_is_refused(browser: Browser) -> None:
    async with gallery() as url:
        page = await browser.new_page()
        form = f'<form method="post" action="{url}/go-on?to={url}/"><button>x</button></form>'
        await page.route("http://evil.test/", lambda route: route.fulfill(body=form, content_type="text/html"))
        await page.goto("http://evil.test/")
        async with page.expect_response("**/go-on?**") as answer:
            await page.click("button")
        assert (await answer.value).status == 403
        assert "another site" in await page.inner_text("main")


async def test_a_window_that_a_client_opened_can_still_answer_it(browser: Browser) -> None:
    """A web client waits for its window to come back; a page cut off from its opener would look closed to it."""
    async with gallery() as url, gallery() as client:
        page = await browser.new_page()
        await page.goto(f"{client}/gallery/signed-out")
        async with page.expect_popup() as opened:
            await page.evaluate(f"() => {{ window.opened = window.open('{url}/gallery/consent') }}")
        popup = await opened.value
        await popup.wait_for_load_state()
        assert await page.evaluate("() => window.opened.closed") is False
        assert await popup.evaluate("() => window.opener !== null")


async def test_by_keyboard_alone(browser: Browser) -> None:
    async with gallery() as url:
        page = await browser.new_page()
        await page.goto(f"{url}/gallery/consent")
        reached: list[str] = []
        for _ in range(4):
            await page.keyboard.press("Tab")
            reached.append(await page.evaluate("() => document.activeElement.textContent.trim()"))
            outline = await page.evaluate("() => getComputedStyle(document.activeElement).outlineWidth")
            assert outline == "2px", reached
        assert reached == ["Skip to the content", "Allow", "Deny", "Account"]


async def test_nothing_is_chosen_beforehand(browser: Browser) -> None:
    """A key pressed, or a click aimed at what lay there before, must not allow anything."""
    async with gallery() as url:
        page = await browser.new_page()
        await page.goto(f"{url}/gallery/consent")
        assert await page.evaluate("() => document.activeElement === document.body")
        assert CONSENT["client"] in await page.inner_text("h1")
