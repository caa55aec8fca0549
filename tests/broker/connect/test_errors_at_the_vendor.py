"""What a vendor answers instead of a grant: only a person's no is called so, and what only an administrator can mend is
told to administrators."""

from urllib.parse import urlencode

import httpx2
import pytest

from tests.broker.connect.connect_app import Browser, ConnectApp, changed, parameters, shown

REFUSED = {
    "invalid_scope": "scope_refused",
    "unauthorized_client": "client_not_allowed",
    "invalid_request": "request_refused",
    "unsupported_response_type": "refused",
    "made_up_by_the_vendor": "refused",
    "": "refused",
}
AWAY = {"server_error": "server_error", "temporarily_unavailable": "unavailable"}
AGAIN = {"login_required": "interaction", "consent_required": "interaction"}


async def answered(app: ConnectApp, browser: Browser, error: str, role: str = "", **more: str) -> httpx2.Response:
    """What becomes of an error that a vendor sends the browser back with."""
    asked = parameters(await browser.start(role=role))
    answer = {"state": asked["state"], "iss": app.vendor.issuer, "error": error, **more}
    return await browser.get(f"/connect/callback/vendor?{urlencode(answer)}")


async def causes(app: ConnectApp) -> list[str]:
    events = await app.product.events(app.tenants["acme"], "connect.refused")
    return [str((event.detail or {})["cause"]) for event in events]


async def test_only_a_no_of_the_person_is_called_so(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        page = await answered(app, browser, "access_denied", error_description="<b>words of theirs</b>")
        assert (page.status_code, "You did not agree at the vendor" in shown(page)) == (200, True)
        assert await causes(app) == []
        for error, status, words in (
            *((one, 403, "Vendor refuses the request") for one in REFUSED),
            *((one, 503, "Vendor does not answer") for one in AWAY),
            *((one, 403, "Vendor did not confirm") for one in AGAIN),
        ):
            page = await answered(app, browser, error, error_description="words of theirs")
            assert (page.status_code, words in shown(page)) == (status, True), (error, shown(page))
            assert "You did not agree" not in shown(page)
            assert "words of theirs" not in page.text
            assert "made_up_by_the_vendor" not in page.text
            assert '/connect/shop"' in page.text
        assert await causes(app) == [*REFUSED.values(), *AWAY.values(), *AGAIN.values()]
        browser.http.headers["Accept-Language"] = "ja"
        assert "Vendor が要求を拒否しました" in shown(await answered(app, browser, "invalid_scope"))
        assert "同意されませんでした" in shown(await answered(app, browser, "access_denied"))
    assert await app.asked_for_tokens() == 0
    await app.nothing_stored()
    (client,) = await app.rows("SELECT state FROM vault.oauth_clients WHERE provider = 'vendor'")
    assert client["state"] == "ok", "whoever has a browser could say this of the tenant's client"


async def test_whoever_shares_with_a_role_is_led_back_to_that_role(app: ConnectApp) -> None:
    boss = await app.person("boss@acme.test", admin=True)
    ada = await app.person("ada@acme.test")
    (role,) = await app.rows("SELECT id FROM core.roles WHERE name = $1", ada.email)
    async with app.browser(boss) as browser:
        page = await answered(app, browser, "server_error", str(role["id"]))
        assert f'href="/connect/shop?role={role["id"]}">Back to the service' in page.text
        back = changed(await browser.consent(await browser.start(role=str(role["id"]))), code="made-up")
        assert f'href="/connect/shop?role={role["id"]}">Back to the service' in (await browser.get(back)).text


async def test_a_client_that_the_vendor_does_not_know_is_told_to_administrators(app: ConnectApp) -> None:
    ada, tenant = await app.person("ada@acme.test"), await app.tenant()
    await app.person("boss@acme.test", admin=True)
    await app.register(tenant, "vendor", app.vendor.client_id, "none-of-theirs-77")
    async with app.browser(ada) as browser:
        page = await browser.connect()
        assert (page.status_code, "is not set up correctly" in shown(page)) == (403, True)
        (client,) = await app.rows("SELECT * FROM vault.oauth_clients WHERE provider = 'vendor'")
        assert (client["state"], client["cause"]) == ("misconfigured", "client_refused")
        assert client["breaker_until"] is None, "a refresh may still try it at once"
        told = await app.rows("SELECT about, subject_id FROM vault.notices")
        assert {(one["about"], one["subject_id"]) for one in told} == {("oauth_client", client["id"])}
        assert await causes(app) == ["client_refused"]
        await app.register(tenant, "vendor", app.vendor.client_id, app.vendor.client_secret)
        assert "Shop is connected" in shown(await browser.connect())


async def test_a_client_that_works_again_is_taken_for_good(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    wrong = "UPDATE vault.oauth_clients SET state = 'misconfigured', cause = 'client_refused', breaker_failures = 3"
    async with app.browser(ada) as browser:
        url = await browser.start()
        await app.execute(wrong)
        assert "Shop is connected" in shown(await browser.get(await browser.consent(url)))
    (client,) = await app.rows("SELECT * FROM vault.oauth_clients WHERE provider = 'vendor'")
    assert (client["state"], client["cause"], client["breaker_failures"]) == ("ok", "", 0)


@pytest.mark.parametrize("code", ["made-up", "\0", "x" * 4_000])
async def test_a_code_that_a_person_made_up_says_nothing_of_the_client(app: ConnectApp, code: str) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        back = changed(await browser.consent(await browser.start()), code=code)
        assert (await browser.get(back)).status_code == 403
    (client,) = await app.rows("SELECT state FROM vault.oauth_clients WHERE provider = 'vendor'")
    assert client["state"] == "ok"
