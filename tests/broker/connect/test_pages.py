"""What the pages of connecting say, and that it is so."""

import html
import re
from typing import Any

import httpx2
import pytest

from tests.broker.connect.connect_app import Browser, ConnectApp, parameters, provider_document, shown

BASE = {"openid", "offline_access"}


async def different_scopes(app: ConnectApp) -> None:
    """Let the shop and the till need different things of their one vendor."""
    document = provider_document(app.vendor)
    document["modules"]["till"] = {"reading": ["phone"], "writing": ["address"]}
    await app.provider(await app.tenant(), "vendor", document)


def form(page: httpx2.Response, action: str, number: int = 0) -> str:
    """One of the page's forms that are sent to this address."""
    found = re.findall(rf'<form method="post" action="{re.escape(action)}".*?</form>', page.text, re.DOTALL)
    return found[number]


def scopes_of(part: str) -> set[str]:
    """The scopes that a part of a page names."""
    return set(re.findall(r"openid|offline_access|email|profile|phone|address", re.sub(r"<input[^>]*>", "", part)))


def ticked(part: str) -> dict[str, str]:
    """What a form sends if nobody touches it."""
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', part))
    return fields | dict.fromkeys(re.findall(r'type="checkbox" name="([^"]+)" checked', part), "on")


async def scopes_asked(browser: Browser, module: str, fields: dict[str, str]) -> set[str]:
    return set(parameters(await browser.start(module, **fields))["scope"].split())


async def test_the_page_shows_all_that_is_asked_for_and_no_more(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["shop.*", "till.*"])
    await different_scopes(app)
    async with app.browser(ada) as browser:
        first = form(await browser.get("/connect/shop"), "/connect/shop")
        assert "also.till" in ticked(first)
        assert await scopes_asked(browser, "shop", ticked(first)) == scopes_of(first) == {*BASE, "email", "phone"}
        assert await scopes_asked(browser, "shop", {}) == {*BASE, "email"}
        # Writing in the shop is no reason to write at the till.
        await browser.connect("shop", writing="on")
        again = form(await browser.get("/connect/shop"), "/connect/shop")
        asked = await scopes_asked(browser, "shop", ticked(again))
        assert asked == scopes_of(again) == {*BASE, "email", "profile", "phone"}


async def test_what_uses_the_same_connection_is_asked_for_with_it(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["shop.*", "till.*"])
    await different_scopes(app)
    async with app.browser(ada) as browser:
        await browser.connect("shop", **{"also.till": "on"})
        page = await browser.get("/connect/shop")
        again, more = form(page, "/connect/shop"), form(page, "/connect/shop", 1)
        assert "These use the same connection" in again
        assert ticked(again) == {"provider": "vendor"}
        assert await scopes_asked(browser, "shop", ticked(again)) == scopes_of(again) == {*BASE, "email", "phone"}
        assert await scopes_asked(browser, "shop", ticked(more)) == {*BASE, "email", "phone", "profile"}
        await browser.connect("shop", **ticked(more))
        assert len(await app.accounts()) == 1
        assert len(await app.rows("SELECT DISTINCT account_id FROM vault.credentials")) == 1
        browser.http.headers["Accept-Language"] = "ja"
        assert "同じ接続を使うため" in shown(await browser.get("/connect/shop"))


async def test_what_is_connected_in_another_way_is_not_taken_along_unasked(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["shop.*", "till.*"])
    async with app.browser(ada) as browser:
        await browser.connect("till")
        part = form(await browser.get("/connect/shop"), "/connect/shop")
        assert ("also.till" in part, "also.till" in ticked(part)) == (True, False)
        assert "connected in another way" in part
        assert "Nothing more is asked for" in part


async def test_all_of_them_are_those_that_can_be_connected(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["shop:read", "till:read", "stall:read", "kiosk:read"])
    await app.execute("DELETE FROM vault.oauth_clients WHERE provider = 'other'")
    async with app.browser(ada) as browser:
        page = await browser.get("/connect")
        assert "Connect the 3 open ones" in shown(page)
        assert "Not set up yet" in shown(page)
        page = await browser.follow("/connect/-/all")
        assert ("/connect/kiosk" in str(page.url), "Service 1 of 3" in shown(page)) == (True, True)
        page = await browser.get(html.unescape(re.search(r'<a href="([^"]+)">Skip', page.text)[1]))  # type: ignore[index]
        assert "Service 2 of 3" in shown(page)
        fields = ticked(form(page, "/connect/shop"))
        assert fields["also.till"] == "on"
        page = await browser.connect(**fields)
        assert str(page.url).startswith(f"{app.url}/connect?"), "the till is connected by the same consent"
        assert "Shop is connected" in shown(page)
        assert "open ones" not in shown(page)
        app.shop.tokens["good-key"] = "Ada"
        await browser.follow("/connect/kiosk/key", key="good-key")
        page = await browser.follow("/connect/-/all")
        assert str(page.url) == f"{app.url}/connect", "there is nothing that could be connected"


async def test_an_address_that_says_that_something_was_done_is_not_believed(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["shop.*", "kiosk.*"])
    app.shop.tokens["good-key"] = "Ada"
    async with app.browser(ada) as browser:
        for path in (
            "/connect/kiosk?done=connected",
            "/connect/kiosk?done=connected_less",
            "/connect?done=connected&module=kiosk",
            "/connect/shop?after=kiosk&of=2&then=",
        ):
            assert "is connected" not in shown(await browser.get(path)), path
        page = await browser.follow("/connect/kiosk/key", key="good-key")
        assert "Kiosk is connected" in shown(page)
        for done in ("disconnected", "removed"):
            assert "is disconnected" not in shown(await browser.get(f"/connect/kiosk?done={done}"))
        assert "Kiosk is connected" in shown(await browser.get("/connect?done=connected&module=kiosk"))


@pytest.mark.parametrize("shared", [False, True])
async def test_the_question_of_another_account_names_what_it_is_about(app: ConnectApp, shared: bool) -> None:
    ada = await app.person("ada@acme.test", allow=["shop.*", "till.*"])
    boss = await app.person("boss@acme.test", admin=True)
    (role,) = await app.rows("SELECT id FROM core.roles WHERE name = $1", ada.email)
    fields: dict[str, Any] = {"also.till": "on"} | ({"role": str(role["id"])} if shared else {})
    async with app.browser(boss if shared else ada) as browser:
        await app.vendor.sign_in_as("first", email="first@vendor.test")
        await browser.connect(**fields)
        browser.leave_vendors()
        await app.vendor.sign_in_as("second", email="second@vendor.test")
        page = await browser.connect(**fields)
        assert "Shop, Till" in shown(page)
        assert ("every member of ada@acme.test" in shown(page)) == shared
        assert ("for ada@acme.test alone" in shown(page)) != shared
        first, second = re.findall(r'<button class="([^"]+)" name="decision" value="([^"]+)"', page.text)
        assert (first, second) == (("wide primary", "keep"), ("wide danger", "connect"))
        browser.http.headers["Accept-Language"] = "ja"
        assert ("ada@acme.test の全メンバーが新しいアカウント" in shown(await browser.get(str(page.url)))) == shared


async def test_problems_lead_to_the_services_and_not_to_a_sign_in(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        for path, status, words in (
            ("/connect/never_there", 404, "There is nothing to connect here"),
            ("/connect/-/question/4f9d1a5e-0000-4000-8000-000000000000", 404, "There is nothing left to decide"),
            ("/connect/-/session/4f9d1a5e-0000-4000-8000-000000000000", 404, "There is nothing to connect here"),
            ("/connect/callback/vendor?code=x&state=y", 403, "was not started in this browser"),
        ):
            page = await browser.get(path)
            assert (page.status_code, words in shown(page)) == (status, True), shown(page)
            assert '<a class="button wide" href="/connect">All services</a>' in page.text
            assert "sign in" not in shown(page)
        page = await browser.get("/account/never-there")
        assert '<a class="button wide" href="/account">Your account</a>' in page.text
        page = await browser.get("/sign-in/never-there")
        assert '<a class="button wide" href="/sign-in">Go to sign in</a>' in page.text


async def test_what_is_not_connected_is_said_once(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        assert "Shop Not connected Connect" in shown(await browser.get("/connect"))


async def test_an_administrator_sees_what_other_people_s_roles_share(app: ConnectApp) -> None:
    ada, bob = await app.person("ada@acme.test"), await app.person("bob@acme.test")
    boss = await app.person("boss@acme.test", admin=True, allow=["kiosk.*"])
    (role,) = await app.rows("SELECT id FROM core.roles WHERE name = $1", ada.email)
    here = f'href="/connect/shop?role={role["id"]}"'
    await app.vendor.sign_in_as("team", email="team@vendor.test")
    async with app.browser(boss) as browser:
        assert "What roles share" not in shown(await browser.get("/connect"))
        await browser.connect(role=str(role["id"]))
        page = await browser.get("/connect")
        assert "Shop for ada@acme.test connected Connected as team@vendor.test" in shown(page)
        assert here in page.text
        await app.execute("UPDATE vault.accounts SET status = 'needs_reauth', reason = 'revoked'")
        page = await browser.get("/connect")
        assert "Shop for ada@acme.test does not work" in shown(page)
        browser.http.headers["Accept-Language"] = "ja"
        assert "ロールが共有しているアカウント" in shown(await browser.get("/connect"))
    for person in (ada, bob):
        async with app.browser(person) as browser:
            page = await browser.get("/connect")
            assert ("What roles share" in shown(page), here in page.text) == (False, False)
    # A role that has lost the service shares it with nobody.
    await app.execute("DELETE FROM core.permissions WHERE role_id = $1", role["id"])
    async with app.browser(boss) as browser:
        assert "What roles share" not in shown(await browser.get("/connect"))


async def test_a_provider_that_no_service_uses_takes_no_app(app: ConnectApp) -> None:
    boss = await app.person("boss@acme.test", admin=True)
    asked = {"client_id": "made-up-41", "client_secret": "zq-made-up-42"}
    async with app.browser(boss) as browser:
        for provider in ("oidc", "oauth2"):
            url = f"{app.url}/api/v1/oauth-clients"
            answer = await browser.http.put(url, json=asked | {"provider": provider}, headers={"Origin": app.url})
            assert (answer.status_code, "mcpist provider add" in answer.text) == (400, True), answer.text
    assert await app.rows("SELECT FROM vault.oauth_clients WHERE provider IN ('oidc', 'oauth2')") == []
