"""Pasted keys: asked about at the vendor by its provider's own request, and not without end."""

from typing import Any

from tests.broker.connect.rig import Scene, shown


def keys_at(url: str, *api: str) -> dict[str, Any]:
    """A provider of kiosk's keys."""
    key = {"prefixes": ["key-"], "check_url": f"{url}/whose", "id": "/name", "name": ["/name"]}
    return {"title": "Kiosk", "api": list(api), "key": key, "modules": {"kiosk": {}}}


async def test_the_provider_s_own_request_checks_a_key(scene: Scene) -> None:
    ada = await scene.person("ada@acme.test", allow=["kiosk.*"])
    await scene.provider(ada.tenant, "kiosk_keys", keys_at(scene.shop.url, scene.shop.url))
    scene.shop.tokens["key-0b7e"] = "ada"
    async with scene.browser(ada) as browser:
        page = await browser.follow("/connect/kiosk/key", key="no-such-form")
        assert "does not look like a whole token" in shown(page)
        assert scene.shop.asked == []  # sent nowhere
        page = await browser.follow("/connect/kiosk/key", key="key-wrong")
        assert "does not accept this token" in shown(page)
        page = await browser.follow("/connect/kiosk/key", key="key-0b7e")
        assert "Connected as ada" in shown(page)
    assert [path for _, path in scene.shop.asked] == ["GET /whose"] * 2


async def test_a_key_is_shown_to_no_server_but_its_service_s(scene: Scene) -> None:
    """A service with an address of its own: neither the provider's request nor its API are that server's."""
    ada = await scene.person("ada@acme.test", allow=["kiosk.*"])
    await scene.provider(ada.tenant, "kiosk_keys", keys_at(scene.shop.url, scene.shop.url))
    own = scene.elsewhere
    own.tokens["key-0b7e"] = "ada"
    await scene.set_service(ada.tenant, "kiosk", base_url=own.url)
    async with scene.browser(ada) as browser:
        page = await browser.follow("/connect/kiosk/key", key="key-0b7e")
        assert "Connected as ada" in shown(page)
    assert (scene.shop.asked, own.asked) == ([], [("key-0b7e", "GET /me")])
    (bound,) = await scene.rows("SELECT origins FROM vault.credentials")
    assert bound["origins"] == [own.url]


async def test_nobody_tries_keys_without_end(scene: Scene) -> None:
    ada, bob = (
        await scene.person("ada@acme.test", allow=["kiosk.*"]),
        await scene.person("b@acme.test", allow=["kiosk.*"]),
    )
    async with scene.browser(ada) as browser:
        for number in range(10):
            assert (await browser.post("/connect/kiosk/key", key=f"guess-{number}")).status_code == 400
        page = await browser.post("/connect/kiosk/key", key="guess-10")
        assert page.status_code == 429
        assert "many tokens in a short time" in shown(page)
        assert len(scene.shop.asked) == 10
    async with scene.browser(bob) as browser:  # somebody else's tries are their own
        assert (await browser.post("/connect/kiosk/key", key="guess-0")).status_code == 400
