"""Accounts that a vendor does not name, and what a new grant may have of the one before."""

from typing import Any

import httpx2

from tests.broker.connect.connect_app import CALLBACK, Browser, ConnectApp, provider_document, shown
from tests.support.product import Person

UNTOLD = "Whether it is the same account is not known here"


async def nameless(app: ConnectApp, **oauth: Any) -> None:
    """Let the vendor be one that does not tell whose account it is."""
    await app.provider(await app.tenant(), "vendor", provider_document(app.vendor, account=None, oauth=oauth))


async def without_refresh_token(app: ConnectApp, **more: Any) -> None:
    """Let the vendor give no refresh token from now on."""
    document = provider_document(app.vendor, oauth={"base_scopes": ["openid"], "authorize_params": {}}, **more)
    await app.provider(await app.tenant(), "vendor", document)
    await app.vendor.control({"set": {"requireOfflineAccess": True}})


async def agreed_as(app: ConnectApp, browser: Browser, who: str) -> None:
    browser.leave_vendors()
    await app.vendor.sign_in_as(who, email=f"{who}@vendor.test")


async def test_an_account_that_nobody_can_tell_from_another_is_asked_for(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    await nameless(app)
    async with app.browser(ada) as browser:
        await agreed_as(app, browser, "first")
        assert "Shop is connected" in shown(await browser.connect())
        (before,) = await app.accounts()
        assert before["vendor_account_id"] == ""
        await agreed_as(app, browser, "second")
        page = await browser.connect()
        assert UNTOLD in shown(page), shown(page)
        question = str(page.url)
        browser.http.headers["Accept-Language"] = "ja"
        assert "同じアカウントかどうかは" in shown(await browser.get(question))
        browser.http.headers["Accept-Language"] = "en"
        assert "Nothing was changed" in shown(await browser.follow(question, decision="keep"))
        assert [one["id"] for one in await app.accounts()] == [before["id"]]

        # The next grant has no refresh token, and gets none of an account that may be somebody else's.
        await without_refresh_token(app, account=None)
        page = await browser.connect()
        assert UNTOLD in shown(page)
        assert "Shop is connected" in shown(await browser.follow(str(page.url), decision="connect"))
        (after,) = await app.accounts()
        assert after["id"] != before["id"]
        assert (before["refresh"] is None, after["refresh"]) == (False, None)


async def test_known_before_and_unknown_now_or_the_other_way_round(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        await agreed_as(app, browser, "first")
        await browser.connect()
        await nameless(app)
        page = await browser.connect()
        assert UNTOLD in shown(page)
        assert "first@vendor.test" in shown(page)
        await browser.follow(str(page.url), decision="connect")
        await app.provider(await app.tenant(), "vendor", provider_document(app.vendor))
        page = await browser.connect()
        assert UNTOLD in shown(page)
        assert "You have agreed as first@vendor.test" in shown(page)


async def test_a_refresh_token_is_inherited_from_the_same_account_while_it_lives(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        await agreed_as(app, browser, "first")
        await browser.connect()
        (before,) = await app.accounts()
        await without_refresh_token(app)
        assert "Shop is connected" in shown(await browser.connect())
        (after,) = await app.accounts()
        assert (after["id"], after["refresh"] is None) == (before["id"], False)


async def test_a_dead_refresh_token_is_not_inherited(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        await agreed_as(app, browser, "first")
        await browser.connect()
        await app.execute("UPDATE vault.accounts SET status = 'needs_reauth', reason = 'revoked'")
        await without_refresh_token(app)
        assert "Shop is connected" in shown(await browser.connect())
        (after,) = await app.accounts()
        assert (after["status"], after["refresh"]) == ("active", None)


async def another_client(app: ConnectApp) -> tuple[str, str]:
    """A second OAuth client that the vendor knows (RFC 7591)."""
    asked = {"redirect_uris": [f"{CALLBACK}/vendor"], "application_type": "native", "scope": "openid email profile"}
    async with httpx2.AsyncClient(base_url=app.vendor.issuer) as http:
        answer = await http.post("/reg", json={**asked, "grant_types": ["authorization_code", "refresh_token"]})
    assert answer.status_code == 201, answer.text
    return answer.json()["client_id"], answer.json()["client_secret"]


async def test_nothing_is_inherited_from_a_grant_of_another_oauth_client(app: ConnectApp) -> None:
    """A refresh token is its client's (RFC 6749 §6): shown with another, it is refused, or ends the grant."""
    ada, eve = await app.person("ada@acme.test"), await app.person("ada@acme.test", "globex")
    async with app.browser(ada) as browser, app.browser(eve) as other:
        await agreed_as(app, browser, "first")
        await browser.connect()
        await other.connect()
        (before,) = await accounts_of(app, ada)
        foreign = await accounts_of(app, eve)
        client_id, secret = await another_client(app)
        (role,) = await app.rows(
            "SELECT id FROM core.roles WHERE name = $1 AND tenant_id = $2", ada.email, ada.tenant.id
        )
        new_client = await app.register(ada.tenant, "vendor", client_id, secret, role["id"])
        await without_refresh_token(app)
        revoked = await app.revoked()
        page = await browser.connect()
        assert "Shop is connected" in shown(page), shown(page)
        (after,) = await accounts_of(app, ada)
    assert after["id"] != before["id"], "the account of the other client is not renewed"
    assert (after["oauth_client_id"], after["refresh"]) == (new_client, None)
    assert await app.revoked() == revoked + 1, "the grant before was ended at the vendor"
    assert await accounts_of(app, eve) == foreign


async def accounts_of(app: ConnectApp, person: Person) -> list[dict[str, Any]]:
    """The accounts of one person's tenant."""
    return [one for one in await app.accounts() if one["tenant_id"] == person.tenant.id]
