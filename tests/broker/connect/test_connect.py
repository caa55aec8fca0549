"""The connect flow through HTTP, with a real OAuth server as the vendor."""

import html
import json
import re
from urllib.parse import quote

from broker.interface import Lease, LeaseRequest, NoCredential
from core.secret import Secret
from tests.broker.connect.connect_app import ConnectApp, parameters, provider_document, shown


async def test_reading_first_then_more(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    await app.vendor.sign_in_as("ada-at-vendor", email="ada@vendor.test")
    async with app.browser(ada) as browser:
        page = await browser.get("/connect/shop")
        assert page.status_code == 200, page.text
        url = await browser.start()
        asked = parameters(url)
        assert asked["scope"].split() == ["openid", "offline_access", "email"]
        assert asked["code_challenge_method"] == "S256"
        page = await browser.get(await browser.consent(url))
        assert page.status_code == 200, page.text
        assert "ada@vendor.test" in shown(page)
        assert "Shop is connected" in shown(page)
        (account,) = await app.accounts()
        assert account["status"] == "active"
        assert account["vendor_account_id"] == "ada-at-vendor"
        assert set(account["scopes"]) == {"openid", "offline_access", "email"}
        assert account["refresh"] is not None
        # More scopes: the account stays the same row.
        url = await browser.start(writing="on")
        assert "profile" in parameters(url)["scope"].split()
        page = await browser.get(await browser.consent(url))
        assert "Shop is connected" in shown(page)
        (again,) = await app.accounts()
        assert again["id"] == account["id"]
        assert again["version"] > account["version"]
        assert "profile" in again["scopes"]


async def test_declining_more_keeps_what_there_is(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        await browser.connect()
        (before,) = await app.accounts()
        await app.vendor.control({"set": {"denyConsent": True}})
        page = await browser.connect(writing="on")
        assert "Nothing was changed here" in shown(page)
        assert await app.accounts() == [before]


async def test_scopes_are_those_of_the_tools_that_the_roles_permit(app: ConnectApp) -> None:
    reader = await app.person("reader@acme.test", allow=["shop:read"])
    writer = await app.person("writer@acme.test", allow=["shop.buy"])
    stranger = await app.person("stranger@acme.test", allow=["kiosk.*"])
    async with app.browser(reader) as browser:
        url = await browser.start(writing="on")
        assert parameters(url)["scope"].split() == ["openid", "offline_access", "email"]
    async with app.browser(writer) as browser:
        assert parameters(await browser.start())["scope"].split() == ["openid", "offline_access", "profile"]
    async with app.browser(stranger) as browser:
        assert (await browser.get("/connect/shop")).status_code == 404
        assert (await browser.get("/connect/never_there")).status_code == 404
        assert (await browser.post("/connect/shop", provider="vendor")).status_code == 404
        assert "Shop" not in shown(await browser.get("/connect"))


async def test_one_grant_for_two_modules(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["shop:read", "till:read"])
    async with app.browser(ada) as browser:
        page = await browser.connect(**{"also.till": "on"})
        assert page.status_code == 200
        assert len(await app.accounts()) == 1
        rows = await app.rows("SELECT module, type, account_id FROM vault.credentials ORDER BY module")
        assert [(row["module"], row["type"]) for row in rows] == [("shop", "B"), ("till", "B")]
        assert len({row["account_id"] for row in rows}) == 1
        page = await browser.follow("/connect/till/disconnect")
        assert "is disconnected" in shown(page)
        await app.nothing_stored()


async def test_another_vendor_account_has_to_be_confirmed(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        await app.vendor.sign_in_as("first", email="first@vendor.test")
        await browser.connect()
        (before,) = await app.accounts()
        browser.leave_vendors()
        await app.vendor.sign_in_as("second", email="second@vendor.test")
        page = await browser.connect()
        assert "Another account than before" in shown(page)
        assert "first@vendor.test" in page.text
        assert "second@vendor.test" in page.text
        used = await app.rows("SELECT account_id FROM vault.credentials")
        assert used == [{"account_id": before["id"]}]  # nothing has changed yet
        question = str(page.url)
        page = await browser.follow(question, decision="keep")
        assert "Nothing was changed" in shown(page)
        assert [one["id"] for one in await app.accounts()] == [before["id"]]
        assert (await browser.get(question)).status_code == 404

        page = await browser.connect()
        assert "Another account than before" in shown(page)
        page = await browser.follow(str(page.url), decision="connect")
        assert "Connected as second@vendor.test" in shown(page)
        (after,) = await app.accounts()
        assert after["vendor_account_id"] == "second"
        grants = (await app.vendor.told())["grants"]
        assert set(grants.values()) >= {"second"}


async def test_disconnecting_revokes_and_shreds(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        await browser.connect()
        page = await browser.follow("/connect/shop/disconnect")
        assert "the access was revoked at the vendor" in shown(page)
        await app.nothing_stored()
        assert (await app.vendor.told())["counters"]["grant_revoked"] == 1
        kinds = [event.kind for event in await app.product.events(app.tenants["acme"])]
        assert "account.connected" in kinds
        assert "account.disconnected" in kinds


async def test_a_vendor_that_cannot_be_told_changes_nothing_about_the_shredding(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        await browser.connect()
        document = provider_document(app.vendor, oauth={"revoke": {"url": f"{app.vendor.issuer}/nowhere"}})
        await app.provider(app.tenants["acme"], "vendor", document)
        page = await browser.follow("/connect/shop/disconnect")
        assert "could not be revoked" in shown(page)
        await app.nothing_stored()


async def test_a_role_s_client_wins_for_its_members(app: ConnectApp) -> None:
    ada, bob = await app.person("ada@acme.test"), await app.person("bob@acme.test")
    (role,) = await app.rows("SELECT id FROM core.roles WHERE name = $1", ada.email)
    await app.register(await app.tenant(), "vendor", "client-of-the-role", "secret", role["id"])
    async with app.browser(ada) as browser:
        assert parameters(await browser.start())["client_id"] == "client-of-the-role"
    async with app.browser(bob) as browser:
        assert parameters(await browser.start())["client_id"] == "shop-client"


async def test_shared_by_an_administrator_and_by_nobody_else(app: ConnectApp) -> None:
    ada, bob = await app.person("ada@acme.test"), await app.person("bob@acme.test")
    boss = await app.person("boss@acme.test", admin=True)
    (role,) = await app.rows("SELECT id FROM core.roles WHERE name = $1", ada.email)
    async with app.browser(bob) as browser:
        assert (await browser.get(f"/connect/shop?role={role['id']}")).status_code == 404
        assert (await browser.post("/connect/shop", provider="vendor", role=str(role["id"]))).status_code == 404
    async with app.browser(boss) as browser:
        page = await browser.connect(role=str(role["id"]))
        assert "Shop is connected" in shown(page)
    (account,) = await app.accounts()
    assert account["role_id"] == role["id"]
    async with app.browser(ada) as browser:
        page = await browser.get("/connect")
        assert "The role ada@acme.test shares the account" in shown(page)
        # Sharing is the administrator's: a member cannot end it.
        assert (await browser.post("/connect/shop/disconnect")).status_code == 404
    async with app.browser(bob) as browser:
        assert "shares" not in shown(await browser.get("/connect"))


async def test_an_administrator_who_is_none_any_more_cannot_finish_sharing(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    boss = await app.person("boss@acme.test", admin=True)
    (role,) = await app.rows("SELECT id FROM core.roles WHERE name = $1", ada.email)
    async with app.browser(boss) as browser:
        back = await browser.consent(await browser.start(role=str(role["id"])))
        await app.execute("UPDATE core.users SET system_role = 'user' WHERE id = $1", boss.id)
        assert (await browser.get(back)).status_code == 403
    await app.nothing_stored()
    assert await app.asked_for_tokens() == 0


async def test_all_services_one_after_another(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["shop:read", "till:read", "stall:read"])
    async with app.browser(ada) as browser:
        page = await browser.follow("/connect/-/all")
        assert "Service 1 of 3" in shown(page)
        assert "/connect/shop" in str(page.url)
        skip = html.unescape(re.search(r'<a href="([^"]+)">Skip', page.text)[1])  # type: ignore[index]
        page = await browser.get(skip)
        assert "Service 2 of 3" in shown(page)
        fields = {"then": "till", "of": "3"}
        page = await browser.connect("stall", "other", **fields)
        assert "Service 3 of 3" in shown(page)
        assert "Stall is connected" in shown(page)
        page = await browser.connect("till", "vendor", then="", of="3")
        assert str(page.url).startswith(f"{app.url}/connect?")
        assert "Till is connected" in shown(page)


async def test_a_key_is_checked_before_it_is_stored(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["kiosk.*"])
    app.shop.tokens |= {"good-key": "Ada", "other-key": "Eve"}
    async with app.browser(ada) as browser:
        page = await browser.follow("/connect/kiosk/key", key="wrong-key")
        assert page.status_code == 400
        assert "does not accept this token" in shown(page)
        assert "wrong-key" not in page.text
        await app.nothing_stored()
        page = await browser.follow("/connect/kiosk/key", key="good-key")
        assert "Kiosk is connected" in shown(page)
        assert "Connected as Ada" in shown(page)
        assert "good-key" not in page.text
        page = await browser.follow("/connect/kiosk/key", key="other-key")
        assert "That is another account" in shown(page)
        assert "other-key" not in page.text
        assert (await app.rows("SELECT account FROM vault.credentials")) == [{"account": "Ada"}]
        page = await browser.follow("/connect/kiosk/key", key="other-key", replace="on")
        assert "Connected as Eve" in shown(page)
        page = await browser.follow("/connect/kiosk/disconnect")
        await app.nothing_stored()


async def test_where_only_oauth_is_offered_no_key_is_taken(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    app.shop.tokens["good-key"] = "Ada"
    async with app.browser(ada) as browser:
        assert (await browser.post("/connect/shop/key", key="good-key")).status_code == 404
    assert app.shop.asked == []
    await app.nothing_stored()


async def test_sites_one_is_taken_of_several_one_is_chosen(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    tenant = await app.tenant()
    market = app.sites
    document = provider_document(
        app.vendor, sites={"url": market.url, "id": "/id", "name": "/name", "site_url": "/url"}
    )
    await app.provider(tenant, "vendor", document)
    async with app.browser(ada) as browser:
        market.found = []
        page = await browser.connect()
        assert "There is no site to use" in shown(page)
        await app.nothing_stored()
        market.found = [{"id": "c1", "name": "Acme", "url": "https://acme.test"}] * 2
        page = await browser.connect()
        assert "Connected as" in shown(page)
        assert "at Acme" in shown(page)
        market.found.append({"id": "c2", "name": "Umbrella", "url": "https://umbrella.test"})
        page = await browser.connect()
        assert "Which site" in shown(page)
        question = str(page.url)
        assert (await browser.post(question, decision="connect", site="made-up")).status_code == 404
        assert (await browser.post(question, decision="connect")).status_code == 404
        page = await browser.follow(question, decision="connect", site="c2")
        assert "at Umbrella" in shown(page)
        (account,) = await app.accounts()
        assert json.loads(account["details"])["site"] == "c2"


async def test_a_site_that_lacks_a_product_says_so(app: ConnectApp) -> None:
    """A site is listed for each of its products, with the scopes of that product, as Atlassian does."""
    ada = await app.person("ada@acme.test", allow=["shop:read", "till:read"])
    tenant, market = await app.tenant(), app.sites
    pointers = {"id": "/id", "name": "/name", "site_url": "/url", "scopes": "/scopes"}
    scopes = {"shop": {"reading": ["email"]}, "till": {"reading": ["profile"]}}
    await app.provider(
        tenant, "vendor", provider_document(app.vendor, sites={"url": market.url, **pointers}) | {"modules": scopes}
    )
    acme, umbrella = [
        {"id": name, "name": name.title(), "url": f"https://{name}.test"} for name in ("acme", "umbrella")
    ]
    unknown = {"id": "hidden", "name": "Hidden", "url": "https://hidden.test"}
    market.found = [{**acme, "scopes": ["email"]}, {**umbrella, "scopes": ["email"]}, unknown]
    market.found.append({**acme, "scopes": ["profile"]})
    async with app.browser(ada) as browser:
        page = shown(await browser.connect(**{"also.till": "on"}))
        assert "Which site" in page
        assert page.count("Not at this site") == 1
        assert "https://umbrella.test Not at this site: Till" in page


async def test_nobody_is_told_of_services_before_signing_in(app: ConnectApp) -> None:
    await app.tenant()
    async with app.browser() as browser:
        for path in ("/connect", "/connect/shop", "/connect/never_there"):
            answer = await browser.http.get(app.url + path)
            assert answer.status_code == 303
            assert answer.headers["location"] == "/sign-in?next=" + quote(path, safe="")


async def test_what_was_connected_is_leased_to_calls_and_to_nobody_before(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    broker, request = app.identity.zone.broker, LeaseRequest(Secret(ada.token), "shop", "look")
    assert isinstance(await broker.lease(request), NoCredential)
    async with app.browser(ada) as browser:
        await browser.connect()
        lease = await broker.lease(request)
        assert isinstance(lease, Lease)
        headers = {"Authorization": f"Bearer {lease.access_token.reveal()}"}
        assert (await browser.http.get(f"{app.vendor.issuer}/me", headers=headers)).status_code == 200
        await browser.follow("/connect/shop/disconnect")
        assert isinstance(await broker.lease(request), NoCredential)
        assert (await browser.http.get(f"{app.vendor.issuer}/me", headers=headers)).status_code == 401


async def test_a_question_that_nobody_answers_does_not_keep_its_tokens(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        await app.vendor.sign_in_as("first", email="first@vendor.test")
        await browser.connect()
        browser.leave_vendors()
        await app.vendor.sign_in_as("second", email="second@vendor.test")
        assert "Another account" in shown(await browser.connect())
    await app.execute("UPDATE vault.accounts SET created_at = created_at - interval '25 hours'")
    await app.identity.zone.database.call("SELECT vault.sweep()")
    kept = {one["reason"]: one["access"] is not None for one in await app.accounts()}
    assert kept == {"": True, "unconfirmed": False}
