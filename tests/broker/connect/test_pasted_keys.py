"""Pasted keys: asked about at the vendor by its provider's own request, and not without end."""

from typing import Any

from tests.broker.connect.connect_app import ConnectApp, shown


def keys_at(url: str, *api: str) -> dict[str, Any]:
    """A provider of kiosk's keys."""
    key = {"prefixes": ["key-"], "check_url": f"{url}/whose", "id": "/name", "name": ["/name"]}
    return {"title": "Kiosk", "api": list(api), "key": key, "modules": {"kiosk": {}}}


async def test_the_provider_s_own_request_checks_a_key(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["kiosk.*"])
    await app.provider(ada.tenant, "kiosk_keys", keys_at(app.shop.url, app.shop.url))
    app.shop.tokens["key-0b7e"] = "ada"
    async with app.browser(ada) as browser:
        page = await browser.follow("/connect/kiosk/key", key="no-such-form")
        assert "does not look like a whole token" in shown(page)
        assert app.shop.asked == []  # sent nowhere
        page = await browser.follow("/connect/kiosk/key", key="key-wrong")
        assert "does not accept this token" in shown(page)
        page = await browser.follow("/connect/kiosk/key", key="key-0b7e")
        assert "Connected as ada" in shown(page)
    assert [path for _, path in app.shop.asked] == ["GET /whose"] * 2


async def test_a_key_is_shown_to_no_server_but_its_service_s(app: ConnectApp) -> None:
    """A service with an address of its own: neither the provider's request nor its API are that server's."""
    ada = await app.person("ada@acme.test", allow=["kiosk.*"])
    await app.provider(ada.tenant, "kiosk_keys", keys_at(app.shop.url, app.shop.url))
    own = app.elsewhere
    own.tokens["key-0b7e"] = "ada"
    await app.set_service(ada.tenant, "kiosk", base_url=own.url)
    async with app.browser(ada) as browser:
        page = await browser.follow("/connect/kiosk/key", key="key-0b7e")
        assert "Connected as ada" in shown(page)
    assert (app.shop.asked, own.asked) == ([], [("key-0b7e", "GET /me")])
    (bound,) = await app.rows("SELECT origins FROM vault.credentials")
    assert bound["origins"] == [own.url]


async def test_nobody_tries_keys_without_end(app: ConnectApp) -> None:
    ada, bob = (
        await app.person("ada@acme.test", allow=["kiosk.*"]),
        await app.person("b@acme.test", allow=["kiosk.*"]),
    )
    async with app.browser(ada) as browser:
        for number in range(10):
            assert (await browser.post("/connect/kiosk/key", key=f"guess-{number}")).status_code == 400
        page = await browser.post("/connect/kiosk/key", key="guess-10")
        assert page.status_code == 429
        assert "many tokens in a short time" in shown(page)
        assert len(app.shop.asked) == 10
    async with app.browser(bob) as browser:  # somebody else's tries are their own
        assert (await browser.post("/connect/kiosk/key", key="guess-0")).status_code == 400
