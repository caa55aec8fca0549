"""An id counts once, however many ask for it at once, on however many processes (G14)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from broker.authorization_server.client_authentication import ReplayCache
from tests.broker.authorization_server.client_registry_app import ClientRegistryApp, Clock, app_on
from tests.support.postgres import ScratchDatabase


@pytest.fixture
async def app(database: ScratchDatabase) -> AsyncIterator[ClientRegistryApp]:
    async with app_on(database) as made:
        yield made


@pytest.mark.guarantee("G14")
async def test_of_twenty_at_once_one_wins(app: ClientRegistryApp, database: ScratchDatabase) -> None:
    until = app.clock.now + timedelta(minutes=5)
    async with database.open("mcpist_broker") as other_process:
        both = (app.single_use, ReplayCache(other_process, clock=app.clock))
        for round_ in range(5):
            won = await asyncio.gather(*(both[n % 2].take("jti", f"id-{round_}", until) for n in range(20)))
            assert sorted(won) == [False] * 19 + [True]


async def test_kinds_are_apart(app: ClientRegistryApp) -> None:
    until = app.clock.now + timedelta(minutes=5)
    assert await app.single_use.take("a", "b c", until)
    assert await app.single_use.take("a b", "c", until)
    assert not await app.single_use.take("a", "b c", until)
    assert await app.single_use.take("a", "\ud800", until)  # whatever JSON can hold


async def test_what_has_expired_is_never_given_out(app: ClientRegistryApp) -> None:
    until = app.clock.now + timedelta(minutes=5)
    assert await app.single_use.take("jti", "x", until)
    app.clock.go(minutes=5)
    assert not await app.single_use.take("jti", "x", until)
    assert not await app.single_use.take("jti", "never seen", until)


async def test_sweeping_keeps_what_a_slow_clock_may_still_ask_for(
    app: ClientRegistryApp, database: ScratchDatabase
) -> None:
    async with database.open("mcpist_broker") as other:
        slow = ReplayCache(other, clock=Clock(app.clock.now))
        until = app.clock.now + timedelta(minutes=5)
        assert await app.single_use.take("jti", "x", until)
        app.clock.go(minutes=6)
        assert await app.single_use.sweep() == 0
        assert not await slow.take("jti", "x", until)
    app.clock.go(hours=2)
    assert await app.single_use.sweep() == 1
    assert await app.value("SELECT count(*) FROM auth.used_ids") == 0
