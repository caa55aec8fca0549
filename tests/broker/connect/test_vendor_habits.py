"""The connect flow with the product's own provider documents, against counterparts that have each vendor's habits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from broker.oauth_client.requests import get_expected_issuer
from broker.providers.catalogue import load_builtin_providers
from tests.broker.connect.connect_app import Browser, ConnectApp, parameters, shown, vendors_on
from tests.support.postgres import ScratchDatabase
from tests.support.product import Person
from tests.support.vendor_tokens import STYLES, VendorTokens, vendor_tokens

PROVIDER = "counterpart"
WHOSE = {
    "google": "1077",
    "microsoft": "00000000-aaaa",
    "atlassian": "5b10a",
    "github": "583231",
}
FIXED = frozenset({"github", "notion", "supabase"})
"""Their scopes are set at the app."""


@dataclass
class Market:
    """An app in which the tenant's shop and till are at one vendor."""

    app: ConnectApp
    vendor: VendorTokens
    ada: Person

    async def answer(self, browser: Browser, *unticked: str, **fields: str) -> tuple[dict[str, str], str]:
        """Begin, and agree at the vendor but for what is unticked: what was asked, and the answer's address."""
        asked = parameters(await browser.start("shop", PROVIDER, **fields))
        code = self.vendor.state.consent(asked.get("scope", "").split(), asked["redirect_uri"], "", unticked, asked)
        if self.vendor.style.pkce:
            self.vendor.state._codes[code].challenge = asked["code_challenge"]
        answer = {"code": code, "state": asked["state"]}
        if issuer := get_expected_issuer(self.vendor.provider, self.vendor.client):
            answer["iss"] = issuer
        return asked, f"/connect/callback/{PROVIDER}?{urlencode(answer)}"


@asynccontextmanager
async def market_of(name: str, database: ScratchDatabase, folder: Path, **habits: Any) -> AsyncIterator[Market]:
    async with (
        vendor_tokens(replace(STYLES[name], **habits)) as vendor,
        vendors_on(database, folder, urlsplit(vendor.url).netloc) as app,
    ):
        document: dict[str, Any] = vendor.provider.model_dump(mode="json", by_alias=True, exclude_none=True)
        families = {"reading": ["one"], "writing": ["two"]}
        document |= {"modules": {"shop": families, "till": families}, "api": [app.shop.url]}
        del document["id"]
        document.pop("key", None)
        tenant = await app.tenant()
        await app.provider(tenant, PROVIDER, document)
        await app.execute("DELETE FROM vault.providers WHERE id = 'vendor'")
        client = vendor.client
        assert client.secret is not None
        await app.register(tenant, PROVIDER, client.client_id, client.secret.reveal(), settings=dict(client.settings))
        yield Market(app, vendor, await app.person("ada@acme.test", allow=["shop.*", "till.*"]))


@pytest.mark.parametrize("name", ["google", "microsoft", "notion", "atlassian", "github", "supabase"])
async def test_connect_and_disconnect(name: str, database: ScratchDatabase, tmp_path: Path) -> None:
    async with market_of(name, database, tmp_path) as market, market.app.browser(market.ada) as browser:
        asked, back = await market.answer(browser, **{"also.till": "on"})
        assert ("scope" in asked) == (name not in FIXED)
        assert ("code_challenge" in asked) == market.vendor.style.pkce
        page = await browser.get(back)
        if name == "atlassian":
            assert "Which site" in shown(page)
            page = await browser.follow(str(page.url), decision="connect", site="c2")
            assert "at beta" in shown(page)
        assert "Shop is connected" in shown(page), shown(page)
        assert "did not grant" not in shown(page)
        (account,) = await market.app.accounts()
        assert account["status"] == "active"
        assert account["refresh"] is not None
        assert account["vendor_account_id"] == WHOSE.get(name, account["vendor_account_id"])
        assert account["vendor_account_id"]
        modules = await market.app.rows("SELECT module FROM vault.credentials ORDER BY module")
        assert [row["module"] for row in modules] == ["shop", "till"]
        page = await browser.follow("/connect/shop/disconnect")
        can_revoke = market.vendor.style.revoke is not None
        assert ("access was revoked at the vendor" if can_revoke else "could not be revoked") in shown(page)
        assert market.vendor.state.grants[0].dead is can_revoke
        await market.app.nothing_stored()
        assert market.vendor.wrong == []


async def test_what_a_person_unticks_is_told_and_more_is_kept(database: ScratchDatabase, tmp_path: Path) -> None:
    async with market_of("google", database, tmp_path) as market, market.app.browser(market.ada) as browser:
        _, back = await market.answer(browser, "one")
        page = await browser.get(back)
        assert "did not grant all that was asked for" in shown(page)
        (account,) = await market.app.accounts()
        assert "one" not in account["scopes"]
        _, back = await market.answer(browser)
        assert "did not grant" not in shown(await browser.get(back))
        # Asked for more, the person takes away what there was: the grant before is worth more and stays.
        (before,) = await market.app.accounts()
        _, back = await market.answer(browser, "one", writing="on")
        assert "Nothing was changed" in shown(await browser.get(back))
        assert await market.app.accounts() == [before]
        assert not market.vendor.state.grants[1].dead
        # Another name for the same scope is no scope less.
        _, back = await market.answer(browser, writing="on")
        assert "Shop is connected" in shown(await browser.get(back))
        (after,) = await market.app.accounts()
        assert (after["id"], set(after["scopes"]) >= {"one", "two"}) == (before["id"], True)


async def test_a_grant_whose_service_has_moved_is_worth_less_than_any_new_one(
    database: ScratchDatabase, tmp_path: Path
) -> None:
    async with market_of("google", database, tmp_path) as market, market.app.browser(market.ada) as browser:
        _, back = await market.answer(browser)
        await browser.get(back)
        before = "UPDATE vault.credentials SET origins = '{https://shop-before.test}'"
        await market.app.execute(before)  # as if the service had been there until now
        _, back = await market.answer(browser, "one")
        assert "Nothing was changed" not in shown(await browser.get(back))
        bound = await market.app.rows("SELECT origins FROM vault.credentials")
        assert "https://shop-before.test" not in bound[0]["origins"]


async def test_a_vendor_that_gives_the_same_grant_again_keeps_it(database: ScratchDatabase, tmp_path: Path) -> None:
    """Notion, for connections that were made before June 2026."""
    async with (
        market_of("notion", database, tmp_path, same_grant_again=True) as market,
        market.app.browser(market.ada) as browser,
    ):
        for _ in range(2):
            _, back = await market.answer(browser)
            assert "Shop is connected" in shown(await browser.get(back))
        [account] = await market.app.accounts()
        [grant] = market.vendor.state.grants
        assert (account["status"], grant.dead) == ("active", False)


async def test_atlassian_s_services_share_one_grant_and_its_site(database: ScratchDatabase, tmp_path: Path) -> None:
    """Jira and Confluence (here: shop and till), as the page offers it: another site is another one for both."""
    async with market_of("atlassian", database, tmp_path) as market, market.app.browser(market.ada) as browser:
        for site in ("c2", "c1"):
            asked, back = await market.answer(browser, **{"also.till": "on"})
            assert asked["scope"].split() == ["offline_access", "read:me", "one"]
            question = await browser.get(back)
            await browser.follow(str(question.url), decision="connect", site=site)
            rows = await market.app.rows(
                "SELECT c.module, a.details ->> 'site' AS site FROM vault.credentials c JOIN vault.accounts a "
                "ON a.tenant_id = c.tenant_id AND a.id = c.account_id ORDER BY c.module"
            )
            assert [(row["module"], row["site"]) for row in rows] == [("shop", site), ("till", site)]
            assert len(await market.app.accounts()) == 1
        assert market.vendor.wrong == []


def test_which_services_of_ours_share_a_grant() -> None:
    catalogue = load_builtin_providers()
    shared = {name: set(catalogue.get(name).modules) for name in ("atlassian", "google", "microsoft")}
    assert shared == {
        "atlassian": {"jira", "confluence"},
        "google": {"google_calendar"},
        "microsoft": {"microsoft_todo"},
    }
