"""What may be used once is used once, however many bring it at the same moment, on however many processes (G14)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from broker.identity.providers.identity_provider import VerifiedAccount
from broker.identity.random_secrets import new_secret
from broker.identity.sign_in_state import PendingSignIns
from tests.broker.identity.identity_app import IdentityApp, RealClock, callback, house_on
from tests.broker.identity.people import ACTOR
from tests.broker.identity.vendors import CLIENT_ID, CLIENT_SECRET, GitHubVendor, serving
from tests.support.postgres import ScratchDatabase

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
FLOW = "__Host-mcpist-flow"


@pytest.fixture
async def github() -> AsyncIterator[GitHubVendor]:
    vendor = GitHubVendor(callback("github"), emails=[{"email": "ada@acme.test", "primary": True, "verified": True}])
    async with serving(vendor):
        vendor.now = RealClock()
        yield vendor


@pytest.fixture
async def app(database: ScratchDatabase, github: GitHubVendor) -> AsyncIterator[IdentityApp]:
    settings = {
        "id": "github",
        "kind": "github",
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "base_url": github.origin,
        "api_url": f"{github.origin}/api",
    }
    async with house_on(database, [settings]) as made:
        yield made


@pytest.mark.guarantee("G14")
async def test_a_state_counts_once_for_twenty_who_bring_it(database: ScratchDatabase) -> None:
    async with database.open("mcpist_broker") as one, database.open("mcpist_broker") as other:
        both = [PendingSignIns(one, clock=lambda: NOW), PendingSignIns(other, clock=lambda: NOW)]
        for _ in range(5):
            binding = new_secret()
            await both[0].begin(binding, "company", "/account", None)
            taken = await asyncio.gather(*(both[n % 2].consume(binding, "company") for n in range(20)))
            assert sum(found is not None for found in taken) == 1


@pytest.mark.guarantee("G14")
async def test_a_choice_of_a_tenant_counts_once_for_twenty_who_make_it(database: ScratchDatabase) -> None:
    account = VerifiedAccount("https://idp.test", "1", "ada@acme.test", True)
    async with database.open("mcpist_broker") as one, database.open("mcpist_broker") as other:
        both = [PendingSignIns(one, clock=lambda: NOW), PendingSignIns(other, clock=lambda: NOW)]
        for _ in range(5):
            binding = new_secret()
            await both[0].begin(binding, "company", "/account", None)
            await both[0].consume(binding, "company")
            await both[0].store_verified(binding, account)
            chosen = await asyncio.gather(*(both[n % 2].consume_verified(binding) for n in range(20)))
            assert sum(found is not None for found in chosen) == 1


@pytest.mark.guarantee("G14")
async def test_an_answer_of_a_provider_begins_one_session(app: IdentityApp) -> None:
    """The same browser, twenty times: a reload, a prefetch, or somebody with a copy of all that it sends."""
    await app.people.tenant("acme", "@acme.test")
    async with app.browser() as browser:
        url = await browser.answer(await browser.start("github"))
        headers = {"Cookie": f"{FLOW}={browser.cookies[FLOW]}"}
        browser.http.cookies.clear()
        answers = await asyncio.gather(*(browser.http.get(url, headers=headers) for _ in range(20)))
    assert sorted({one.status_code for one in answers}) in ([303, 410], [303, 410, 429])
    assert sum("session=" in str(one.headers) for one in answers) == 1
    assert await app.people.value("SELECT count(*) FROM auth.sessions") == 1


@pytest.mark.guarantee("G14")
async def test_a_one_time_link_begins_one_session(app: IdentityApp) -> None:
    tenant_id = await app.people.tenant("acme")
    user_id = await app.people.user(tenant_id, "ada@acme.test")
    code = (await app.people.door.links.create(ACTOR, tenant_id, user_id)).reveal()

    async def press(number: int) -> bool:
        async with app.browser(f"192.0.2.{number}") as browser:
            await browser.send("/sign-in/link", code=code)
            return "__Host-mcpist-session" in browser.cookies

    assert sorted(await asyncio.gather(*(press(n) for n in range(20)))) == [False] * 19 + [True]
    assert await app.people.value("SELECT count(*) FROM auth.sessions") == 1
