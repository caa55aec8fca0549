"""The listener of changes proves itself while something relies on it, and rests while nothing does."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest

from core.generations import Generations
from tests.support.eventually import within
from tests.support.postgres import MadeTenant, ScratchDatabase

INTERVAL = 0.3


async def test_a_listener_that_nobody_relies_on_rests(
    database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    proofs = 0
    prove = Generations._prove

    async def count(self: Generations) -> None:
        nonlocal proofs
        proofs += 1
        await prove(self)

    monkeypatch.setattr(Generations, "_prove", count)
    async with database.open("mcpist_gateway") as gateway:
        generations = Generations(database.as_role("mcpist_gateway"), gateway, interval=INTERVAL)

        async def rests() -> bool:
            return generations.listening and not generations._is_used and not generations._rest_end.is_set()

        running = asyncio.create_task(generations.run())
        await within(5, rests)
        assert proofs == 1, "at its start"
        await asyncio.sleep(2 * INTERVAL)  # nothing happens in this time
        assert proofs == 1
        for expected in (2, 3):
            generations.current(uuid4())
            await within(5, rests)
            assert proofs == expected
        async with database.admin_connection() as admin:
            await admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

        async def listens_again() -> bool:
            return proofs == 4 and await rests()

        await within(5, listens_again)  # a lost connection wakes it
        running.cancel()


async def test_a_process_that_stands_still_has_lost_nothing(
    database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As while it builds its applications at a start, between the announcement and its proof."""
    announce = Generations.announce
    stands = 0

    async def announce_late(self: Generations, channel: str, text: str) -> None:
        nonlocal stands
        stands += 1
        time.sleep(2 * INTERVAL)  # noqa: ASYNC251 the whole process stands still
        await announce(self, channel, text)

    monkeypatch.setattr(Generations, "announce", announce_late)
    async with database.open("mcpist_gateway") as gateway:
        generations = Generations(database.as_role("mcpist_gateway"), gateway, interval=INTERVAL)
        running = asyncio.create_task(generations.run())

        async def listens() -> bool:
            return generations.listening

        await within(10, listens)
        running.cancel()
    assert stands == 1
    assert not [one for one in caplog.records if one.name == "core.generations"]


async def test_a_look_that_takes_too_long_costs_the_trust_until_it_has_ended(
    database: ScratchDatabase, make_tenant: Callable[..., Awaitable[MadeTenant]]
) -> None:
    """As on a busy machine: what was announced is read late, and the listener has lost nothing."""
    tenant = await make_tenant()
    async with (
        database.open("mcpist_gateway") as gateway,
        database.admin_connection() as blocker,
        database.admin_connection() as other,
    ):
        generations = Generations(database.as_role("mcpist_gateway"), gateway, interval=INTERVAL)

        async def is_trusted() -> bool:
            return generations.listening and generations.trusted

        async def is_distrusted() -> bool:
            return generations.listening and not generations.trusted

        running = asyncio.create_task(generations.run())
        await within(5, is_trusted)
        async with blocker.transaction():
            await blocker.execute("LOCK TABLE core.generations IN ACCESS EXCLUSIVE MODE")
            await other.execute(f"NOTIFY mcpist_generation, '{tenant.id} 1'")
            await within(5, is_distrusted)
        await within(5, is_trusted)
        running.cancel()
