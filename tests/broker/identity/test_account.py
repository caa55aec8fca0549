"""One's own account in the browser, and one-time links there."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from core.secret import Secret
from tests.broker.identity.browser import PUBLIC_URL, Browser, going_on
from tests.broker.identity.identity_app import IdentityApp, RealClock, callback, house_on
from tests.broker.identity.people import ACTOR, account
from tests.broker.identity.vendors import CLIENT_ID, CLIENT_SECRET, GitHubVendor, serving
from tests.support.postgres import ScratchDatabase

SESSION = "__Host-mcpist-session"
CONTACT = "it-help@acme.test"


@pytest.fixture
async def github() -> AsyncIterator[GitHubVendor]:
    emails = [{"email": "ada@home.test", "primary": True, "verified": True}]
    vendor = GitHubVendor(callback("github"), emails=emails)
    async with serving(vendor):
        vendor.now = RealClock()
        yield vendor


@pytest.fixture
async def app(database: ScratchDatabase, github: GitHubVendor) -> AsyncIterator[IdentityApp]:
    settings: dict[str, Any] = {
        "id": "github",
        "kind": "github",
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "base_url": github.origin,
        "api_url": f"{github.origin}/api",
    }
    async with house_on(database, [settings], contact=CONTACT) as made:
        yield made


@pytest.fixture
async def browser(app: IdentityApp) -> AsyncIterator[Browser]:
    async with app.browser() as made:
        yield made


async def ada(app: IdentityApp) -> tuple[UUID, UUID]:
    tenant_id = await app.people.tenant("acme")
    return tenant_id, await app.people.user(tenant_id, "ada@acme.test")


async def by_link(app: IdentityApp, browser: Browser, tenant_id: UUID, user_id: UUID) -> httpx2.Response:
    """Sign in by a one-time link, as from a terminal."""
    code = await app.people.door.links.create(ACTOR, tenant_id, user_id)
    page = await browser.get(f"/sign-in/link?code={code.reveal()}")
    assert page.status_code == 200
    return await browser.post("/sign-in/link", code=code.reveal(), next="/account")


async def test_a_link_shows_whom_it_is_for_and_signs_in_at_the_press_of_a_button(
    app: IdentityApp, browser: Browser
) -> None:
    tenant_id, user_id = await ada(app)
    code = (await app.people.door.links.create(ACTOR, tenant_id, user_id)).reveal()
    for _ in range(3):  # whoever looks ahead of the person uses nothing up
        page = await browser.get(f"/sign-in/link?code={code}")
        assert "ada@acme.test" in page.text
        assert await app.signed_in_as(browser) == ""
    assert page.headers["referrer-policy"] in ("same-origin", "no-referrer")
    page = await browser.post("/sign-in/link", code=code, next="https://evil.test")
    assert str(page.url) == f"{PUBLIC_URL}/account"
    assert await app.signed_in_as(browser) == "ada@acme.test"
    again = await browser.post("/sign-in/link", code=code)
    assert (again.status_code, "no longer works" in again.text) == (410, True)
    assert (await browser.get(f"/sign-in/link?code={code}")).status_code == 410
    assert [(event.detail or {})["reason"] for event in await app.people.events("sign_in.refused")] == ["link_used"]


async def test_signing_in_at_a_provider_through_a_link_links_the_account(app: IdentityApp, browser: Browser) -> None:
    tenant_id, user_id = await ada(app)
    code = (await app.people.door.links.create(ACTOR, tenant_id, user_id)).reveal()
    page = await browser.get(f"/sign-in/link?code={code}&next=/console%3Fstart%3Dname")
    assert 'name="provider" value="github"' in page.text
    asked = await browser.send("/sign-in/link", code=code, provider="github", next="/console?start=name")
    assert await app.signed_in_as(browser) == "ada@acme.test", "the link has, whatever becomes of the account"
    back = await browser.http.get(await browser.answer(going_on(asked)))
    assert (back.status_code, back.headers["location"]) == (303, "/console?start=name")
    [identity] = await app.people.door.identities.list(tenant_id, user_id)
    assert identity.email == "ada@home.test"
    async with app.browser() as another:  # and nobody has let that address in otherwise
        await another.post("/sign-in/start", provider="github")
        assert await app.signed_in_as(another) == "ada@acme.test"
    # Whoever has an account is offered none: a link that somebody sends them shall not be a trap for another one.
    code = (await app.people.door.links.create(ACTOR, tenant_id, user_id)).reveal()
    assert "github" not in (await browser.get(f"/sign-in/link?code={code}")).text


@pytest.mark.parametrize(("provider", "status"), [("nowhere", 404), ("", 404)])
async def test_a_link_counts_though_its_provider_does_not(
    app: IdentityApp, browser: Browser, provider: str, status: int
) -> None:
    tenant_id, user_id = await ada(app)
    code = (await app.people.door.links.create(ACTOR, tenant_id, user_id)).reveal()
    assert (await browser.send("/sign-in/link", code=code, provider=provider)).status_code == status
    assert await app.signed_in_as(browser) == "ada@acme.test"
    assert await app.people.door.identities.list(tenant_id, user_id) == []


async def test_a_link_ends_the_session_that_was_there(app: IdentityApp, browser: Browser) -> None:
    tenant_id, user_id = await ada(app)
    bob = await app.people.user(tenant_id, "bob@acme.test")
    await by_link(app, browser, tenant_id, bob)
    before = browser.cookies[SESSION]
    await by_link(app, browser, tenant_id, user_id)
    assert browser.cookies[SESSION] != before
    assert await app.people.sessions.find(Secret(before)) is None


async def test_wrong_links_have_an_end(app: IdentityApp, browser: Browser) -> None:
    statuses = [(await browser.get(f"/sign-in/link?code={number:043}")).status_code for number in range(25)]
    assert set(statuses[:20]) == {410}
    assert statuses[-1] == 429


async def test_ending_sessions_elsewhere_but_only_one_s_own(app: IdentityApp, browser: Browser) -> None:
    tenant_id, user_id = await ada(app)
    await by_link(app, browser, tenant_id, user_id)
    bob = await app.people.user(tenant_id, "bob@acme.test")
    his = await app.people.sessions.begin(tenant_id, bob, "link")
    other = await app.people.sessions.begin(tenant_id, user_id, "link", "198.51.100.9", "Lynx/2.9")
    page = await browser.get("/account")
    assert "198.51.100.9" in page.text
    assert "Lynx" in page.text
    [mine, bobs] = [await app.people.sessions.find(secret) for secret in (other, his)]
    assert mine is not None
    assert bobs is not None
    page = await browser.post("/account/sessions/end", id=str(mine.id))
    assert "That session has ended" in page.text
    assert await app.people.sessions.find(other) is None
    for wrong in (str(bobs.id), str(mine.id), "x", ""):
        assert (await browser.send("/account/sessions/end", id=wrong)).status_code == 404
    assert await app.people.sessions.find(his) is not None
    assert (await browser.send("/account/grants/end", id=str(mine.id))).status_code == 404


async def test_signing_out_everywhere(app: IdentityApp, browser: Browser) -> None:
    tenant_id, user_id = await ada(app)
    await by_link(app, browser, tenant_id, user_id)
    bob = await app.people.user(tenant_id, "bob@acme.test")
    his = await app.people.sessions.begin(tenant_id, bob, "link")
    hers = [await app.people.sessions.begin(tenant_id, user_id, "link") for _ in range(3)]
    hers.append(Secret(browser.cookies[SESSION]))
    page = await browser.post("/account/sessions/end-all")
    assert (str(page.url), "You are signed out" in page.text) == (f"{PUBLIC_URL}/signed-out", True)
    assert SESSION not in browser.cookies
    assert [await app.people.sessions.find(one) for one in hers] == [None] * 4
    assert await app.people.sessions.find(his) is not None


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/account"), ("POST", "/account/sessions/end"), ("POST", "/account/grants/end"),
     ("POST", "/account/sessions/end-all"), ("POST", "/account/identities/tie"),
     ("POST", "/account/identities/untie")],
)  # fmt: skip
async def test_without_a_session_there_is_only_the_way_to_sign_in(browser: Browser, method: str, path: str) -> None:
    if method == "GET":
        response = await browser.http.get(PUBLIC_URL + path)
    else:
        response = await browser.send(path, id="x", provider="github")
    assert response.status_code == 303
    assert response.headers["location"] == "/sign-in?next=%2Faccount"


async def test_tying_one_more_account(app: IdentityApp, browser: Browser, github: GitHubVendor) -> None:
    tenant_id, user_id = await ada(app)
    await by_link(app, browser, tenant_id, user_id)
    session = browser.cookies[SESSION]
    page = await browser.post("/account/identities/tie", provider="github")
    assert str(page.url) == f"{PUBLIC_URL}/account?done=account_tied"
    assert "ada@home.test" in page.text
    assert browser.cookies == {SESSION: session}
    [event] = await app.people.events("identity.linked", tenant_id)
    assert (event.actor, event.user_id) == ("ada@acme.test", user_id)
    async with app.browser() as elsewhere:  # and from then on it signs her in, with another address than her user's
        await elsewhere.post("/sign-in/start", provider="github")
        assert await app.signed_in_as(elsewhere) == "ada@acme.test"


async def test_tying_takes_a_recent_sign_in(app: IdentityApp, browser: Browser) -> None:
    tenant_id, user_id = await ada(app)
    await by_link(app, browser, tenant_id, user_id)
    app.clock.ahead = timedelta(minutes=10)
    response = await browser.send("/account/identities/tie", provider="github")
    assert response.headers["location"] == "/sign-in?next=%2Faccount&notice=recent"
    assert (await browser.get("/account")).status_code == 200


async def test_an_account_is_untied_but_never_the_last(app: IdentityApp, browser: Browser) -> None:
    tenant_id, user_id = await ada(app)
    bob = await app.people.user(tenant_id, "bob@acme.test")
    await app.people.door.identities.link(ACTOR, tenant_id, bob, account("bob@home.test"))
    await by_link(app, browser, tenant_id, user_id)
    await browser.post("/account/identities/tie", provider="github")
    page = await browser.get("/account")
    assert "/account/identities/untie" not in page.text, "the only one has no button"
    await app.people.door.identities.link(ACTOR, tenant_id, user_id, account("ada@work.test"))
    page = await browser.get("/account")
    assert page.text.count('action="/account/identities/untie"') == 2
    (his,) = await app.people.door.identities.list(tenant_id, bob)
    hers = {one.email: str(one.id) for one in await app.people.door.identities.list(tenant_id, user_id)}
    for wrong in (str(his.id), "x", ""):
        assert (await browser.send("/account/identities/untie", id=wrong)).status_code == 404
    page = await browser.post("/account/identities/untie", id=hers["ada@home.test"])
    assert "can no longer sign in with that account" in page.text
    assert "ada@home.test" not in page.text
    assert (await browser.send("/account/identities/untie", id=hers["ada@work.test"])).status_code == 409
    assert len(await app.people.door.identities.list(tenant_id, bob)) == 1
    async with app.browser() as elsewhere:
        await elsewhere.post("/sign-in/start", provider="github")
        assert await app.signed_in_as(elsewhere) == ""


async def test_untying_takes_a_recent_sign_in(app: IdentityApp, browser: Browser) -> None:
    tenant_id, user_id = await ada(app)
    for address in ("ada@home.test", "ada@work.test"):
        await app.people.door.identities.link(ACTOR, tenant_id, user_id, account(address))
    await by_link(app, browser, tenant_id, user_id)
    app.clock.ahead = timedelta(minutes=10)
    (one, _) = await app.people.door.identities.list(tenant_id, user_id)
    response = await browser.send("/account/identities/untie", id=str(one.id))
    assert response.headers["location"] == "/sign-in?next=%2Faccount&notice=recent"
    assert len(await app.people.door.identities.list(tenant_id, user_id)) == 2


@pytest.mark.parametrize(("language", "text"), [("en", "Contact:"), ("ja", "連絡先:")])
async def test_who_is_refused_reads_whom_to_ask(app: IdentityApp, browser: Browser, language: str, text: str) -> None:
    browser.http.headers["accept-language"] = language
    page = await browser.post("/sign-in/start", provider="github")
    assert (page.status_code, text in page.text) == (403, True)
    assert f'<a href="mailto:{CONTACT}">{CONTACT}</a>' in page.text
    await app.people.tenant("acme", "@home.test")
    await browser.post("/sign-in/start", provider="github")
    await app.people.execute("UPDATE core.users SET status = 'suspended'")
    page = await browser.post("/sign-in/start", provider="github")
    assert page.status_code == 403
    assert f'<a href="mailto:{CONTACT}">{CONTACT}</a>' in page.text


async def test_whoever_starts_tying_finishes_it(app: IdentityApp, browser: Browser) -> None:
    tenant_id, user_id = await ada(app)
    bob = await app.people.user(tenant_id, "bob@acme.test")
    await by_link(app, browser, tenant_id, user_id)
    url = await browser.answer(going_on(await browser.send("/account/identities/tie", provider="github")))
    hers = browser.cookies[SESSION]
    his = (await app.people.sessions.begin(tenant_id, bob, "link")).reveal()
    flow = browser.cookies["__Host-mcpist-flow"]
    browser.http.cookies.clear()
    response = await browser.http.get(url, headers={"Cookie": f"__Host-mcpist-flow={flow}; {SESSION}={his}"})
    assert (response.status_code, "another browser" in response.text) == (403, True)
    response = await browser.http.get(url, headers={"Cookie": f"__Host-mcpist-flow={flow}; {SESSION}={hers}"})
    assert response.status_code == 410  # it has been used up by the attempt
    assert await app.people.value("SELECT count(*) FROM auth.identities") == 0


async def test_an_account_that_is_somebody_else_s(app: IdentityApp, browser: Browser) -> None:
    tenant_id, user_id = await ada(app)
    bob = await app.people.user(tenant_id, "bob@acme.test")
    await by_link(app, browser, tenant_id, user_id)
    await browser.post("/account/identities/tie", provider="github")
    await by_link(app, browser, tenant_id, bob)
    page = await browser.post("/account/identities/tie", provider="github")
    assert (page.status_code, "That account is linked to another user" in page.text) == (403, True)


async def test_a_second_account_of_the_same_address_is_told_what_to_do(
    app: IdentityApp, browser: Browser, github: GitHubVendor
) -> None:
    tenant_id = await app.people.tenant("acme", "@home.test")
    await browser.post("/sign-in/start", provider="github")
    assert await app.signed_in_as(browser) == "ada@home.test"
    github.user = {"id": 7, "login": "eve"}
    async with app.browser() as eve:
        page = await eve.post("/sign-in/start", provider="github")
        assert "another account" in page.text
        assert await app.signed_in_as(eve) == ""
    assert len(await app.people.events("sign_in.refused", tenant_id)) == 1


@pytest.mark.parametrize("notice", ["recent", "session_ended", "<script>", "__class__", "lead"])
async def test_notices_are_from_a_list(browser: Browser, notice: str) -> None:
    page = await browser.get(f"/sign-in?{httpx2.QueryParams({'notice': notice, 'next': '/account'})}")
    assert page.status_code == 200
    assert "<script>" not in page.text
