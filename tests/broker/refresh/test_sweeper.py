"""Ahead of time, kept alive, spread out; and what happens when the process is told to end."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from broker.connections.account_snapshot import (
    AccessToken,
    TokenUnavailable,
    UnavailableReason,
    schedule_keep_alive,
    schedule_refresh,
)
from broker.oauth_client.types import ErrorClass
from broker.providers.schema import RefreshRules
from broker.refresh.decision import RefreshTiming
from broker.refresh.refresher import RefreshDependencies
from broker.refresh.scheduler import RefreshScheduler
from broker.refresh.token_service import AccountTokenService
from tests.broker.refresh.endpoints import Scripted, failed
from tests.broker.refresh.refresh_app import RefreshApp
from tests.broker.refresh.vendor import HOUR, Vendor
from tests.support.eventually import within

DAY = 86_400
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def seconds(rules: RefreshRules, life: float, chance: float) -> float:
    at = schedule_refresh(rules, NOW, life, chance)
    assert at is not None
    return (at - NOW).total_seconds()


@pytest.mark.parametrize(
    ("life", "earliest", "latest"),
    [
        (HOUR, HOUR - 720, HOUR - 360),
        (8 * HOUR, 8 * HOUR * 0.8, 8 * HOUR * 0.9),
        (400, 200, 200),  # never before half of its life
    ],
)
def test_when_a_token_is_refreshed(life: float, earliest: float, latest: float) -> None:
    rules = RefreshRules()
    assert seconds(rules, life, 1.0) == pytest.approx(earliest)
    assert seconds(rules, life, 0.0) == pytest.approx(latest)


def test_where_a_refresh_kills_the_old_access_token_it_comes_late() -> None:
    rules = RefreshRules(late=True, margin_seconds=120)
    assert seconds(rules, 8 * HOUR, 0.0) == 8 * HOUR - 120
    assert seconds(rules, 8 * HOUR, 1.0) == 8 * HOUR - 60


def test_kept_alive_at_a_third_of_the_idle_limit() -> None:
    assert schedule_keep_alive(RefreshRules(idle_days=90), NOW) == NOW + timedelta(days=30)
    assert schedule_keep_alive(RefreshRules(), NOW) is None
    assert schedule_refresh(RefreshRules(), NOW, None, 0.5) is None


def test_backoff_grows_to_five_minutes_with_full_jitter() -> None:
    timing = RefreshTiming()
    most = [timing.choose_backoff(number, lambda: 1.0) for number in (1, 2, 3, 9, 10, 100)]
    assert most == [1, 2, 4, 256, 300, 300]
    assert timing.choose_backoff(100, lambda: 0.0) == 0.25
    assert timing.choose_backoff(10, lambda: 0.5) == 150


def sweeper(app: RefreshApp, **options: float) -> RefreshScheduler:
    return RefreshScheduler(app.accounts, app.database, app.tools.timing, **options)  # type: ignore[arg-type]


async def test_refreshed_before_its_end_while_it_is_used(app: RefreshApp, vendor: Vendor) -> None:
    account = await app.connect(vendor)
    before = await app.token(account)
    assert await sweeper(app).sweep() == 0
    await app.ahead(HOUR - 300)
    assert await sweeper(app).sweep() == 1
    assert await sweeper(app).sweep() == 0
    assert (await app.token(account)).version == before.version + 1
    assert await vendor.calls() == 1


async def test_two_sweepers_and_a_caller_make_one_call(app: RefreshApp, strict: Vendor) -> None:
    accounts = [await app.connect(strict, f"person{number}") for number in range(5)]
    await app.ahead(HOUR - 300)
    other = RefreshScheduler(app.another(), app.database, app.tools.timing)
    await asyncio.gather(sweeper(app).sweep(), other.sweep(), *(app.token(account) for account in accounts))
    assert await strict.calls() == 5
    assert await strict.reuses() == 0


class Queued(AccountTokenService):
    """Those of a process whose turn comes late."""

    def __init__(self, tools: RefreshDependencies) -> None:
        super().__init__(tools)
        self.asked, self.turn = asyncio.Event(), asyncio.Event()

    async def refresh(self, *args: Any, **options: Any) -> AccessToken | TokenUnavailable:
        self.asked.set()
        await self.turn.wait()
        return await super().refresh(*args, **options)


async def test_what_another_sweeper_has_refreshed_since_it_was_listed_is_not_due_any_more(
    app: RefreshApp, strict: Vendor
) -> None:
    account = await app.connect(strict)
    before = await app.token(account)
    await app.ahead(HOUR - 300)
    queued = Queued(app.tools)
    waiting = asyncio.create_task(RefreshScheduler(queued, app.database, app.tools.timing).sweep())
    await queued.asked.wait()
    assert await sweeper(app).sweep() == 1
    queued.turn.set()
    assert await waiting == 1
    assert await strict.calls() == 1
    assert (await app.token(account)).version == before.version + 1
    await app.ahead(2 * HOUR - 600)
    assert await sweeper(app).sweep() == 1, "and it is due again in its time"


async def test_what_nobody_uses_is_refreshed_to_keep_it_alive_only(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(20 * DAY)
    assert await sweeper(app).sweep() == 0
    await app.ahead(30 * DAY + HOUR)
    assert await sweeper(app).sweep() == 1
    assert await strict.calls() == 1
    row = await app.row(account)
    assert row["idle_at"] - row["refreshed_at"] == pytest.approx(timedelta(days=30), abs=timedelta(minutes=1))
    await app.ahead(31 * DAY + HOUR)
    assert await sweeper(app).sweep() == 0, "keeping it alive is no use of it"
    await app.ahead(60 * DAY + 3 * HOUR)
    assert await sweeper(app).sweep() == 1


async def test_a_sweeper_does_not_try_again_before_its_time(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR - 300)
    broker = app.with_endpoint(endpoint := Scripted(failed(ErrorClass.THROTTLED, "too_many_requests", 120.0)))
    sweeps = RefreshScheduler(broker, app.database, app.tools.timing)
    assert await sweeps.sweep() == 1
    assert await sweeps.sweep() == 0
    assert len(endpoint.shown) == 1
    assert isinstance(await app.fresh(account), AccessToken)
    await app.ahead(HOUR - 300 + 130)
    assert await sweeps.sweep() == 1


async def test_a_sweeper_has_patience_with_a_strict_vendor(app: RefreshApp, strict: Vendor) -> None:
    await app.connect(strict)
    await app.ahead(HOUR - 300)
    await strict.fault("hang_up_after")
    await sweeper(app).sweep()
    await app.ahead(HOUR - 200)
    assert await sweeper(app).sweep() == 1
    assert await sweeper(app).sweep() == 0, "until the access token has ended there is nothing to do"
    assert await strict.calls() == 1


async def test_an_oauth_client_that_the_vendor_refuses_is_not_swept(app: RefreshApp, strict: Vendor) -> None:
    for number in range(3):
        await app.connect(strict, f"person{number}")
    await app.ahead(HOUR - 300)
    endpoint = Scripted(*[failed(ErrorClass.SERVICE, "client_refused")] * 9)
    sweeps = RefreshScheduler(app.with_endpoint(endpoint), app.database, app.tools.timing)
    await sweeps.sweep()
    assert await sweeps.sweep() == 0
    assert 1 <= len(endpoint.shown) <= 3


async def test_it_runs_and_outlives_a_failure(
    app: RefreshApp, strict: Vendor, caplog: pytest.LogCaptureFixture
) -> None:
    account = await app.connect(strict)
    await app.execute("ALTER FUNCTION vault.due_accounts(interval, integer, integer) RENAME TO hidden")
    running = asyncio.create_task(sweeper(app, every=0.02).run())

    async def failed() -> bool:
        return "refresh sweep failed" in caplog.messages

    try:
        await within(10, failed)
        await app.execute("ALTER FUNCTION vault.hidden(interval, integer, integer) RENAME TO due_accounts")
        await app.ahead(HOUR - 300)

        async def refreshed() -> bool:
            return (await app.row(account))["refreshed_at"] is not None

        await within(10, refreshed)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_drained_it_ends_what_it_has_begun_and_begins_no_more(app: RefreshApp, strict: Vendor) -> None:
    first, second = await app.connect(strict, "first"), await app.connect(strict, "second")
    await app.ahead(HOUR + 10)
    await strict.fault("delay_after", ms=500)
    under_way = asyncio.create_task(app.fresh(first))
    while await strict.calls() == 0:
        await asyncio.sleep(0.01)
    draining = asyncio.create_task(app.accounts.drain())
    await asyncio.sleep(0)
    assert await app.fresh(second) == TokenUnavailable(UnavailableReason.REFRESHING, "stopping", 1.0)
    assert isinstance(await under_way, AccessToken)
    assert await draining
    assert await strict.calls() == 1
    assert (await app.row(second))["lease_owner"] is None
    assert isinstance(await app.another().get_access_token(app.tenant.id, second), AccessToken)


async def test_a_drain_does_not_wait_for_ever(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    await strict.fault("delay_after", ms=1000)
    broker = app.another(timing=RefreshTiming(drain_timeout=0.05))
    waiting = asyncio.create_task(broker.get_access_token(app.tenant.id, account))
    while await strict.calls() == 0:
        await asyncio.sleep(0.01)
    assert not await broker.drain()
    assert isinstance(await waiting, AccessToken)
