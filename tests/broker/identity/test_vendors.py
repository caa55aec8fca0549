"""Google, Microsoft and GitHub: whose word counts for which address, and which accounts are none of ours."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from broker.identity.settings import IdentitySettings
from tests.broker.identity.browser import Browser
from tests.broker.identity.identity_app import IdentityApp, RealClock, callback, house_on
from tests.broker.identity.vendors import CLIENT_ID, CLIENT_SECRET, DIRECTORY, GitHubVendor, OpenIdVendor, serving
from tests.support.postgres import ScratchDatabase

CLIENT = {"id": "company", "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}


@contextlib.asynccontextmanager
async def at(
    vendor: OpenIdVendor | GitHubVendor, database: ScratchDatabase, **settings: Any
) -> AsyncIterator[tuple[IdentityApp, Browser]]:
    """A person's browser at a product that knows only this vendor; settings may hold its origin as {origin}."""
    async with serving(vendor):
        vendor.now = RealClock()
        filled = {name: value.format(origin=vendor.origin) for name, value in settings.items()}
        async with house_on(database, [{**CLIENT, **filled}]) as app, app.browser() as browser:
            await app.people.tenant("acme", "@acme.test", "ada@gmail.com")
            yield app, browser


def google(**claims: Any) -> OpenIdVendor:
    return OpenIdVendor(callback(), claims=claims)


def microsoft(**claims: Any) -> OpenIdVendor:
    return OpenIdVendor(callback(), path=f"/{DIRECTORY}/v2.0", claims={"tid": DIRECTORY, **claims})


GOOGLE = {"kind": "google", "issuer": "{origin}"}
MICROSOFT = {"kind": "microsoft", "base_url": "{origin}", "tenant": DIRECTORY}
GITHUB = {"kind": "github", "base_url": "{origin}", "api_url": "{origin}/api"}
ADA = {"email": "ada@acme.test", "email_verified": True}
UNVERIFIED = "Your address is not verified"


def test_google_is_google_unless_it_is_said_otherwise() -> None:
    found = IdentitySettings.model_validate({"providers": [{**CLIENT, "kind": "google"}]})
    assert found.providers[0].issuer == "https://accounts.google.com"


@pytest.mark.parametrize(
    ("claims", "who"),
    [
        ({**ADA, "hd": "acme.test"}, "ada@acme.test"),
        ({"email": "Ada@GMail.com", "email_verified": True}, "ada@gmail.com"),
    ],
)
async def test_google(database: ScratchDatabase, claims: dict[str, Any], who: str) -> None:
    async with at(google(**claims), database, **GOOGLE) as (app, browser):
        page = await browser.post("/sign-in/start", provider="company")
        assert await app.signed_in_as(browser) == who
        assert page.status_code == 200


@pytest.mark.parametrize(
    ("claims", "told"),
    [
        (ADA, UNVERIFIED),  # somebody's own account of the company's address, perhaps of when they still worked there
        ({**ADA, "hd": ""}, UNVERIFIED),
        ({**ADA, "hd": ["acme.test"]}, UNVERIFIED),
        ({**ADA, "hd": "acme.test", "email_verified": False}, UNVERIFIED),
        ({"hd": "acme.test"}, "did not confirm who you are"),
    ],
)
async def test_google_answers_that_sign_nobody_in(database: ScratchDatabase, claims: dict[str, Any], told: str) -> None:
    async with at(google(**claims), database, **GOOGLE) as (app, browser):
        page = await browser.post("/sign-in/start", provider="company")
        assert await app.signed_in_as(browser) == ""
        assert page.status_code == 403
        assert told in page.text


@pytest.mark.parametrize("named", ["https://accounts.google.com.evil.test", "http://127.0.0.1:1", "x"])
async def test_metadata_of_another_issuer(database: ScratchDatabase, named: str) -> None:
    vendor = google(**ADA, hd="acme.test")
    vendor.named = named
    async with at(vendor, database, **GOOGLE) as (_, browser):
        response = await browser.send("/sign-in/start", provider="company")
        assert response.status_code == 503
        assert vendor.asked == []


@pytest.mark.parametrize(
    ("claims", "who"),
    [
        ({"email": "ada@acme.test", "xms_edov": True}, "ada@acme.test"),
        ({"email": "ada@acme.test", "xms_edov": "1"}, "ada@acme.test"),
        ({"email": "ada@acme.test"}, ""),  # whoever administers the directory wrote that
        ({"email": "ada@acme.test", "xms_edov": False}, ""),
        ({"email": "ada@acme.test", "xms_edov": "0"}, ""),
        ({"email": "ada@acme.test", "email_verified": True}, ""),
        ({"preferred_username": "ada@acme.test", "xms_edov": True}, ""),
        ({"upn": "ada@acme.test", "unique_name": "ada@acme.test", "xms_edov": True}, ""),
    ],
)
async def test_microsoft(database: ScratchDatabase, claims: dict[str, Any], who: str) -> None:
    vendor = microsoft(**claims)
    vendor.userinfo = {"sub": "1", "email": "ada@acme.test", "email_verified": True}
    async with at(vendor, database, **MICROSOFT) as (app, browser):
        await browser.post("/sign-in/start", provider="company")
        assert await app.signed_in_as(browser) == who
        assert vendor.userinfo_asked == 0


@pytest.mark.parametrize("tid", ["99999999-2222-3333-4444-555555555555", "", None, DIRECTORY + "0"])
async def test_an_account_of_another_directory(database: ScratchDatabase, tid: object) -> None:
    vendor = microsoft(email="ada@acme.test", xms_edov=True) if tid is None else microsoft(
        email="ada@acme.test", xms_edov=True, tid=tid
    )  # fmt: skip
    if tid is None:
        del vendor.claims["tid"]
    async with at(vendor, database, **MICROSOFT) as (app, browser):
        await browser.post("/sign-in/start", provider="company")
        assert await app.signed_in_as(browser) == ""
        [event] = await app.people.events("sign_in.refused")
        assert (event.detail or {})["reason"] == "id_token tid"


@pytest.mark.parametrize("tenant", [DIRECTORY, "acme.onmicrosoft.test"])
async def test_a_directory_by_id_or_by_domain(database: ScratchDatabase, tenant: str) -> None:
    vendor = microsoft(email="ada@acme.test", xms_edov=True)
    vendor.path = f"/{tenant}/v2.0"
    async with at(vendor, database, **{**MICROSOFT, "tenant": tenant}) as (app, browser):
        vendor.named = f"{vendor.origin}/{DIRECTORY}/v2.0"
        await browser.post("/sign-in/start", provider="company")
        assert await app.signed_in_as(browser) == "ada@acme.test"
        [issuer] = [await app.people.value("SELECT issuer FROM auth.identities")]
        assert issuer == vendor.named


async def test_a_directory_that_answers_for_another(database: ScratchDatabase) -> None:
    vendor = microsoft(email="ada@acme.test", xms_edov=True)
    async with at(vendor, database, **MICROSOFT) as (_, browser):
        vendor.named = f"{vendor.origin}/99999999-2222-3333-4444-555555555555/v2.0"
        assert (await browser.send("/sign-in/start", provider="company")).status_code == 503


@pytest.mark.parametrize("tenant", ["common", "organizations", "Consumers", ""])
def test_microsoft_without_a_directory_is_refused(tenant: str) -> None:
    with pytest.raises(ValueError, match="tenant"):
        IdentitySettings.model_validate({"providers": [{**CLIENT, "kind": "microsoft", "tenant": tenant}]})


async def test_userinfo_is_asked_only_where_the_address_is_missing(database: ScratchDatabase) -> None:
    vendor = google(hd="acme.test")
    vendor.userinfo = {"sub": "1", "email": "ada@acme.test", "email_verified": True, "name": "Ada", "hd": "evil"}
    async with at(vendor, database, **GOOGLE) as (app, browser):
        await browser.post("/sign-in/start", provider="company")
        assert await app.signed_in_as(browser) == "ada@acme.test"
        vendor.claims |= {"email": "ada@acme.test", "email_verified": True}
        await browser.post("/sign-in/start", provider="company")
        assert vendor.userinfo_asked == 1


@pytest.mark.parametrize("subject", ["2", "", None, 1])
async def test_userinfo_of_somebody_else(database: ScratchDatabase, subject: object) -> None:
    vendor = google(hd="acme.test")
    vendor.userinfo = {"sub": subject, "email": "ada@acme.test", "email_verified": True}
    async with at(vendor, database, **GOOGLE) as (app, browser):
        await browser.post("/sign-in/start", provider="company")
        assert await app.signed_in_as(browser) == ""
        [event] = await app.people.events("sign_in.refused")
        assert (event.detail or {})["reason"] == "userinfo sub"


def entry(email: str, *, primary: bool = True, verified: object = True) -> dict[str, Any]:
    return {"email": email, "primary": primary, "verified": verified, "visibility": None}


@pytest.mark.parametrize(
    ("emails", "who"),
    [
        ([entry("ada@home.test", primary=False), entry("Ada@Acme.test")], "ada@acme.test"),
        ([entry("ada@acme.test", verified=False)], ""),
        ([entry("ada@acme.test", verified="true")], ""),
        ([entry("ada@acme.test", primary=False), entry("ada@home.test")], ""),
        ([entry("ada@acme.test", primary=False)], ""),
        ([], ""),
        ({"message": "no list"}, ""),
        ([None, 5, "ada@acme.test"], ""),
    ],
)
async def test_github(database: ScratchDatabase, emails: Any, who: str) -> None:
    vendor = GitHubVendor(callback(), emails=emails)
    async with at(vendor, database, **GITHUB) as (app, browser):
        await browser.post("/sign-in/start", provider="company")
        assert await app.signed_in_as(browser) == who
        [asked] = vendor.asked
        assert (asked["scope"], asked["redirect_uri"]) == ("read:user user:email", callback())
        if who:
            assert await app.people.value("SELECT subject FROM auth.identities") == "583231"
            assert await app.people.value("SELECT issuer FROM auth.identities") == vendor.origin


async def test_github_knows_people_by_their_number(database: ScratchDatabase) -> None:
    """Ada renames herself, and Eve takes her old name."""
    vendor = GitHubVendor(callback(), emails=[entry("ada@acme.test")])
    async with at(vendor, database, **GITHUB) as (app, browser):
        await browser.post("/sign-in/start", provider="company")
        vendor.user = {"id": 583231, "login": "countess"}
        await browser.post("/sign-in/start", provider="company")
        assert await app.people.value("SELECT count(*) FROM core.users") == 1
        vendor.user, vendor.emails = {"id": 666, "login": "ada", "name": "Ada"}, [entry("eve@acme.test")]
        await browser.post("/sign-in/start", provider="company")
        assert await app.signed_in_as(browser) == "eve@acme.test"


@pytest.mark.parametrize("user", [{}, {"id": "583231"}, {"id": None}, {"id": True}, [], {"message": "Bad"}])
async def test_github_without_a_number(database: ScratchDatabase, user: Any) -> None:
    vendor = GitHubVendor(callback(), user=user, emails=[entry("ada@acme.test")])
    async with at(vendor, database, **GITHUB) as (app, browser):
        page = await browser.post("/sign-in/start", provider="company")
        assert page.status_code == 403
        assert await app.signed_in_as(browser) == ""


@pytest.mark.parametrize("iss", ["https://evil.test", "https://github.com", ""])
async def test_github_s_answers_of_others(database: ScratchDatabase, iss: str) -> None:
    vendor = GitHubVendor(callback(), emails=[entry("ada@acme.test")])
    async with at(vendor, database, **GITHUB) as (_, browser):
        url = await browser.answer(await browser.start())
        assert (await browser.http.get(f"{url}&iss={iss}")).status_code == 403


@pytest.mark.parametrize("settings", [GOOGLE, GITHUB], ids=["google", "github"])
async def test_a_wrong_secret_of_ours_is_told_without_the_vendor_s_words(
    database: ScratchDatabase, settings: dict[str, str]
) -> None:
    vendor = google(**ADA, hd="acme.test") if settings is GOOGLE else GitHubVendor(callback())
    async with at(vendor, database, **settings, client_secret="wrong") as (app, browser):
        page = await browser.post("/sign-in/start", provider="company")
        assert page.status_code == 403
        assert "EVIL" not in page.text
        [event] = await app.people.events("sign_in.refused")
        assert (event.detail or {})["reason"] == "token"
