"""Connect sessions: a program begins one and follows it, a person goes through its link."""

import html
import re
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from tests.broker.connect.connect_app import Browser, ConnectApp, shown

THREE = ["shop:read", "till:read", "stall:read"]


async def api(browser: Browser, method: str, path: str = "", **options: Any) -> httpx2.Response:
    headers = {"Origin": browser.url, **options.pop("headers", {})}
    return await browser.http.request(
        method, f"{browser.url}/api/v1/connect-sessions{path}", headers=headers, **options
    )


async def started(browser: Browser, key: str = "", **asked: Any) -> dict[str, Any]:
    answer = await api(browser, "POST", json=asked, headers={"Idempotency-Key": key} if key else {})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def told(browser: Browser, session: dict[str, Any]) -> tuple[str, list[tuple[str, ...]]]:
    found = (await api(browser, "GET", f"/{session['id']}")).json()
    return found["state"], [(one["module"], one["state"], one["cause"]) for one in found["services"]]


def skip_of(page: httpx2.Response) -> str:
    found = re.search(r'<a href="([^"]+)">Skip', page.text)
    assert found
    return html.unescape(found[1])


def queue_of(page: httpx2.Response) -> dict[str, str]:
    """The hidden fields by which a page goes on."""
    fields = dict(re.findall(r'<input type="hidden" name="([a-z]+)" value="([^"]*)">', page.text))
    return {name: fields[name] for name in ("then", "of", "session", "role") if name in fields}


async def test_a_session_for_all_from_its_link_to_its_end(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=THREE)
    async with app.browser(ada) as browser:
        session = await started(browser, return_path="/account")
        assert session["url"] == f"{app.url}/connect/-/session/{session['id']}"
        waiting = [(name, "waiting", "") for name in ("shop", "stall", "till")]
        assert await told(browser, session) == ("open", waiting)
        page = await browser.get(session["url"])
        assert "Service 1 of 3" in shown(page)
        page = await browser.get(skip_of(page))
        assert "Service 2 of 3" in shown(page)
        page = await browser.connect("stall", "other", **queue_of(page))
        assert "Stall is connected" in shown(page)
        assert "Service 3 of 3" in shown(page)
        assert await told(browser, session) == ("open", [waiting[0], ("stall", "done", ""), waiting[2]])
        page = await browser.connect("till", **queue_of(page))
        assert str(page.url) == f"{app.url}/account", "what was skipped is not asked for again by itself"
        assert (await browser.get(session["url"])).url.path == "/connect/shop"
        await browser.connect("shop", **queue_of(page))
        state, services = await told(browser, session)
        assert (state, {one[1] for one in services}) == ("done", {"done"})
        page = await browser.get(session["url"])
        assert str(page.url) == f"{app.url}/account"
        assert (await started(browser))["state"] == "done", "nothing needs it any more"
        events = await app.product.events(app.tenants["acme"], "connect.started")
        assert (events[0].detail or {})["session"] == session["id"]


async def test_what_fails_has_its_cause_and_may_be_tried_again(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=THREE)
    async with app.browser(ada) as browser:
        session = await started(browser, services=["shop"])
        page = await browser.get(session["url"])
        back = await browser.consent(await browser.start("shop", **queue_of(page)))
        state = re.search(r"state=([^&]+)", back)
        assert state
        declined = f"/connect/callback/vendor?error=access_denied&state={state[1]}&iss={app.vendor.issuer}"
        await browser.get(declined)
        assert await told(browser, session) == ("failed", [("shop", "failed", "declined")])
        back = await browser.consent(await browser.start("shop"))
        await browser.get(re.sub(r"code=[^&]+", "code=made-up", back))
        assert await told(browser, session) == ("failed", [("shop", "failed", "connect_code")])
        await browser.connect("shop")
        assert await told(browser, session) == ("done", [("shop", "done", "")])


async def test_again_wants_a_new_connection(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=THREE)
    async with app.browser(ada) as browser:
        await browser.connect("shop")
        at_hand = await started(browser, services=["shop"])
        assert (at_hand["state"], at_hand["services"][0]["account"]) == ("done", "alice@example.test")
        session = await started(browser, services=["shop"], reconnect=True)
        assert await told(browser, session) == ("open", [("shop", "waiting", "")])
        assert (await browser.get(session["url"])).url.path == "/connect/shop"
        await browser.connect("shop")
        assert await told(browser, session) == ("done", [("shop", "done", "")])
        await app.execute("UPDATE vault.accounts SET status = 'needs_reauth', reason = 'revoked'")
        assert await told(browser, session) == ("open", [("shop", "waiting", "")])


async def test_an_administrator_starts_one_for_a_role_and_nobody_else_does(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=THREE)
    boss = await app.person("boss@acme.test", admin=True)
    (role,) = await app.rows("SELECT id FROM core.roles WHERE name = $1", ada.email)
    asked = {"services": ["shop"], "role_id": str(role["id"])}
    async with app.browser(boss) as browser, app.browser(ada) as other:
        session = await started(browser, **asked)
        page = await browser.get(session["url"])
        assert page.url.params["role"] == str(role["id"])
        assert (await api(other, "POST", json=asked)).status_code == 404
        assert (await api(browser, "POST", json={"role_id": str(role["id"])})).status_code == 400
        await browser.connect("shop", **{**queue_of(page), "role": str(role["id"])})
        assert await told(browser, session) == ("done", [("shop", "done", "")])
        own = await started(browser, services=["shop"])
        assert own["state"] == "open", "what a role shares is not one's own"


async def test_the_link_has_no_authority(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=THREE)
    eve = await app.person("eve@globex.test", "globex", allow=THREE)
    bob = await app.person("bob@acme.test", allow=THREE)
    async with app.browser(ada) as browser, app.browser() as nobody:
        session = await started(browser)
        page = await nobody.get(session["url"])
        assert page.url.path == "/sign-in"
        assert page.url.params["next"] == f"/connect/-/session/{session['id']}"
        for person in (bob, eve):
            async with app.browser(person) as other:
                assert (await other.get(session["url"])).status_code == 404
                for method in ("GET", "DELETE"):
                    assert (await api(other, method, f"/{session['id']}")).status_code == 404
                assert (await api(other, "GET")).json()["items"] == []
        assert (await api(browser, "GET")).json()["items"][0]["id"] == session["id"]


async def test_it_ends_by_being_cancelled_and_by_itself(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=THREE)
    async with app.browser(ada) as browser:
        cancelled, expired = await started(browser), await started(browser)
        for _ in range(2):
            assert (await api(browser, "DELETE", f"/{cancelled['id']}")).status_code == 204
        app.product.clock.ahead = timedelta(minutes=61)
        await browser.sign_in(app.identity, ada)
        for session, state in ((cancelled, "cancelled"), (expired, "expired")):
            assert (await told(browser, session))[0] == state
            page = await browser.get(session["url"])
            assert page.status_code == 410
            assert "has expired" in shown(page)


async def test_a_request_sent_twice_begins_one(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=THREE)
    bob = await app.person("bob@acme.test", allow=THREE)
    async with app.browser(ada) as browser, app.browser(bob) as other:
        first = await started(browser, "one", services=["shop", "till"])
        key = {"Idempotency-Key": "one"}
        again = await api(browser, "POST", json={"services": ["shop", "till", "shop"]}, headers=key)
        assert (again.status_code, again.json()) == (200, first)
        assert (await api(browser, "POST", json={"services": ["till"]}, headers=key)).status_code == 409
        assert (await started(other, "one", services=["till"]))["id"] != first["id"]


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"services": ["made_up"]}, 404),
        ({"services": ["shop", "kiosk"]}, 404),
        ({"services": []}, 400),
        ({"services": ["Shop"]}, 400),
        ({"services": ["shop"] * 51}, 400),
        ({"return_path": "https://evil.test/"}, 400),
        ({"return_path": "//evil.test"}, 400),
        ({"secret": "x"}, 400),
    ],
)
async def test_what_is_refused(app: ConnectApp, asked: dict[str, Any], status: int) -> None:
    ada = await app.person("ada@acme.test", allow=THREE)
    async with app.browser(ada) as browser:
        answer = await api(browser, "POST", json=asked)
        assert answer.status_code == status, answer.text
    assert await app.rows("SELECT FROM vault.connect_sessions") == []


async def test_a_service_that_nobody_has_set_up_says_so(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=THREE)
    await app.execute("DELETE FROM vault.oauth_clients WHERE provider = 'other'")
    async with app.browser(ada) as browser:
        session = await started(browser)
        assert ("stall", "failed", "not_set_up") in (await told(browser, session))[1]


async def test_the_link_leads_past_services_that_nobody_has_set_up(app: ConnectApp) -> None:
    """Two of three: each page counts two, and none is a dead end."""
    ada = await app.person("ada@acme.test", allow=THREE)
    await app.execute("DELETE FROM vault.oauth_clients WHERE provider = 'other'")
    async with app.browser(ada) as browser:
        session = await started(browser)
        ready = [module for module, state, _ in (await told(browser, session))[1] if state == "waiting"]
        assert len(ready) == 2
        page = await browser.get(session["url"])
        assert page.url.path == f"/connect/{ready[0]}"
        assert "Service 1 of 2" in shown(page)
        page = await browser.get(skip_of(page))
        assert page.url.path == f"/connect/{ready[1]}"
        assert "Service 2 of 2" in shown(page)


async def test_of_many_the_oldest_end_and_each_page_has_each_once(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=THREE)
    async with app.browser(ada) as browser:
        made = [(await started(browser, services=["shop"]))["id"] for _ in range(52)]
        found: list[str] = []
        cursor = None
        while True:
            asked = {"limit": 20} if cursor is None else {"limit": 20, "cursor": cursor}
            page = (await api(browser, "GET", params=asked)).json()
            found += [one["id"] for one in page["items"]]
            if (cursor := page["next_cursor"]) is None:
                break
        assert found == made[:1:-1]
