"""Accounts that a vendor does not name, and what a new grant may have of the one before."""

from typing import Any

from tests.broker.connect.rig import Browser, Scene, provider_document, shown

UNTOLD = "Whether it is the same account is not known here"


async def nameless(scene: Scene, **oauth: Any) -> None:
    """Let the vendor be one that does not tell whose account it is."""
    await scene.provider(await scene.tenant(), "vendor", provider_document(scene.vendor, account=None, oauth=oauth))


async def without_refresh_token(scene: Scene, **more: Any) -> None:
    """Let the vendor give no refresh token from now on."""
    document = provider_document(scene.vendor, oauth={"base_scopes": ["openid"], "authorize_params": {}}, **more)
    await scene.provider(await scene.tenant(), "vendor", document)
    await scene.vendor.control({"set": {"requireOfflineAccess": True}})


async def agreed_as(scene: Scene, browser: Browser, who: str) -> None:
    browser.leave_vendors()
    await scene.vendor.sign_in_as(who, email=f"{who}@vendor.test")


async def test_an_account_that_nobody_can_tell_from_another_is_asked_for(scene: Scene) -> None:
    ada = await scene.person("ada@acme.test")
    await nameless(scene)
    async with scene.browser(ada) as browser:
        await agreed_as(scene, browser, "first")
        assert "Shop is connected" in shown(await browser.connect())
        (before,) = await scene.accounts()
        assert before["vendor_account_id"] == ""
        await agreed_as(scene, browser, "second")
        page = await browser.connect()
        assert UNTOLD in shown(page), shown(page)
        question = str(page.url)
        browser.http.headers["Accept-Language"] = "ja"
        assert "同じアカウントかどうかは" in shown(await browser.get(question))
        browser.http.headers["Accept-Language"] = "en"
        assert "Nothing was changed" in shown(await browser.follow(question, decision="keep"))
        assert [one["id"] for one in await scene.accounts()] == [before["id"]]

        # The next grant has no refresh token, and gets none of an account that may be somebody else's.
        await without_refresh_token(scene, account=None)
        page = await browser.connect()
        assert UNTOLD in shown(page)
        assert "Shop is connected" in shown(await browser.follow(str(page.url), decision="connect"))
        (after,) = await scene.accounts()
        assert after["id"] != before["id"]
        assert (before["refresh"] is None, after["refresh"]) == (False, None)


async def test_known_before_and_unknown_now_or_the_other_way_round(scene: Scene) -> None:
    ada = await scene.person("ada@acme.test")
    async with scene.browser(ada) as browser:
        await agreed_as(scene, browser, "first")
        await browser.connect()
        await nameless(scene)
        page = await browser.connect()
        assert UNTOLD in shown(page)
        assert "first@vendor.test" in shown(page)
        await browser.follow(str(page.url), decision="connect")
        await scene.provider(await scene.tenant(), "vendor", provider_document(scene.vendor))
        page = await browser.connect()
        assert UNTOLD in shown(page)
        assert "You have agreed as first@vendor.test" in shown(page)


async def test_a_refresh_token_is_inherited_from_the_same_account_while_it_lives(scene: Scene) -> None:
    ada = await scene.person("ada@acme.test")
    async with scene.browser(ada) as browser:
        await agreed_as(scene, browser, "first")
        await browser.connect()
        (before,) = await scene.accounts()
        await without_refresh_token(scene)
        assert "Shop is connected" in shown(await browser.connect())
        (after,) = await scene.accounts()
        assert (after["id"], after["refresh"] is None) == (before["id"], False)


async def test_a_dead_refresh_token_is_not_inherited(scene: Scene) -> None:
    ada = await scene.person("ada@acme.test")
    async with scene.browser(ada) as browser:
        await agreed_as(scene, browser, "first")
        await browser.connect()
        await scene.execute("UPDATE vault.accounts SET status = 'needs_reauth', reason = 'revoked'")
        await without_refresh_token(scene)
        assert "Shop is connected" in shown(await browser.connect())
        (after,) = await scene.accounts()
        assert (after["status"], after["refresh"]) == ("active", None)
