"""Where connecting itself has failed in other gateways (peers.md §2G), and what tokens are for: being used."""

import html
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from httpx2 import AsyncClient

from tests.broker.connect.connect_app import GOES_ON, Browser, shown
from tests.broker.doctor.doctor_app import Case, DoctorApp, doctor_app_on
from tests.support.eventually import within
from tests.support.identity import identity_on
from tests.support.postgres import ScratchDatabase

STYLES = ("google", "fitbit")


@pytest.fixture
async def app(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[DoctorApp]:
    async with doctor_app_on(database, tmp_path, *STYLES) as made:
        yield made


async def states(case: Case) -> dict[str, str]:
    return {one["module"]: one["state"] for one in (await case.asked("/connections"))["items"]}


async def through(case: Case) -> None:
    """The call goes through, as soon as what a gateway holds is void."""

    async def goes() -> bool:
        return not (await case.called_by(case.person)).failed

    await within(2, goes)


async def test_2g_56_a_callback_in_a_browser_that_single_sign_on_let_in(app: DoctorApp) -> None:
    """bifrost#6114 answers it with 401 once single sign-on is there."""
    case = await app.case("google")
    host = case.vendor.url.partition("://")[2]
    async with identity_on(app.identity.product, allowed_private_hosts=(host,)) as single, AsyncClient() as http:
        await single.let_in(case.tenant, case.person.email)
        await single.company.sign_in_as(case.person.email)
        browser = Browser(http, single.url)
        begun = await browser.post("/sign-in/start", provider="company", next=f"/connect/{case.module}")
        company = GOES_ON.search(begun.text)
        assert company
        page = await browser.get(await browser.consent(html.unescape(company[1])))
        assert "Continue to Google" in shown(page), "signed in, and on the page that was asked for"
        back = case.vendor.state.agree(await browser.start(case.module, case.provider))
        assert "is connected" in shown(await browser.get(back))
        assert (await case.standing())["state"] == "connected"
        back = case.vendor.state.agree(await browser.start(case.module, case.provider))
        browser.sign_out()
        lost = await browser.get(back)
        assert lost.status_code == 403
        assert "start again" in lost.text, "never a bare 401"
    assert (await case.standing())["state"] == "connected", "what there was stays"


async def test_2g_57_the_token_that_was_granted_is_the_one_that_is_sent(app: DoctorApp) -> None:
    case = await app.case("google")
    await case.connect()
    assert "tea" in (await case.call()).text
    (grant,) = case.vendor.state.grants
    sent = [one.headers.get("Authorization") for one in case.vendor.asked if one.path == "/look"]
    assert sent == [f"Bearer {token}" for token in grant.access]


async def test_2g_58_one_account_is_connected_again_and_the_other_is_left_alone(app: DoctorApp) -> None:
    first = await app.case("google")
    second = Case(app, app.vendors["fitbit"], "shop_fitbit", first.tenant, first.person, "replayed-fitbit")
    await app.add_vendor(first.tenant, "fitbit")
    await first.connect()
    await second.connect()
    before, other = await first.account(), await second.account()
    first.vendor.state.grants[0].dead = True
    await first.run_out()
    await first.call()
    assert await states(first) == {"shop_google": "needs_reconnect", "shop_fitbit": "connected"}
    link = (await first.standing())["action_url"]
    assert "Has to be connected again" in await first.page(link)
    await first.connect()
    after = await first.account()
    assert (after["id"], after["status"]) == (before["id"], "active"), "its history stays"
    assert after["version"] > before["version"]
    assert (await second.account())["version"] >= other["version"]
    assert await states(first) == {"shop_google": "connected", "shop_fitbit": "connected"}
    await through(first)


async def test_2g_59_nothing_is_connected_by_opening_a_link(app: DoctorApp) -> None:
    case = await app.case("google")
    async with case.browser() as browser:
        page = await browser.get(f"/connect/{case.module}")
        assert page.status_code == 200
        assert str(page.url).startswith(app.identity.url), "and nobody is sent anywhere"
    assert await app.rows("SELECT FROM vault.connect_flows") == []


async def test_2g_60_after_disconnecting_there_is_one_link_and_no_loop(app: DoctorApp) -> None:
    case = await app.case("google")
    await case.connect()
    async with case.browser() as browser:
        await browser.follow(f"/connect/{case.module}/disconnect")
    asked = len(case.vendor.asked)
    for _ in range(3):
        heard = await case.call()
        assert heard.failed
        assert heard.text.count(f"{app.identity.url}/connect/{case.module}") == 1
    assert len(case.vendor.asked) == asked, "the vendor hears nothing of what was disconnected"
    assert (await case.standing())["state"] == "needs_connect"
    await case.connect()
    await through(case)
    assert (await case.standing())["state"] == "connected"


@pytest.mark.parametrize("ended", [False, True])
async def test_2g_62_a_refused_token_is_renewed_and_if_that_fails_there_is_a_link(app: DoctorApp, ended: bool) -> None:
    """docker-agent#3198, #2417: `invalid_token` for ever. The vendor's API says 401 long before the token's time."""
    case = await app.case("google")
    await case.connect()
    assert not (await case.called_by(case.person)).failed
    (grant,) = case.vendor.state.grants
    grant.access.clear()
    grant.dead = ended
    await app.later(60)
    heard = await case.called_by(case.person)
    assert heard.failed == ended
    if not ended:
        assert "tea" in heard.text, "in the same call"
        return
    assert f"Connect it again at {app.identity.url}/connect/{case.module}" in heard.text
    assert (await case.standing())["cause"] == "revoked"
    await case.connect()
    await through(case)
    assert (await case.standing())["state"] == "connected"
