"""Two tenants at one broker: what one's vendor does is the other's only where both have the same vendor."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from broker.connections.account_snapshot import AccessToken, TokenUnavailable, UnavailableReason
from broker.oauth_client.types import ErrorClass, OAuthClientConfig, TokenResult, TokenSet, allow_sending
from broker.providers.catalogue import get_token_endpoint_key, load_builtin_providers
from broker.providers.schema import Provider
from broker.refresh.scheduler import RefreshScheduler
from broker.refresh.token_service import AccountTokenService
from core.concurrency.fair_semaphore import FairSemaphore
from core.secret import Secret
from tests.broker.refresh.endpoints import Scripted, failed
from tests.broker.refresh.refresh_app import FixedProviders, RefreshApp
from tests.broker.refresh.vendor import HOUR
from tests.support.eventually import within
from tests.support.postgres import add_tenant

ONE, OTHER = UUID(int=1), UUID(int=2)
URLS = {"authorize_url": "https://evil.test/authorize", "token_url": "https://evil.test/token"}
OWN = Provider.model_validate({"id": "vendor", "title": "A tenant's own", "oauth": URLS})
GOOGLE = load_builtin_providers().get("google")
GITHUB = load_builtin_providers().get("github")
MICROSOFT = load_builtin_providers().get("microsoft")
REFUSED = failed(ErrorClass.PERMANENT)


class Hanging(Scripted):
    """Grants, but to the client `ill` only when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = 0
        self.go = asyncio.Event()

    async def refresh(
        self,
        provider: Provider,
        client: OAuthClientConfig,
        refresh: Secret,
        *,
        may_send: Callable[[], bool] = allow_sending,
    ) -> TokenResult:
        if client.client_id == "ill":
            self.waiting += 1
            await self.go.wait()
        return await super().refresh(provider, client, refresh, may_send=may_send)


class Pair:
    """A tenant that means ill, one that does not, and the broker of both."""

    def __init__(self, ill: RefreshApp, good: RefreshApp) -> None:
        self.ill = ill
        self.good = good

    async def connect(self, app: RefreshApp, provider: Provider, many: int, **settings: str) -> list[UUID]:
        client = OAuthClientConfig("ill" if app is self.ill else "good", Secret("cs-000007-made"), "", settings)
        found: list[UUID] = []
        for number in range(many):
            access, refresh = Secret(f"at-{number:08}-x"), Secret(f"rt-{number:08}-x")
            found.append(await app.link(provider, client, TokenSet(access, refresh, float(HOUR), None)))
        return found

    def broker(self, endpoint: Scripted, *providers: Provider) -> AccountTokenService:
        return self.good.another(endpoint=endpoint, providers=FixedProviders(providers))

    async def statuses(self, accounts: list[UUID]) -> list[str]:
        return [(await self.good.row(one))["status"] for one in accounts]


@pytest.fixture
async def pair(app: RefreshApp) -> Pair:
    other = await add_tenant(app.scratch)
    return Pair(replace(app, tenant=other, clients={}), replace(app, clients={}))


def test_only_what_no_tenant_chooses_is_counted_for_all() -> None:
    assert (
        get_token_endpoint_key(ONE, GOOGLE, {})
        == get_token_endpoint_key(OTHER, GOOGLE, {})
        == "https://oauth2.googleapis.com"
    )
    assert get_token_endpoint_key(ONE, MICROSOFT, {"tenant": "contoso.example"}) == "https://login.microsoftonline.com"
    assert get_token_endpoint_key(ONE, GITHUB, {"base_url": "https://github.com"}) == get_token_endpoint_key(
        OTHER, GITHUB, {}
    )
    for provider, settings in (
        (OWN, {}),
        (GITHUB, {"base_url": "https://github.example"}),
        (MICROSOFT, {"authority": "https://login.example"}),
        (MICROSOFT, {"authority": "no url"}),
        (load_builtin_providers().get("oauth2"), {"token_url": "https://oauth2.googleapis.com/token"}),
        (load_builtin_providers().get("oidc"), {}),
        (GOOGLE.model_copy(update={"title": "Another google"}), {}),
    ):
        assert get_token_endpoint_key(ONE, provider, settings).startswith(f"{ONE} ")
        assert get_token_endpoint_key(ONE, provider, settings) != get_token_endpoint_key(OTHER, provider, settings)


@pytest.mark.parametrize(
    ("provider", "settings"), [(OWN, {}), (GITHUB, {"base_url": "https://evil.test"})], ids=["own", "host"]
)
async def test_a_tenant_s_own_server_hides_no_other_tenant_s_revocation(
    pair: Pair, provider: Provider, settings: dict[str, str]
) -> None:
    ill = await pair.connect(pair.ill, provider, 12, **settings)
    good = await pair.connect(pair.good, provider, 2)
    await pair.good.ahead(HOUR + 10)
    broker = pair.broker(Scripted(*[REFUSED] * 14), provider)
    for account in ill:
        await broker.get_access_token(pair.ill.tenant.id, account)
    assert "active" in await pair.statuses(ill)
    answer = await broker.get_access_token(pair.good.tenant.id, good[0])
    assert answer == TokenUnavailable(UnavailableReason.NEEDS_REAUTH, "revoked")
    for account in ill:
        await broker.get_access_token(pair.ill.tenant.id, account)
    await broker.get_access_token(pair.ill.tenant.id, (await pair.connect(pair.ill, provider, 1, **settings))[0])
    assert (await pair.statuses(good))[0] == "needs_reauth", "and nothing is undone either"


async def test_a_company_that_ends_all_its_grants_hides_nobody_else_s_revocation(pair: Pair) -> None:
    """At the real vendor, where everybody is counted together."""
    ill, good = await pair.connect(pair.ill, GOOGLE, 12), await pair.connect(pair.good, GOOGLE, 3)
    await pair.good.ahead(HOUR + 10)
    broker = pair.broker(Scripted(*[REFUSED] * 13), GOOGLE)
    for account in ill[:6]:
        await broker.get_access_token(pair.ill.tenant.id, account)
    assert await broker.get_access_token(pair.good.tenant.id, good[0]) == TokenUnavailable(
        UnavailableReason.NEEDS_REAUTH, "revoked"
    )
    for account in ill[6:]:
        await broker.get_access_token(pair.ill.tenant.id, account)
    assert await pair.statuses(ill) == ["active"] * 12
    assert await pair.statuses(good) == ["needs_reauth", "active", "active"]


async def test_an_outage_of_the_vendor_of_both_is_one_for_both_and_undone_for_both(pair: Pair) -> None:
    ill, good = await pair.connect(pair.ill, GOOGLE, 3), await pair.connect(pair.good, GOOGLE, 4)
    other = await pair.connect(pair.good, OWN, 1)
    await pair.good.ahead(HOUR + 10)
    broker = pair.broker(Scripted(*[REFUSED] * 8), GOOGLE, OWN)
    await broker.get_access_token(pair.good.tenant.id, other[0])
    for account in ill:
        await broker.get_access_token(pair.ill.tenant.id, account)
    assert await pair.statuses(ill) == ["needs_reauth"] * 3
    for account in good:
        await broker.get_access_token(pair.good.tenant.id, account)
    assert await pair.statuses(ill + good) == ["active"] * 7
    assert await pair.statuses(other) == ["needs_reauth"], "of another endpoint"


@pytest.mark.parametrize("provider", [OWN, GOOGLE], ids=["own", "shared"])
async def test_a_tenant_whose_vendor_hangs_takes_nobody_else_s_turn(pair: Pair, provider: Provider) -> None:
    ill, good = await pair.connect(pair.ill, provider, 60), await pair.connect(pair.good, provider, 3)
    await pair.good.ahead(HOUR + 10)
    broker = pair.broker(endpoint := Hanging(), provider)
    stuck = [asyncio.create_task(broker.get_access_token(pair.ill.tenant.id, one, within=60)) for one in ill]
    try:
        await within(10, lambda: _true(endpoint.waiting == 16))
        for account in good:
            assert isinstance(await broker.get_access_token(pair.good.tenant.id, account, within=5), AccessToken)
        assert endpoint.waiting == 16, "no more than its turns"
    finally:
        endpoint.go.set()
        await asyncio.gather(*stuck)


async def test_a_sweeper_leaves_nobody_behind_who_hangs(pair: Pair) -> None:
    ill, good = await pair.connect(pair.ill, OWN, 60), await pair.connect(pair.good, OWN, 20)
    await pair.good.execute(
        "UPDATE vault.accounts SET refresh_at = refresh_at - interval '1 s' WHERE id = ANY($1)", ill
    )
    await pair.good.ahead(HOUR - 200)
    broker = pair.broker(endpoint := Hanging(), OWN)
    running = asyncio.create_task(
        RefreshScheduler(broker, pair.good.database, pair.good.tools.timing, every=0.05).run()
    )

    async def refreshed() -> bool:
        sql = "SELECT count(*) FROM vault.accounts WHERE id = ANY ($1) AND refreshed_at IS NULL"
        async with pair.good.scratch.admin_connection() as admin:
            return not await admin.fetchval(sql, good)

    try:
        await within(20, refreshed)
        good += await pair.connect(pair.good, OWN, 2)  # found by a later look
        await pair.good.execute("UPDATE vault.accounts SET refresh_at = vault.clock() WHERE id = ANY ($1)", good[-2:])
        await within(20, refreshed)
        assert endpoint.waiting <= 8
    finally:
        running.cancel()
        endpoint.go.set()
        await asyncio.gather(running, return_exceptions=True)
        await broker.drain()


async def test_who_has_many_due_comes_in_turn(pair: Pair) -> None:
    ill, good = await pair.connect(pair.ill, OWN, 30), await pair.connect(pair.good, OWN, 3)
    await pair.good.execute(
        "UPDATE vault.accounts SET refresh_at = refresh_at - interval '9 s' WHERE id = ANY($1)", ill
    )
    await pair.good.ahead(HOUR)

    async def due(most_each: int, most: int) -> list[UUID]:
        sql = "SELECT account_id FROM vault.due_accounts('14 days', $1, $2)"
        return [row["account_id"] for row in await pair.good.database.fetch(sql, most_each, most)]

    assert set(good) <= set(await due(50, 6))
    assert len(await due(50, 100)) == 33
    assert len(await due(5, 100)) == 8


@pytest.mark.parametrize("table", ["users", "tenants"])
async def test_who_is_suspended_is_not_refreshed_until_they_are_back(pair: Pair, table: str) -> None:
    (ill,), (good,) = await pair.connect(pair.ill, OWN, 1), await pair.connect(pair.good, OWN, 1)
    broker = pair.broker(endpoint := Scripted(), OWN)
    sweeper = RefreshScheduler(broker, pair.good.database, pair.good.tools.timing)

    async def set_status(status: str) -> None:
        await pair.good.execute(f"UPDATE core.{table} SET status = $2 WHERE tenant_id = $1", pair.ill.tenant.id, status)

    await set_status("suspended")
    await pair.good.ahead(HOUR + 10)
    assert await sweeper.sweep() == 1
    assert (await pair.good.row(ill))["refreshed_at"] is None
    await pair.good.execute("UPDATE vault.accounts SET idle_at = vault.clock() WHERE id = $1", ill)
    assert await sweeper.sweep() == 0, "nor kept alive"
    await set_status("active")
    assert await sweeper.sweep() == 1
    answer = await broker.get_access_token(pair.ill.tenant.id, ill)
    assert isinstance(answer, AccessToken)
    assert len(endpoint.shown) == 2
    assert (await pair.good.row(good))["refreshed_at"] is not None


async def test_turns_are_of_a_key_of_a_tenant_and_of_all() -> None:
    turns, go = FairSemaphore(per_key=2, tenant=3, all=5), asyncio.Event()
    had: list[tuple[UUID, Any]] = []

    async def take(tenant: UUID, key: Any) -> None:
        async with turns.slot(tenant, key):
            had.append((tenant, key))
            await go.wait()

    keys = [(ONE, "a")] * 9 + [(ONE, "b")] * 9 + [(OTHER, "a")] * 9
    tasks = [asyncio.create_task(take(*key)) for key in keys]
    await asyncio.sleep(0.01)
    assert sorted(had) == sorted([(ONE, "a"), (ONE, "a"), (ONE, "b"), (OTHER, "a"), (OTHER, "a")])
    tasks[8].cancel()
    go.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert len(had) == 26
    assert len(turns) == 0


async def _true(value: bool) -> bool:
    return value
