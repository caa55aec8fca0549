"""Tokens that live no longer than a caller needs them: one refresh gives one token, and nothing runs in circles."""

from datetime import UTC, datetime, timedelta

import pytest

from broker.connections.account_snapshot import (
    MIN_REFRESH_INTERVAL,
    AccessToken,
    TokenUnavailable,
    UnavailableReason,
    schedule_keep_alive,
    schedule_refresh,
)
from broker.oauth_client.types import TokenSet
from broker.providers.schema import RefreshRules
from broker.refresh.scheduler import RefreshScheduler
from core.secret import Secret
from tests.broker.refresh.endpoints import Scripted
from tests.broker.refresh.refresh_app import RefreshApp
from tests.broker.refresh.vendor import Vendor

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def granted(life: float) -> TokenSet:
    return TokenSet(Secret("at-00000001-of-a-short-life"), Secret("rt-00000001-of-a-short-life"), life, None)


@pytest.mark.parametrize("life", [0.05, 1.0, 30.0, 60.0, 90.0])
async def test_one_call_makes_one_refresh(app: RefreshApp, strict: Vendor, life: float) -> None:
    account = await app.link(strict.provider, strict.client, granted(life))
    broker = app.with_endpoint(endpoint := Scripted(life=life))
    await app.ahead(life + 10)
    answer = await broker.get_access_token(app.tenant.id, account)
    assert len(endpoint.shown) == 1
    if life >= 30:
        assert isinstance(answer, AccessToken)


@pytest.mark.parametrize("life", [30.0, 60.0, 90.0])
async def test_a_token_serves_for_half_of_its_life(app: RefreshApp, strict: Vendor, life: float) -> None:
    account = await app.link(strict.provider, strict.client, granted(life))
    broker = app.with_endpoint(endpoint := Scripted(life=life))
    for second, calls in ((0, 0), (0.4, 0), (0.8, 1), (1.0, 1), (1.7, 2)):
        await app.ahead(life * second)
        assert isinstance(await broker.get_access_token(app.tenant.id, account), AccessToken)
        assert len(endpoint.shown) == calls, second


async def test_a_token_that_is_dead_when_it_comes_is_told_and_not_renewed_in_a_circle(
    app: RefreshApp, strict: Vendor
) -> None:
    account = await app.link(strict.provider, strict.client, granted(1.0))
    broker = app.with_endpoint(endpoint := Scripted(life=-0.05))
    await app.ahead(5)
    answer = await broker.get_access_token(app.tenant.id, account)
    assert answer == TokenUnavailable(UnavailableReason.REFUSED, "short_lived", app.tools.timing.rejection_cooldown)
    assert await broker.refresh(app.tenant.id, account) == answer
    assert len(endpoint.shown) == 2


async def test_a_caller_with_a_greater_need_gets_what_there_is(app: RefreshApp, strict: Vendor) -> None:
    account = await app.link(strict.provider, strict.client, granted(3600.0))
    broker = app.with_endpoint(endpoint := Scripted(life=3600.0))
    assert isinstance(await broker.get_access_token(app.tenant.id, account, need_seconds=7200.0), AccessToken)
    assert isinstance(await broker.get_access_token(app.tenant.id, account, need_seconds=7200.0), AccessToken)
    assert len(endpoint.shown) == 0


@pytest.mark.parametrize("life", [1.0, 30.0, 60.0, 90.0, 239.0])
async def test_short_lives_are_renewed_when_somebody_asks_and_not_ahead(
    app: RefreshApp, strict: Vendor, life: float
) -> None:
    await app.link(strict.provider, strict.client, granted(life))
    sweeper = RefreshScheduler(app.with_endpoint(endpoint := Scripted(life=life)), app.database, app.tools.timing)
    for share in (0.4, 0.6, 1.1, 3.0):
        await app.ahead(life * share)
        assert await sweeper.sweep() == 0
    assert endpoint.shown == []


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("life", [1.0, 30.0, 60.0, 90.0, 240.0, 400.0, 3600.0])
def test_nothing_is_renewed_ahead_before_half_of_its_life_or_every_moment(life: float, late: bool) -> None:
    for chance in (0.0, 0.5, 1.0):
        at = schedule_refresh(RefreshRules(late=late), NOW, life, chance)
        assert at is None or at - NOW >= timedelta(seconds=max(life / 2, MIN_REFRESH_INTERVAL))
        assert (at is None) == (life < 2 * MIN_REFRESH_INTERVAL)


def test_a_limit_of_a_moment_keeps_nobody_busy() -> None:
    assert schedule_keep_alive(RefreshRules(idle_days=1e-9), NOW) == NOW + timedelta(seconds=MIN_REFRESH_INTERVAL)
