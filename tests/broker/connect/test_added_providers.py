"""A provider that an administrator has added without code, from its discovery to a call's lease."""

import asyncio
import json
from typing import Any

import httpx2

from broker.interface import Lease, LeaseRequest, NoCredential
from core.secret import Secret
from tests.broker.connect.connect_app import Browser, ConnectApp, provider_document, shown
from tests.support.product import Node


async def asked(app: ConnectApp, browser: Browser, method: str, path: str, body: Any = None) -> httpx2.Response:
    """The admin API, as a page of ours asks it."""
    return await browser.http.request(method, f"{app.url}/api/v1{path}", json=body, headers={"Origin": app.url})


async def discovered(app: ConnectApp, browser: Browser, **more: Any) -> dict[str, Any]:
    wish = {"url": app.vendor.issuer, "id": "newcomer", "title": "Newcomer", "modules": ["kiosk"], **more}
    answer = await asked(app, browser, "POST", "/providers/discover", wish)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_found_added_and_connected_without_a_line_of_code(app: ConnectApp) -> None:
    boss = await app.person("boss@acme.test", admin=True, allow=["kiosk.*"])
    ada = await app.person("ada@acme.test", allow=["kiosk.*"])
    request = LeaseRequest(Secret(ada.token), "kiosk", "look")
    async with app.browser(boss) as browser:
        draft = await discovered(app, browser)
        assert draft["document"]["oauth"]["client_documents"] is True
        made = await asked(app, browser, "PUT", "/providers/newcomer", {"document": draft["document"]})
        assert made.status_code == 201, made.text
        assert made.json()["client_registration"] == "registration", "documents need https, which there is none of here"
    await app.vendor.sign_in_as("ada-at-vendor", email="ada@vendor.test")
    async with app.browser(ada) as browser:
        assert "Through Newcomer" in shown(await browser.get("/connect/kiosk"))
        assert await app.rows("SELECT FROM vault.oauth_clients WHERE provider = 'newcomer'") == []
        assert isinstance(await app.identity.zone.broker.lease(request), NoCredential)
        page = await browser.connect("kiosk", "newcomer")
        assert "Kiosk is connected" in shown(page)
        lease = await app.identity.zone.broker.lease(request)
        assert isinstance(lease, Lease)
        app.shop.tokens[lease.access_token.reveal()] = "Ada"
        called = await Node(app.identity.gateway).call(ada.token, "kiosk", "look", {"what": "pears"})
        assert called.value == {"said": "Ada: pears"}
        await browser.connect("kiosk", "newcomer")
    [client] = await app.rows("SELECT * FROM vault.oauth_clients WHERE provider = 'newcomer'")
    assert client["client_id"] != app.vendor.client_id
    [account] = await app.accounts()
    assert (account["provider"], account["account"]) == ("newcomer", "ada@vendor.test")
    [told] = await app.rows("SELECT count(*) FROM vault.accounts WHERE oauth_client_id = $1", client["id"])
    assert told["count"] == 1
    async with app.browser(boss) as browser:
        refused = await asked(app, browser, "DELETE", "/providers/newcomer")
        assert (refused.status_code, "1 OAuth client, 1 account, 1 credential" in refused.text) == (409, True)
        assert (await asked(app, browser, "DELETE", f"/oauth-clients/{client['id']}")).status_code == 200
        assert (await asked(app, browser, "DELETE", "/providers/newcomer")).status_code == 204
    await app.nothing_stored()


async def test_a_registered_client_comes_first(app: ConnectApp) -> None:
    boss = await app.person("boss@acme.test", admin=True, allow=["kiosk.*"])
    async with app.browser(boss) as browser:
        draft = await discovered(app, browser)
        await asked(app, browser, "PUT", "/providers/newcomer", {"document": draft["document"]})
        ours = {"provider": "newcomer", "client_id": "by-hand", "client_secret": "c0x-Lq2vN8rWt5zYb7-by-hand"}
        assert (await asked(app, browser, "PUT", "/oauth-clients", ours)).status_code == 200
        assert "client_id=by-hand&" in await browser.start("kiosk", "newcomer")


async def test_many_who_begin_at_once_make_one_client(app: ConnectApp) -> None:
    boss = await app.person("boss@acme.test", admin=True, allow=["kiosk.*"])
    async with app.browser(boss) as browser:
        draft = await discovered(app, browser)
        await asked(app, browser, "PUT", "/providers/newcomer", {"document": draft["document"]})
        begun = await asyncio.gather(*(browser.start("kiosk", "newcomer") for _ in range(6)))
    [client] = await app.rows("SELECT client_id FROM vault.oauth_clients WHERE provider = 'newcomer'")
    assert all(f"client_id={client['client_id']}&" in url for url in begun)


async def test_where_nobody_may_register_that_is_said_and_the_vendor_is_left_alone(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["kiosk.*"])
    closed = {"registration_url": f"{app.vendor.issuer}/never-there"}
    document = provider_document(app.vendor, modules=("kiosk",), oauth=closed)
    await app.provider(await app.tenant(), "newcomer", document)
    async with app.browser(ada) as browser:
        for _ in range(2):
            page = await browser.post("/connect/kiosk", provider="newcomer")
            assert page.status_code == 403
            assert "administrator" in shown(page)
    refusals = await app.rows("SELECT count(*) FROM vault.oauth_clients WHERE provider = 'newcomer'")
    assert refusals[0]["count"] == 0


async def test_whoever_may_not_administer_adds_nothing(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    document = json.loads(json.dumps(provider_document(app.vendor)))
    async with app.browser(ada) as browser:
        answer = await asked(app, browser, "PUT", "/providers/newcomer", {"document": document})
        assert answer.status_code == 403
        assert (await asked(app, browser, "POST", "/providers/discover", {"url": "x"})).status_code == 403
