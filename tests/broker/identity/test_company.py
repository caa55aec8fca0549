"""Sign-in at a real OpenID provider, and every answer that must not sign anybody in."""

import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio

from core.secret import Secret
from tests.broker.identity.browser import PUBLIC_URL, Browser, parameters
from tests.broker.identity.identity_app import IdentityApp, callback, house_on, oidc
from tests.broker.identity.people import ACTOR
from tests.support import directory
from tests.support.oauth_provider import OauthProvider, oauth_provider
from tests.support.postgres import ScratchDatabase

BOTH = [callback("company"), callback("other")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def company(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[OauthProvider]:
    async with oauth_provider(tmp_path_factory.mktemp("company"), redirect_uris=BOTH) as provider:
        yield provider


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def other(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[OauthProvider]:
    async with oauth_provider(tmp_path_factory.mktemp("other"), redirect_uris=BOTH) as provider:
        yield provider


@pytest.fixture
async def app(database: ScratchDatabase, company: OauthProvider, other: OauthProvider) -> AsyncIterator[IdentityApp]:
    for provider in (company, other):
        await provider.control({"set": {"denyConsent": False}, "faults": []})
        await provider.sign_in_as("ada@acme.test", name="Ada")
    settings = [
        oidc(one.issuer, one.client_id, one.client_secret, name)
        for name, one in (("company", company), ("other", other))
    ]
    async with house_on(database, settings) as made:
        await made.people.tenant("acme", "@acme.test")
        yield made


@pytest.fixture
async def browser(app: IdentityApp) -> AsyncIterator[Browser]:
    async with app.browser() as made:
        yield made


def set_cookies(response: httpx2.Response) -> list[str]:
    return response.headers.get_list("set-cookie")


async def reasons(app: IdentityApp) -> list[object]:
    """Why sign-ins were refused, as the deployment's audit log says."""
    return [(event.detail or {})["reason"] for event in await app.people.events("sign_in.refused")]


async def test_the_way_in(app: IdentityApp, browser: Browser) -> None:
    page = await browser.get("/sign-in?next=/account")
    assert "Company" in page.text
    page = await browser.post("/sign-in/start", provider="company", next="/account")
    assert (page.status_code, str(page.url)) == (200, f"{PUBLIC_URL}/account")
    assert "ada@acme.test" in page.text
    assert await app.signed_in_as(browser) == "ada@acme.test"
    assert set(browser.cookies) == {"__Host-mcpist-session"}  # the flow's is gone
    [asked] = [parameters(url) for url in browser.trail if "/auth?" in url]
    assert asked["redirect_uri"] == callback("company")
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    assert {"state", "nonce", "code_challenge"} <= asked.keys()


async def test_what_the_session_cookie_is(app: IdentityApp, browser: Browser) -> None:
    url = await browser.answer(await browser.start())
    response = await browser.http.get(url)
    assert response.status_code == 303
    assert response.headers["location"] == "/account"
    [cookie] = [one for one in set_cookies(response) if "session" in one]
    assert cookie.startswith("__Host-mcpist-session=")
    for attribute in ("; HttpOnly", "; Secure", "; Path=/", "; SameSite=lax"):
        assert attribute in cookie
    assert "Domain" not in cookie


async def test_nothing_that_is_stored_of_a_sign_in_is_secret(app: IdentityApp, browser: Browser) -> None:
    url = await browser.start()
    stored = str(await app.people.value("SELECT string_agg(s::text, ' ') FROM auth.sign_ins s"))
    flow = browser.cookies["__Host-mcpist-flow"]
    for secret in (flow, parameters(url)["state"], parameters(url)["nonce"]):
        assert secret not in stored
    assert flow not in url


async def test_the_person_says_no(app: IdentityApp, browser: Browser, company: OauthProvider) -> None:
    await company.control({"set": {"denyConsent": True}})
    page = await browser.post("/sign-in/start", provider="company")
    assert page.status_code == 403
    assert "You did not sign in" in page.text
    assert "the user said no" not in page.text  # what the provider says is never shown
    assert await reasons(app) == ["denied"]
    assert await app.signed_in_as(browser) == ""


async def test_an_address_that_is_not_listed(app: IdentityApp, browser: Browser, company: OauthProvider) -> None:
    await company.sign_in_as("eve@elsewhere.test")
    page = await browser.post("/sign-in/start", provider="company")
    assert page.status_code == 403
    assert "eve@elsewhere.test" in page.text
    assert "administrator" in page.text
    [event] = await app.people.events("sign_in.refused")
    assert (event.actor, event.outcome) == ("eve@elsewhere.test", "denied")
    assert event.detail == {
        "method": "company",
        "reason": "not_listed",
        "address": "192.0.2.7",
        "email": "eve@elsewhere.test",
    }
    assert await app.people.value("SELECT count(*) FROM core.users") == 0


@pytest.mark.parametrize("verified", [False, None, "false", 1, "yes"])
async def test_an_address_that_is_not_verified(
    app: IdentityApp, browser: Browser, company: OauthProvider, verified: object
) -> None:
    await company.sign_in_as("mallory", email="ada@acme.test", email_verified=verified)
    page = await browser.post("/sign-in/start", provider="company")
    assert "Your address is not verified" in page.text
    assert await app.signed_in_as(browser) == ""


async def test_a_suspended_person(app: IdentityApp, browser: Browser) -> None:
    await browser.post("/sign-in/start", provider="company")
    [tenant_id] = [await app.people.value("SELECT tenant_id FROM core.users")]
    await directory.set_status(app.people.console, ACTOR, tenant_id, "ada@acme.test", "suspended")  # type: ignore[arg-type]
    assert await app.signed_in_as(browser) == ""
    page = await browser.post("/sign-in/start", provider="company")
    assert "Your access is suspended" in page.text
    assert len(await app.people.events("sign_in.refused", tenant_id)) == 1  # type: ignore[arg-type]


async def test_an_answer_counts_once(app: IdentityApp, browser: Browser) -> None:
    url = await browser.answer(await browser.start())
    flow = browser.cookies["__Host-mcpist-flow"]
    assert (await browser.http.get(url)).status_code == 303
    browser.http.cookies.clear()
    for headers in ({}, {"Cookie": f"__Host-mcpist-flow={flow}"}):
        response = await browser.http.get(url, headers=headers)
        assert response.status_code in (403, 410)
        assert not [one for one in set_cookies(response) if "session=" in one]
    assert await reasons(app) == ["state", "used or expired state"]


async def test_login_csrf_by_an_answer_for_another_browser(app: IdentityApp, browser: Browser) -> None:
    """Eve finishes at the provider and sends the address to Ada, who would work in Eve's account from then on."""
    async with app.browser("192.0.2.66") as eve:
        url = await eve.answer(await eve.start())
    plain = await browser.http.get(url)  # Ada has no flow cookie
    await browser.start()
    with_hers = await browser.http.get(url)  # or that of a sign-in of her own
    for response in (plain, with_hers):
        assert response.status_code == 403
        assert "started in another browser" in response.text
        assert not [one for one in set_cookies(response) if "session=" in one]
    assert await reasons(app) == ["state", "state"]


async def test_a_sign_in_takes_ten_minutes_at_most(app: IdentityApp, browser: Browser) -> None:
    url = await browser.answer(await browser.start())
    app.clock.ahead = timedelta(minutes=10, seconds=1)
    response = await browser.http.get(url)
    assert response.status_code == 410
    assert "This step has expired" in response.text


async def test_mix_up(app: IdentityApp, browser: Browser, company: OauthProvider, other: OauthProvider) -> None:
    """An answer of one provider, brought to where the other's are expected, in every way it could be."""
    ours = await browser.answer(await browser.start("company"))
    moved = await browser.http.get(ours.replace("/callback/company", "/callback/other"))
    assert (moved.status_code, "another browser" in moved.text) == (403, True)
    # The state is right, and everything else is the other provider's: what a malicious provider would bring about.
    url = await browser.start("other")
    state = parameters(url)["state"]
    theirs = parameters(await browser.answer(await Browser(browser.http).start("company")))
    await browser.http.get(f"{PUBLIC_URL}/sign-in")
    url = await browser.start("other")
    state = parameters(url)["state"]
    crossed = httpx2.QueryParams({**theirs, "state": state})
    response = await browser.http.get(f"{callback('other')}?{crossed}")
    assert response.status_code == 403
    assert await reasons(app) == ["state", "answer of another issuer"]
    assert (await other.told())["counters"].get("asked:authorization_code", 0) == 0  # the code went nowhere


@pytest.mark.parametrize("iss", [None, "https://evil.test", "company/", "COMPANY"])
@pytest.mark.parametrize("failed", [False, True])
async def test_the_issuer_of_an_answer(
    app: IdentityApp, browser: Browser, company: OauthProvider, iss: str | None, failed: bool
) -> None:
    asked = parameters(await browser.answer(await browser.start()))
    assert asked.pop("iss") == company.issuer
    if iss is not None:
        asked["iss"] = {"company/": company.issuer + "/", "COMPANY": company.issuer.upper()}.get(iss, iss)
    if failed:
        asked.pop("code")
        asked |= {"error": "access_denied", "error_description": "<b>call 555-EVIL</b>"}
    response = await browser.http.get(f"{callback()}?{httpx2.QueryParams(asked)}")
    assert response.status_code == 403
    assert "555-EVIL" not in response.text
    assert "did not confirm who you are" in response.text
    assert await reasons(app) == ["answer without iss" if iss is None else "answer of another issuer"]


@pytest.mark.parametrize("nonce", [None, "", "n" * 43, "the one of another sign-in", "right"])
async def test_the_nonce_of_an_id_token(
    app: IdentityApp, browser: Browser, company: OauthProvider, nonce: str | None
) -> None:
    """All else is right: the browser's state and code, and a token that the provider has signed for us just now."""
    url = await browser.start()
    asked = parameters(url)
    async with app.browser("192.0.2.66") as eve:
        hers = parameters(await eve.start())["nonce"]
    given = {"right": asked["nonce"], "the one of another sign-in": hers}.get(nonce or "", nonce)
    del asked["nonce"]
    changed = asked if given is None else {**asked, "nonce": given}
    before = (await company.told())["counters"].get("granted:authorization_code", 0)
    response = await browser.http.get(await browser.answer(f"{url.partition('?')[0]}?{httpx2.QueryParams(changed)}"))
    assert (await company.told())["counters"]["granted:authorization_code"] == before + 1
    if nonce == "right":
        assert response.status_code == 303
        assert await app.signed_in_as(browser) == "ada@acme.test"
        return
    assert response.status_code == 403
    assert await reasons(app) == ["id_token nonce"]
    assert await app.signed_in_as(browser) == ""


async def test_code_injection(app: IdentityApp, browser: Browser, company: OauthProvider) -> None:
    """A code of Eve's sign-in in Ada's: the verifier is another, and so is the nonce."""
    async with app.browser("192.0.2.66") as eve:
        stolen = parameters(await eve.answer(await eve.start()))["code"]
    asked = parameters(await browser.answer(await browser.start())) | {"code": stolen}
    response = await browser.http.get(f"{callback()}?{httpx2.QueryParams(asked)}")
    assert response.status_code == 403
    assert await reasons(app) == ["token"]


async def test_an_answer_with_a_parameter_twice(app: IdentityApp, browser: Browser) -> None:
    url = await browser.answer(await browser.start())
    response = await browser.http.get(f"{url}&code=another")
    assert response.status_code == 400
    assert (await browser.http.get(url)).status_code == 303  # and it has cost nobody their sign-in


async def test_a_provider_that_is_not_ours(browser: Browser) -> None:
    assert (await browser.send("/sign-in/start", provider="google")).status_code == 404
    assert (await browser.get("/sign-in/callback/google?state=x")).status_code == 404


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "hang_up_before"},
        {"kind": "status", "status": 503},
        {"kind": "status", "status": 400, "body": {"error": "invalid_client", "error_description": "EVIL TEXT"}},
        {"kind": "status", "status": 302, "headers": {"location": "http://127.0.0.1:1/"}},
        {"kind": "garbage", "body": "<html>EVIL TEXT</html>"},
        {"kind": "garbage", "body": "[" * 100_000},
        {"kind": "garbage", "body": '{"access_token": "x", "token_type": "Bearer"}'},
        {"kind": "garbage", "body": '{"id_token": 5}'},
        {"kind": "garbage", "body": '{"x": "' + "x" * 300_000 + '"}'},
    ],
    ids=lambda fault: "-".join(str(value)[:20] for value in fault.values()),
)
async def test_a_token_endpoint_that_misbehaves(
    app: IdentityApp, browser: Browser, company: OauthProvider, fault: dict[str, object]
) -> None:
    await company.control({"faults": [{"grant": "authorization_code", **fault}]})
    page = await browser.post("/sign-in/start", provider="company")
    assert page.status_code in (403, 503)
    assert "EVIL" not in page.text
    assert "Company" in page.text
    assert await app.signed_in_as(browser) == ""
    page = await browser.post("/sign-in/start", provider="company")  # the next try succeeds
    assert await app.signed_in_as(browser) == "ada@acme.test"


async def test_several_tenants(app: IdentityApp, browser: Browser) -> None:
    other = await app.people.tenant("other", "ada@acme.test")
    await app.people.tenant("third", "bob@acme.test")
    page = await browser.post("/sign-in/start", provider="company", next="/account?x=1")
    assert str(page.url) == f"{PUBLIC_URL}/sign-in/tenant"
    assert ("Acme" in page.text, "Other" in page.text, "Third" in page.text) == (True, True, False)
    assert await app.signed_in_as(browser) == ""
    third = await app.people.value("SELECT tenant_id FROM core.tenants WHERE slug = 'third'")
    refused = await browser.send("/sign-in/tenant", tenant=str(third))
    assert refused.status_code == 403
    await browser.post("/sign-in/start", provider="company", next="/account?x=1")
    flow = browser.cookies["__Host-mcpist-flow"]
    page = await browser.post("/sign-in/tenant", tenant=str(other))
    assert str(page.url) == f"{PUBLIC_URL}/account?x=1"
    assert await app.signed_in_as(browser) == "ada@acme.test"
    browser.http.cookies.clear()
    browser.http.cookies.set("__Host-mcpist-flow", flow, domain="mcpist.test")
    assert (await browser.send("/sign-in/tenant", tenant=str(other))).status_code == 410  # once
    assert (await browser.get("/sign-in/tenant")).status_code == 410


async def test_a_preset_session_is_never_adopted(app: IdentityApp, browser: Browser) -> None:
    """Eve plants her own cookie before Ada signs in: Ada gets a new session, and Eve's ends."""
    async with app.browser("192.0.2.66") as eve:
        await app.people.tenant("hers", "eve@elsewhere.test")
        tenant_id = await app.people.value("SELECT tenant_id FROM core.tenants WHERE slug = 'hers'")
        user_id = await app.people.user(tenant_id, "eve@elsewhere.test")  # type: ignore[arg-type]
        planted = (await app.people.sessions.begin(tenant_id, user_id, "link")).reveal()  # type: ignore[arg-type]
        eve.http.cookies.set("__Host-mcpist-session", planted, domain="mcpist.test")
        browser.http.cookies.set("__Host-mcpist-session", planted, domain="mcpist.test")
        assert await app.signed_in_as(eve) == await app.signed_in_as(browser) == "eve@elsewhere.test"
        await browser.post("/sign-in/start", provider="company")
        assert await app.signed_in_as(browser) == "ada@acme.test"
        assert await app.signed_in_as(eve) == ""
    cookies = [one.value for one in browser.http.cookies.jar if one.name == "__Host-mcpist-session"]
    assert any(value != planted for value in cookies)
    assert await app.people.sessions.find(Secret(planted)) is None


async def test_next_leads_nowhere_else(app: IdentityApp, browser: Browser) -> None:
    for asked in ("https://evil.test", "//evil.test", "/\\evil.test", "/account\r\nx: y"):
        page = await browser.post("/sign-in/start", provider="company", next=asked)
        assert str(page.url) == f"{PUBLIC_URL}/account"
        page = await browser.get(f"/sign-in?{httpx2.QueryParams({'next': asked})}")
        assert "evil" not in page.text


async def test_signing_out_kills_copies_of_the_cookie(app: IdentityApp, browser: Browser) -> None:
    await browser.post("/sign-in/start", provider="company")
    copied = browser.cookies["__Host-mcpist-session"]
    page = await browser.post("/sign-out")
    assert str(page.url) == f"{PUBLIC_URL}/signed-out"
    assert browser.cookies == {}
    assert await app.people.sessions.find(Secret(copied)) is None
    assert str((await browser.get("/account")).url).startswith(f"{PUBLIC_URL}/sign-in?next=")


@pytest.mark.parametrize(
    "path",
    ["/sign-in/start", "/sign-in/tenant", "/sign-in/link", "/sign-out", "/account/sessions/end", "/account/grants/end",
     "/account/identities/tie"],
)  # fmt: skip
async def test_forms_of_other_sites(app: IdentityApp, browser: Browser, path: str) -> None:
    await browser.post("/sign-in/start", provider="company")
    for headers in ({"Origin": "https://evil.test"}, {"Origin": "null"}, {}, {"Sec-Fetch-Site": "cross-site"}):
        response = await browser.http.post(f"{PUBLIC_URL}{path}", data={"provider": "company"}, headers=headers)
        assert response.status_code == 403, headers
    assert await app.signed_in_as(browser) == "ada@acme.test"


async def test_too_many_starts_from_one_address(app: IdentityApp, browser: Browser) -> None:
    began, sent = time.monotonic(), 0
    while (await browser.send("/sign-in/start", provider="company")).status_code == 200:
        sent += 1
        assert sent <= 101 + time.monotonic() - began, "a hundred at once, and one a second after that"
    assert sent >= 100
    async with app.browser("192.0.2.8") as elsewhere:
        await elsewhere.start()


async def test_a_provider_that_is_away(database: ScratchDatabase, tmp_path: Path) -> None:
    async with house_on(database, [oidc("http://127.0.0.1:1", "x", "y")]) as app, app.browser() as browser:
        response = await browser.send("/sign-in/start", provider="company")
        assert response.status_code == 503
        assert "cannot be reached" in response.text
