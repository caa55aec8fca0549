"""A credential goes where it was for when it was connected, and nowhere that somebody sets afterwards."""

import json

from broker.interface import LeaseRequest, NoCredential
from core.secret import Secret
from tests.broker.connect.connect_app import ConnectApp, provider_document, shown
from tests.support.eventually import within
from tests.support.mcp_client import Answer
from tests.support.product import Person

LONG = {"set": {"accessTokenTtl": 3600}}
"""One token for a whole test: the shop has to know it."""
MOVED = "base URL changed after your account had been connected"


async def refused(app: ConnectApp, person: Person, module: str) -> Answer:
    """The answer to a call as soon as what was changed has come to the gateway: a second at most."""
    last: list[Answer] = []

    async def failed() -> bool:
        last.append(await app.call(person, module))
        return last[-1].failed

    await within(1.5, failed)
    return last[-1]


async def test_a_service_that_is_given_another_address_gets_no_token(app: ConnectApp) -> None:
    ada, eve = await app.person("ada@acme.test"), await app.person("eve@evil.test", "evil")
    await app.vendor.control(LONG)
    for person in (ada, eve):
        async with app.browser(person) as browser:
            await browser.connect()
            await app.known(person)
    assert (await app.call(ada, "shop")).value == {"said": "ada@acme.test: tea"}
    attacker = app.elsewhere
    await app.set_service(ada.tenant, "shop", base_url=attacker.url)
    answer = await refused(app, ada, "shop")
    assert MOVED in answer.text
    assert f"Connect it again at {app.url}/connect/shop" in answer.text
    listed = await app.schema(ada, "shop")
    assert (listed["connection"], listed["cause"]) == ("broken", "elsewhere")
    async with app.browser(ada) as browser:
        assert "base URL was changed after it was connected" in shown(await browser.get("/connect/shop"))
    assert attacker.asked == []
    request = LeaseRequest(Secret(ada.token), "shop", "look")
    assert await app.identity.zone.broker.lease(request) == NoCredential("shop", "broken", "personal", "elsewhere")
    assert (await app.call(eve, "shop")).value == {"said": "eve@evil.test: tea"}  # another tenant, as before
    # The person says that the new address is right: that is what connecting again means.
    async with app.browser(ada) as browser:
        assert "is connected" in shown(await browser.connect())
    lease = await app.identity.zone.broker.lease(request)
    assert not isinstance(lease, NoCredential)
    attacker.tokens[lease.access_token.reveal()] = "ada"  # type: ignore[union-attr]
    assert (await app.call(ada, "shop")).value == {"said": "ada: tea"}


async def test_a_provider_s_tokens_go_to_its_own_api_alone(app: ConnectApp) -> None:
    """Told before the person is sent to the vendor, and again when they are back."""
    ada = await app.person("ada@acme.test")
    await app.provider(ada.tenant, "vendor", provider_document(app.vendor, api=[app.shop.url]))
    async with app.browser(ada) as browser:
        back = await browser.consent(await browser.start())
        await app.set_service(ada.tenant, "shop", base_url=app.elsewhere.url)
        page = await browser.get(back)
        assert "This service has an address of another server" in shown(page)
        page = await browser.post("/connect/shop", provider="vendor")
        assert "This service has an address of another server" in shown(page)
        assert (await app.asked_for_tokens(), app.elsewhere.asked) == (0, [])
        await app.nothing_stored()
        await app.set_service(ada.tenant, "shop")
        await browser.connect()
    (bound,) = await app.rows("SELECT origins FROM vault.credentials")
    assert bound["origins"] == [app.shop.url]


async def test_a_pasted_key_is_bound_too(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["kiosk.*"])
    app.shop.tokens["a-good-key"] = "ada"
    async with app.browser(ada) as browser:
        assert "is connected" in shown(await browser.follow("/connect/kiosk/key", key="a-good-key"))
        assert (await app.call(ada, "kiosk")).value == {"said": "ada: tea"}
        await app.set_service(ada.tenant, "kiosk", base_url=app.elsewhere.url)
        assert MOVED in (await refused(app, ada, "kiosk")).text
        assert app.elsewhere.asked == []


async def test_the_chosen_site_reaches_the_vendor(app: ConnectApp) -> None:
    """One grant, two sites: the module's base URL has the one that the person chose."""
    ada = await app.person("ada@acme.test", allow=["desk.*", "shop.*"])
    await app.vendor.control(LONG)
    sites = {"url": app.sites.url, "id": "/id", "name": "/name", "site_url": "/url"}
    document = provider_document(app.vendor, sites=sites, modules=("desk", "shop"))
    await app.provider(ada.tenant, "vendor", document)
    app.sites.found = [{"id": f"c{n}", "name": f"Site {n}", "url": f"https://s{n}.test"} for n in (1, 2)]
    async with app.browser(ada) as browser:
        page = await browser.connect("desk")
        page = await browser.follow(str(page.url), decision="connect", site="c2")
        assert "at Site 2" in shown(page)
    await app.known(ada, "desk")
    assert (await app.call(ada, "desk")).value == {"said": "ada@acme.test: tea"}
    assert app.shop.asked[-1][1] == "GET /ex/c2/look"
    # Another site by connecting again: the next call goes there.
    async with app.browser(ada) as browser:
        page = await browser.connect("desk")
        await browser.follow(str(page.url), decision="connect", site="c1")
    await app.known(ada, "desk")
    assert not (await app.call(ada, "desk")).failed
    assert app.shop.asked[-1][1] == "GET /ex/c1/look"
    # What a vendor calls a site is no part of an address unless it has the form of one.
    for wrong in ({"site": "../.."}, {"site": "a/b"}, {"site": "."}, {}):
        async with app.ends.database.tenant(ada.tenant.id) as work:
            await work.execute("UPDATE vault.accounts SET details = $2::jsonb WHERE tenant_id = $1", json.dumps(wrong))
        await refused(app, ada, "desk")
        asked = len(app.shop.asked)
        assert (await app.call(ada, "desk")).failed, wrong
        assert len(app.shop.asked) == asked


async def test_a_grant_that_reaches_nothing_is_kept_with_a_warning(app: ConnectApp) -> None:
    """A GitHub App that is installed nowhere has a consent, and sees no repository."""
    ada = await app.person("ada@acme.test")
    await app.vendor.control(LONG)
    reach = {"url": app.sites.url, "count": "/0/count", "help_url": "https://install.vendor.test/new"}
    await app.provider(ada.tenant, "vendor", provider_document(app.vendor, reach=reach))
    app.sites.found = [{"count": 0}]
    async with app.browser(ada) as browser:
        page = await browser.connect()
        assert "installed nowhere" in shown(page)
        assert "https://install.vendor.test/new" in page.text
        await app.known(ada)
        assert not (await app.call(ada, "shop")).failed  # it is connected
        listed = await app.schema(ada, "shop")
        assert (listed["connection"], listed["cause"]) == ("connected", "no_reach")
        async with app.api(ada) as api:
            (one,) = (await api.get("/credentials")).json()["items"]
            assert (one["state"], one["cause"]) == ("connected", "no_reach")
            (one,) = (await api.get("/connections")).json()["items"]
            assert (one["state"], one["cause"]) == ("connected", "no_reach")
        app.sites.found = [{"count": 3}]
        assert "installed nowhere" not in shown(await browser.connect())
    listed = await app.schema(ada, "shop")
    assert (listed["connection"], listed["cause"]) == ("connected", "reading_only")
