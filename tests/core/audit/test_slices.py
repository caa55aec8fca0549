"""A large batch is sealed and checked in slices: no turn of the event loop has more than one, and none is lost."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from core.audit import seal_batch, verification
from core.audit.query import verify_chain
from core.audit.sealer import SEAL_BATCH_BYTES, SEAL_BATCH_SIZE, AuditSealer
from core.audit.slices import RECORD_COST_BYTES, SLICE_BYTES, SLICE_RECORDS, split_into_slices
from core.audit.writer import append_events
from core.concurrency.cooperative_steps import LARGE_STEP_BYTES
from core.db import Database
from core.errors import Unavailable
from tests.core.audit.support import OTHER, TENANT, call, utc_now
from tests.support.postgres import ScratchDatabase

LARGE = 60_000


@contextlib.asynccontextmanager
async def count_turns() -> AsyncIterator[Callable[[], int]]:
    """Count the turns of the running loop: what is given says in which one we are."""
    loop = asyncio.get_running_loop()
    turn = 0

    def tick() -> None:
        nonlocal turn, handle
        turn += 1
        handle = loop.call_soon(tick)

    handle = loop.call_soon(tick)
    yield lambda: turn
    handle.cancel()


@contextlib.asynccontextmanager
async def count_records(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> AsyncIterator[Counter[int]]:
    """How many records each turn of the loop puts through the function `name` of `module`."""
    records: Counter[int] = Counter()
    work = getattr(module, name)
    async with count_turns() as get_turn:

        def count(*arguments: object) -> object:
            records[get_turn()] += 1
            return work(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(module, name, count)
            yield records


@pytest.mark.parametrize("step", ["unpack", "hash_fields"])
async def test_a_turn_has_64_records_of_a_batch_of_1000(
    broker: Database, sealer: AuditSealer, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    await append_events(broker, [call(n, tenant_id=(TENANT, OTHER)[n % 2]) for n in range(SEAL_BATCH_SIZE)])
    async with count_records(monkeypatch, seal_batch, step) as records:
        assert await sealer.seal_once() == SEAL_BATCH_SIZE == 1_000
    assert records.total() == SEAL_BATCH_SIZE
    assert max(records.values()) == SLICE_RECORDS == 64


async def test_a_turn_has_one_record_with_large_arguments(
    database: ScratchDatabase, broker: Database, console: Database, sealer: AuditSealer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await append_events(broker, [call(n, arguments=b"a" * LARGE) for n in range(20)])
    async with count_records(monkeypatch, seal_batch, "hash_fields") as records:
        assert await sealer.seal_once() == SEAL_BATCH_BYTES // LARGE + 1, "a batch has a limit of bytes"
        await sealer.seal_all()
    assert records.total() == 20
    assert max(records.values()) == 1
    async with count_records(monkeypatch, verification, "hash_fields") as records:
        assert (await verify_chain(console, TENANT)).checked == 20
    assert max(records.values()) == 1


async def test_a_turn_has_64_events_of_a_check(
    broker: Database, console: Database, sealer: AuditSealer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await append_events(broker, [call(n) for n in range(300)])
    await sealer.seal_all()
    async with count_records(monkeypatch, verification, "hash_fields") as records:
        assert (await verify_chain(console, TENANT)).checked == 300
    assert max(records.values()) == SLICE_RECORDS


@pytest.mark.parametrize("turn", [1, 5, 6, 9, 11, 12])
async def test_who_loses_the_lock_between_two_slices_writes_nothing(
    database: ScratchDatabase, broker: Database, console: Database, turn: int
) -> None:
    """The lock goes with the connection; another sealer takes over, while the first one goes on with its slices."""
    events = [call(n) for n in range(5 * SLICE_RECORDS)]
    await append_events(broker, events)
    turns = 0

    async def lose(_size: int) -> None:
        nonlocal turns
        turns += 1
        if turns == turn:
            async with database.admin_connection() as admin, database.open("mcpist_console") as another:
                await admin.execute(
                    "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND usename = 'mcpist_console'"
                )
                assert await AuditSealer(another, utc_now).seal_all() == len(events)

    with pytest.raises(Unavailable):
        await AuditSealer(console, utc_now, next_turn=lose).seal_once()
    assert turns >= turn
    async with database.admin_connection() as admin:
        rows = await admin.fetch("SELECT id FROM audit.events ORDER BY seq")
        assert await admin.fetchval("SELECT count(*) FROM audit.incoming") == 0
    assert [row["id"] for row in rows] == [event.id for event in events]
    assert (await verify_chain(console, TENANT)).checked == len(events)


@pytest.mark.parametrize(
    ("sizes", "lengths"),
    [
        ([], []),
        ([0], [1]),
        ([0] * 64, [64]),
        ([0] * 129, [64, 64, 1]),
        ([SLICE_BYTES, 0, 0], [1, 2]),
        ([0, SLICE_BYTES, SLICE_BYTES], [1, 1, 1]),
        ([SLICE_BYTES // 2 - RECORD_COST_BYTES] * 5, [2, 2, 1]),
    ],
)
def test_slices(sizes: list[int], lengths: list[int]) -> None:
    slices = list(split_into_slices(sizes, lambda size: size))
    assert [len(part) for part, _ in slices] == lengths
    assert [size for part, _ in slices for size in part] == sizes
    assert all(size == sum(part) + RECORD_COST_BYTES * len(part) for part, size in slices)
    assert all(size <= SLICE_BYTES or len(part) == 1 for part, size in slices)


def test_a_whole_slice_waits_for_its_turn_whatever_is_in_it() -> None:
    assert SLICE_RECORDS * RECORD_COST_BYTES > LARGE_STEP_BYTES
