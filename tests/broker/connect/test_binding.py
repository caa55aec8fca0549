"""A credential goes where it was for when it was connected, and nowhere that somebody sets afterwards."""

import json

from broker.interface import LeaseRequest, NoCredential
from core.secret import Secret
from tests.broker.connect.rig import Scene, provider_document, shown
from tests.support.eventually import within
from tests.support.mcp_client import Answer
from tests.support.product import Person

LONG = {"set": {"accessTokenTtl": 3600}}
"""One token for a whole test: the shop has to know it."""
MOVED = "base URL changed after your account had been connected"


async def refused(scene: Scene, person: Person, module: str) -> Answer:
    """The answer to a call as soon as what was changed has come to the gateway: a second at most."""
    last: list[Answer] = []

    async def failed() -> bool:
        last.append(await scene.call(person, module))
        return last[-1].failed

    await within(1.5, failed)
    return last[-1]


async def test_a_service_that_is_given_another_address_gets_no_token(scene: Scene) -> None:
    ada, eve = await scene.person("ada@acme.test"), await scene.person("eve@evil.test", "evil")
    await scene.vendor.control(LONG)
    for person in (ada, eve):
        async with scene.browser(person) as browser:
            await browser.connect()
            await scene.known(person)
    assert (await scene.call(ada, "shop")).value == {"said": "ada@acme.test: tea"}
    attacker = scene.elsewhere
    await scene.set_service(ada.tenant, "shop", base_url=attacker.url)
    answer = await refused(scene, ada, "shop")
    assert MOVED in answer.text
    assert f"Connect it again at {scene.url}/connect/shop" in answer.text
    listed = await scene.schema(ada, "shop")
    assert (listed["connection"], listed["cause"]) == ("broken", "elsewhere")
    async with scene.browser(ada) as browser:
        assert "base URL was changed after it was connected" in shown(await browser.get("/connect/shop"))
    assert attacker.asked == []
    request = LeaseRequest(Secret(ada.token), "shop", "look")
    assert await scene.identity.zone.broker.lease(request) == NoCredential("shop", "broken", "personal", "elsewhere")
    assert (await scene.call(eve, "shop")).value == {"said": "eve@evil.test: tea"}  # another tenant, as before
    # The person says that the new address is right: that is what connecting again means.
    async with scene.browser(ada) as browser:
        assert "is connected" in shown(await browser.connect())
    lease = await scene.identity.zone.broker.lease(request)
    assert not isinstance(lease, NoCredential)
    attacker.tokens[lease.access_token.reveal()] = "ada"  # type: ignore[union-attr]
    assert (await scene.call(ada, "shop")).value == {"said": "ada: tea"}


async def test_a_provider_s_tokens_go_to_its_own_api_alone(scene: Scene) -> None:
    """Told before the person is sent to the vendor, and again when they are back."""
    ada = await scene.person("ada@acme.test")
    await scene.provider(ada.tenant, "vendor", provider_document(scene.vendor, api=[scene.shop.url]))
    async with scene.browser(ada) as browser:
        back = await browser.consent(await browser.start())
        await scene.set_service(ada.tenant, "shop", base_url=scene.elsewhere.url)
        page = await browser.get(back)
        assert "This service has an address of another server" in shown(page)
        page = await browser.post("/connect/shop", provider="vendor")
        assert "This service has an address of another server" in shown(page)
        assert (await scene.asked_for_tokens(), scene.elsewhere.asked) == (0, [])
        await scene.nothing_stored()
        await scene.set_service(ada.tenant, "shop")
        await browser.connect()
    (bound,) = await scene.rows("SELECT origins FROM vault.credentials")
    assert bound["origins"] == [scene.shop.url]


async def test_a_pasted_key_is_bound_too(scene: Scene) -> None:
    ada = await scene.person("ada@acme.test", allow=["kiosk.*"])
    scene.shop.tokens["a-good-key"] = "ada"
    async with scene.browser(ada) as browser:
        assert "is connected" in shown(await browser.follow("/connect/kiosk/key", key="a-good-key"))
        assert (await scene.call(ada, "kiosk")).value == {"said": "ada: tea"}
        await scene.set_service(ada.tenant, "kiosk", base_url=scene.elsewhere.url)
        assert MOVED in (await refused(scene, ada, "kiosk")).text
        assert scene.elsewhere.asked == []


async def test_the_chosen_site_reaches_the_vendor(scene: Scene) -> None:
    """One grant, two sites: the module's base URL has the one that the person chose."""
    ada = await scene.person("ada@acme.test", allow=["desk.*", "shop.*"])
    await scene.vendor.control(LONG)
    sites = {"url": scene.sites.url, "id": "/id", "name": "/name", "site_url": "/url"}
    document = provider_document(scene.vendor, sites=sites, modules=("desk", "shop"))
    await scene.provider(ada.tenant, "vendor", document)
    scene.sites.found = [{"id": f"c{n}", "name": f"Site {n}", "url": f"https://s{n}.test"} for n in (1, 2)]
    async with scene.browser(ada) as browser:
        page = await browser.connect("desk")
        page = await browser.follow(str(page.url), decision="connect", site="c2")
        assert "at Site 2" in shown(page)
    await scene.known(ada, "desk")
    assert (await scene.call(ada, "desk")).value == {"said": "ada@acme.test: tea"}
    assert scene.shop.asked[-1][1] == "GET /ex/c2/look"
    # Another site by connecting again: the next call goes there.
    async with scene.browser(ada) as browser:
        page = await browser.connect("desk")
        await browser.follow(str(page.url), decision="connect", site="c1")
    await scene.known(ada, "desk")
    assert not (await scene.call(ada, "desk")).failed
    assert scene.shop.asked[-1][1] == "GET /ex/c1/look"
    # What a vendor calls a site is no part of an address unless it has the form of one.
    for wrong in ({"site": "../.."}, {"site": "a/b"}, {"site": "."}, {}):
        async with scene.ends.database.tenant(ada.tenant.id) as work:
            await work.execute("UPDATE vault.accounts SET details = $2::jsonb WHERE tenant_id = $1", json.dumps(wrong))
        await refused(scene, ada, "desk")
        asked = len(scene.shop.asked)
        assert (await scene.call(ada, "desk")).failed, wrong
        assert len(scene.shop.asked) == asked


async def test_a_grant_that_reaches_nothing_is_kept_with_a_warning(scene: Scene) -> None:
    """A GitHub App that is installed nowhere has a consent, and sees no repository."""
    ada = await scene.person("ada@acme.test")
    await scene.vendor.control(LONG)
    reach = {"url": scene.sites.url, "count": "/0/count", "help_url": "https://install.vendor.test/new"}
    await scene.provider(ada.tenant, "vendor", provider_document(scene.vendor, reach=reach))
    scene.sites.found = [{"count": 0}]
    async with scene.browser(ada) as browser:
        page = await browser.connect()
        assert "installed nowhere" in shown(page)
        assert "https://install.vendor.test/new" in page.text
        await scene.known(ada)
        assert not (await scene.call(ada, "shop")).failed  # it is connected
        listed = await scene.schema(ada, "shop")
        assert (listed["connection"], listed["cause"]) == ("connected", "no_reach")
        async with scene.api(ada) as api:
            (one,) = (await api.get("/credentials")).json()["items"]
            assert (one["state"], one["cause"]) == ("connected", "no_reach")
            (one,) = (await api.get("/connections")).json()["items"]
            assert (one["state"], one["cause"]) == ("connected", "no_reach")
        scene.sites.found = [{"count": 3}]
        assert "installed nowhere" not in shown(await browser.connect())
    listed = await scene.schema(ada, "shop")
    assert (listed["connection"], listed["cause"]) == ("connected", "reading_only")
