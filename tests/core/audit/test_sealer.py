"""Sealing loses nothing, doubles nothing, and is not held up by anything that a process may append."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from msgspec.structs import replace

from core.audit.event import DEPLOYMENT_CHAIN, AuditEventKind, CallOutcome, build_outcome_event
from core.audit.query import verify_chain
from core.audit.seal_batch import ChainHead
from core.audit.sealer import SEAL_BATCH_SIZE, AuditSealer
from core.audit.truncation import pack
from core.audit.writer import append_events
from core.db import Database
from core.errors import Unavailable
from tests.core.audit.support import OTHER, TENANT, away, call, until, utc_now
from tests.support.postgres import ScratchDatabase


async def sealed(database: ScratchDatabase, tenant: UUID = TENANT) -> list[Any]:
    async with database.admin_connection() as admin:
        return await admin.fetch("SELECT * FROM audit.events WHERE tenant_id = $1 ORDER BY seq", tenant)


async def left(database: ScratchDatabase) -> int:
    async with database.admin_connection() as admin:
        return await admin.fetchval("SELECT count(*) FROM audit.incoming")


async def test_every_field_arrives(database: ScratchDatabase, broker: Database, sealer: AuditSealer) -> None:
    intent = call(arguments=b'{"a": 1}', detail={"b": "日本語", "a": 1}, actor="operator")
    outcome = build_outcome_event(intent, CallOutcome.ERROR, 1234)
    await append_events(broker, [intent, outcome])
    assert await sealer.seal_once() == 2
    first, second = await sealed(database)
    assert (first["seq"], second["seq"]) == (1, 2)
    for name in ("id", "kind", "user_id", "credential_id", "client", "request_id", "module", "tool", "digest",
                 "arguments", "actor", "intent", "tenant_id"):  # fmt: skip
        assert first[name] == getattr(intent, name), name
    assert first["detail"] == '{"a": 1, "b": "日本語"}'
    assert first["at"] == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=intent.at // 1000)
    assert (second["intent"], second["outcome"], second["duration_us"]) == (intent.id, "error", 1234)
    assert await left(database) == 0


async def test_an_empty_queue_is_nothing_to_do(sealer: AuditSealer) -> None:
    assert await sealer.seal_once() == 0


@pytest.mark.guarantee("G15")
async def test_batches_keep_the_order_and_each_tenant_its_own_chain(
    database: ScratchDatabase, broker: Database, sealer: AuditSealer, console: Database
) -> None:
    events = [call(n, tenant_id=(TENANT, OTHER, None)[n % 3]) for n in range(300)]
    await append_events(broker, events)
    assert await sealer.seal_all() == 300
    for number, tenant in enumerate((TENANT, OTHER, DEPLOYMENT_CHAIN)):
        rows = await sealed(database, tenant)
        assert [row["seq"] for row in rows] == list(range(1, 101))
        assert [row["id"] for row in rows] == [event.id for event in events[number::3]]
        assert (await verify_chain(console, tenant)).ok


@pytest.mark.guarantee("G15")
async def test_what_is_committed_later_stands_later_and_what_is_taken_back_nowhere(
    database: ScratchDatabase, broker: Database, sealer: AuditSealer, console: Database
) -> None:
    """A long transaction writes its event first and commits last; another one is rolled back."""
    async with broker.connection() as long, broker.connection() as taken_back:
        first, second = long.transaction(), taken_back.transaction()
        await first.start()
        await second.start()
        await long.fetchval("SELECT audit.append($1, $2)", [TENANT], [pack(call(1))])
        await taken_back.fetchval("SELECT audit.append($1, $2)", [TENANT], [pack(call(2))])
        await append_events(broker, [call(3)])
        assert await sealer.seal_once() == 1, "nobody waits for what is not committed"
        await second.rollback()
        await first.commit()
    assert await sealer.seal_once() == 1
    rows = await sealed(database)
    assert [(row["seq"], row["request_id"]) for row in rows] == [(1, "request-3"), (2, "request-1")]
    assert (await verify_chain(console, TENANT)).ok


async def test_doubles_are_dropped_within_a_batch_and_later(
    database: ScratchDatabase, broker: Database, sealer: AuditSealer, console: Database
) -> None:
    events = [call(n) for n in range(5)]
    await append_events(broker, [*events, *events[:2]])
    await sealer.seal_all()
    await append_events(broker, events[3:])
    await sealer.seal_all()
    await append_events(broker, [*events, call(5)])
    await sealer.seal_all()
    assert [row["request_id"] for row in await sealed(database)] == [f"request-{n}" for n in range(6)]
    assert await left(database) == 0
    assert (await verify_chain(console, TENANT)).checked == 6


async def test_nothing_that_a_process_appends_holds_up_the_others(
    database: ScratchDatabase, broker: Database, sealer: AuditSealer, console: Database
) -> None:
    hostile = [
        b"",
        b"\xc1",
        b"\x91\x01",
        pack(call())[:-3],
        b"\x92\x01\xa2\xff\xfe",
        pack(call(tool="\0")),
        pack(call(at=-5)),
        pack(call(at=2**63 - 1)),
        pack(replace(call(), id=b"short", intent=b"long" * 50, digest=b"d" * 4000)),
        pack(call(detail={"\0": "\0"})),
        pack(call(duration_us=-(2**63))),
        pack(call(credential_id="c" * 3000)),
    ]
    async with broker.connection() as connection:
        await connection.fetchval("SELECT audit.append($1, $2)", [TENANT] * len(hostile), hostile)
    await append_events(broker, [call(99)])
    assert await sealer.seal_all() == len(hostile) + 1
    rows = await sealed(database)
    assert len(rows) == len(hostile) + 1
    assert [row["kind"] for row in rows].count(AuditEventKind.AUDIT_UNREADABLE) == 5
    assert rows[-1]["request_id"] == "request-99"
    assert (await verify_chain(console, TENANT)).ok


async def test_the_column_decides_whose_event_it_is(
    database: ScratchDatabase, broker: Database, sealer: AuditSealer
) -> None:
    async with broker.connection() as connection:
        await connection.fetchval("SELECT audit.append($1, $2)", [TENANT], [pack(call(tenant_id=OTHER))])
    await sealer.seal_all()
    assert len(await sealed(database)) == 1
    assert await sealed(database, OTHER) == []


async def test_a_failure_in_the_middle_leaves_everything_as_it_was(
    database: ScratchDatabase, broker: Database, sealer: AuditSealer, console: Database
) -> None:
    await append_events(broker, [call(n) for n in range(10)])
    async with database.admin_connection() as admin:
        await admin.execute(
            """CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'in the middle'; END $$"""
        )
        await admin.execute("CREATE TRIGGER fail BEFORE DELETE ON audit.incoming EXECUTE FUNCTION public.fail()")
        with pytest.raises(asyncpg.RaiseError):
            await sealer.seal_once()
        assert await sealed(database) == []
        assert await left(database) == 10
        await admin.execute("DROP TRIGGER fail ON audit.incoming")
    assert await sealer.seal_once() == 10
    assert (await verify_chain(console, TENANT)).checked == 10


async def test_many_sealers_work_as_one(database: ScratchDatabase, broker: Database, console: Database) -> None:
    await append_events(broker, [call(n) for n in range(500)])
    sealers = [AuditSealer(console, utc_now) for _ in range(6)]

    async def work(sealer: AuditSealer) -> int:
        total = 0
        while await left(database):
            total += await sealer.seal_once(20)
        return total

    assert sum(await asyncio.gather(*map(work, sealers))) == 500
    assert len({row["id"] for row in await sealed(database)}) == 500
    assert (await verify_chain(console, TENANT)).checked == 500


async def test_months_go_to_partitions_and_the_clock_may_go_back(
    database: ScratchDatabase, broker: Database, console: Database
) -> None:
    times = [
        datetime(2031, 12, 31, 23, 59, tzinfo=UTC),
        datetime(2032, 1, 1, tzinfo=UTC),
        datetime(2031, 1, 5, tzinfo=UTC),
    ]
    for time_of_sealing in times:
        await append_events(broker, [call()])
        await AuditSealer(console, lambda at=time_of_sealing: at).seal_all()
    async with database.admin_connection() as admin:
        names = [row[0] for row in await admin.fetch("SELECT tableoid::regclass::text FROM audit.events ORDER BY seq")]
    assert names == ["audit.events_2031_12", "audit.events_2032_01", "audit.events_2032_01"]
    assert (await verify_chain(console, TENANT)).ok


async def test_partitions_are_closed_to_everyone(
    database: ScratchDatabase, broker: Database, console: Database, sealer: AuditSealer
) -> None:
    await append_events(broker, [call()])
    await sealer.seal_all()
    async with database.admin_connection() as admin:
        rows = await admin.fetch(
            """SELECT c.oid::regclass::text AS name, c.relrowsecurity AND c.relforcerowsecurity AS forced, c.relacl,
            (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'by_tenant') AS policies
            FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'audit.events'::regclass"""
        )
    assert len(rows) == 2, "this month and the next"
    assert all(row["forced"] and row["policies"] == 1 and row["relacl"] is None for row in rows)


async def test_it_runs_by_itself_and_wakes(database: ScratchDatabase, broker: Database, console: Database) -> None:
    sealer = AuditSealer(console, utc_now, min_pause=0.01, max_pause=60)
    running = asyncio.create_task(sealer.run())
    try:
        total = 0
        for count in (1, SEAL_BATCH_SIZE + 1, 3):
            await append_events(broker, [call() for _ in range(count)])
            total += count
            sealer.wake()
            deadline = time.monotonic() + 20
            while len(await sealed(database)) < total:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.02)
    finally:
        running.cancel()


async def test_it_survives_the_database_s_absence(
    database: ScratchDatabase, broker: Database, console: Database
) -> None:
    await append_events(broker, [call()])
    sealer = AuditSealer(console, utc_now, min_pause=0.01, max_pause=0.05)
    async with away(database):
        running = asyncio.create_task(sealer.run())
        with pytest.raises((Unavailable, asyncpg.PostgresError)):
            await AuditSealer(console, utc_now).seal_once()
        await until(lambda: sealer.lag_seconds > 0.5)
    try:
        deadline = time.monotonic() + 20
        while not await sealed(database):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)
        await until(lambda: sealer.lag_seconds < 0.5)
    finally:
        running.cancel()


async def test_the_database_refuses_what_does_not_continue_the_chain(
    database: ScratchDatabase, broker: Database, console: Database, sealer: AuditSealer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await append_events(broker, [call(), call()])
    await sealer.seal_all()
    from core.audit import sealer as module

    async def find_none(_connection: object, _batch: object) -> dict[UUID, ChainHead]:
        return {}

    monkeypatch.setattr(module, "_fetch_heads", find_none)
    await append_events(broker, [call()])
    with pytest.raises(asyncpg.RaiseError, match="do not continue the chain"):
        await sealer.seal_once()
    assert await left(database) == 1


CHAIN_DIGEST = "b2ab06a650eb5a4fe1908c7e2702d54c01e78ea3606ea5e43291ab5e5b41b4b1"
"""Of every column of what :func:`build_chained_records` are sealed as, as the sealer of 0.1 wrote it: it encoded whole
batches by asyncpg's codecs. An old chain has to be one that the sealer would write today."""
CHAIN_TIME = datetime(2026, 3, 4, 5, 6, 7, 890123, tzinfo=UTC)


def build_chained_records() -> list[tuple[UUID, bytes]]:
    """Build records with every kind of value that a chain may hold, and some that it may not."""
    odd = ["", "NULL", '"', "\\", '\\"', "{a,b}", "'", "日本語", "🜁", "\n\t", " ", "a\x7fb", "\\x41", "\0", "x" * 3000]
    first = 1_772_600_767_000_000_999
    events = [
        call(
            n, at=first + n * 1_000_003, id=n.to_bytes(16, "big"), tenant_id=(TENANT, OTHER, None)[n % 3],
            digest=bytes([n % 256]) * (n % 33), client=odd[n % len(odd)], tool=odd[n % 7], actor=odd[n % 11],
            user_id=None if n % 5 == 0 else UUID(int=n), intent=None if n % 2 else (n + 1).to_bytes(16, "big"),
            arguments=None if n % 4 else b"{}" * (n % 9), duration_us=n * 10**n if n < 17 else -n,
            detail=None if n % 6 else {"z": odd[n % len(odd)], "a": n, "\0": -n, "quoted": '"\\'},
        )
        for n in range(150)
    ]  # fmt: skip
    bad = [replace(events[0], id=bytes([number]), at=at) for number, at in enumerate((-5, 0, 2**60, 2**63 - 1))]
    known = [(event.tenant_id or DEPLOYMENT_CHAIN, pack(event)) for event in (*events, *bad, *events[:3])]
    return [*known, (TENANT, b""), (TENANT, b"\xc1"), (OTHER, known[0][1][:-3])]


async def test_the_chain_is_the_one_that_was_written_before_there_were_slices(
    database: ScratchDatabase, console: Database
) -> None:
    tenants, records = zip(*build_chained_records(), strict=True)
    async with database.open("mcpist_broker") as broker, broker.connection() as connection:
        await connection.fetchval("SELECT audit.append($1, $2)", tenants, records)
    await AuditSealer(console, lambda: CHAIN_TIME).seal_all()
    async with database.admin_connection() as admin, admin.transaction():
        await admin.execute("SET LOCAL timezone = 'UTC'")
        digest = await admin.fetchval(
            "SELECT encode(sha256(convert_to(string_agg(e::text, '|' ORDER BY tenant_id, seq), 'UTF8')), 'hex') "
            "FROM audit.events e"
        )
    assert digest == CHAIN_DIGEST
    for tenant in (TENANT, OTHER, DEPLOYMENT_CHAIN):
        assert (await verify_chain(console, tenant)).ok
