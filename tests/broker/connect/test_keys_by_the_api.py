"""A pasted key over the API: checked at the vendor, never told back, and another account only if that is said."""

from datetime import timedelta

import httpx2

from tests.broker.connect.connect_app import Browser, ConnectApp


async def put(browser: Browser, service: str, **asked: object) -> httpx2.Response:
    url = f"{browser.url}/api/v1/services/{service}/credential"
    return await browser.http.put(url, json=asked, headers={"Origin": browser.url})


async def test_a_key_of_one_s_own(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["kiosk.*"])
    app.shop.tokens |= {"xk-7-good": "Ada", "xk-8-other": "Eve"}
    async with app.browser(ada) as browser:
        wrong = await put(browser, "kiosk", secret="xk-6-wrong")
        assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid")
        await app.nothing_stored()
        stored = await put(browser, "kiosk", secret="xk-7-good")
        assert stored.json() == {
            "module": "kiosk",
            "owner": "ada@acme.test",
            "account": "Ada",
            "replaced": False,
            "previous_account": None,
        }
        other = await put(browser, "kiosk", secret="xk-8-other")
        assert (other.status_code, "allow_account_change" in other.json()["detail"]) == (409, True)
        said = (await put(browser, "kiosk", secret="xk-8-other", allow_account_change=True)).json()
        assert (said["replaced"], said["previous_account"], said["account"]) == (True, "Ada", "Eve")
        assert not any("xk-" in answer.text for answer in (wrong, stored, other))
        assert (await put(browser, "till", secret="xk-7-good")).status_code == 404
        app.product.clock.ahead = timedelta(minutes=11)
        late = await put(browser, "kiosk", secret="xk-7-good", allow_account_change=True)
        assert late.json()["code"] == "recent_sign_in_required"


async def test_a_key_that_a_role_shares_is_an_administrator_s(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["kiosk.*"])
    boss = await app.person("boss@acme.test", admin=True)
    app.shop.tokens |= {"xk-9-team": "Team"}
    (role,) = await app.rows("SELECT id FROM core.roles WHERE name = $1", ada.email)
    asked = {"secret": "xk-9-team", "role_id": str(role["id"])}
    async with app.browser(ada) as browser, app.browser(boss) as other:
        assert (await put(browser, "kiosk", **asked)).status_code == 404
        await app.nothing_stored()
        assert (await put(other, "kiosk", **asked)).json()["owner"] == f"role {ada.email}"


async def test_only_the_operator_names_another_owner_or_leaves_the_vendor_out(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["kiosk.*"])
    boss = await app.person("boss@acme.test", admin=True)
    app.shop.tokens |= {"xk-7-good": "Ada"}
    async with app.browser(boss) as browser:
        for asked in ({"user_id": str(ada.id)}, {"check": False}, {"user_id": str(ada.id), "check": False}):
            refused = await put(browser, "kiosk", secret="xk-7-good", **asked)
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    await app.nothing_stored()


async def check(browser: Browser, credential_id: object) -> httpx2.Response:
    url = f"{browser.url}/api/v1/credentials/{credential_id}/test"
    return await browser.http.post(url, headers={"Origin": browser.url})


async def test_a_stored_key_is_tested_by_its_owner_and_administrators(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["kiosk.*"])
    bob = await app.person("bob@acme.test", allow=["kiosk.*"])
    boss = await app.person("boss@acme.test", admin=True)
    eve = await app.person("eve@globex.test", "globex", admin=True)
    app.shop.tokens |= {"xk-7-good": "Ada"}
    async with (
        app.browser(ada) as mine,
        app.browser(bob) as his,
        app.browser(boss) as theirs,
        app.browser(eve) as other,
    ):
        assert (await put(mine, "kiosk", secret="xk-7-good")).status_code == 200
        credential_id = (await app.rows("SELECT id FROM vault.credentials"))[0]["id"]
        works = {"works": True, "state": "connected", "account": "Ada", "message": "it works"}
        assert (await check(mine, credential_id)).json() == works
        assert (await check(theirs, credential_id)).json() == works
        asked = len(app.shop.asked)
        for stranger in (his, other):
            assert (await check(stranger, credential_id)).status_code == 404
        assert len(app.shop.asked) == asked, "nobody else makes the vendor's server work"
        del app.shop.tokens["xk-7-good"]
        broken = (await check(mine, credential_id)).json()
        assert (broken["works"], broken["state"]) == (False, "broken")
        listed = (await mine.http.get(f"{mine.url}/api/v1/credentials")).json()["items"]
        assert [(one["state"], one["cause"]) for one in listed] == [("needs_reconnect", "rejected")]
        app.shop.tokens |= {"xk-7-good": "Ada"}
        again = (await check(mine, credential_id)).json()
        assert (again["works"], "used again" in again["message"]) == (True, True)


async def test_keys_are_not_tested_without_end(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["kiosk.*"])
    app.shop.tokens |= {"xk-7-good": "Ada"}
    async with app.browser(ada) as browser:
        assert (await put(browser, "kiosk", secret="xk-7-good")).status_code == 200
        credential_id = (await app.rows("SELECT id FROM vault.credentials"))[0]["id"]
        answers = [(await check(browser, credential_id)).status_code for _ in range(11)]
        assert answers == [200] * 10 + [429]
