"""What is acknowledged is durable; what cannot be written is refused or kept, never dropped in silence."""

import asyncio
import time

import pytest

from core.audit.aggregator import EventAggregator
from core.audit.event import DEPLOYMENT_CHAIN, AuditEvent, AuditEventKind, CallOutcome, build_outcome_event
from core.audit.truncation import unpack
from core.audit.writer import AuditWriter, append_events
from core.db import Database
from core.errors import Unavailable
from tests.core.audit.support import TENANT, away, call, until, writing
from tests.support.postgres import ScratchDatabase


async def stored(database: ScratchDatabase) -> list[AuditEvent]:
    async with database.admin_connection() as admin:
        return [unpack(row["record"]) for row in await admin.fetch("SELECT record FROM audit.incoming ORDER BY id")]


async def test_a_written_event_is_there(database: ScratchDatabase, broker: Database) -> None:
    event = call(detail={"a": 1})
    async with writing(broker) as writer:
        await writer.write(event)
        assert await stored(database) == [event]
        assert writer.waiting == 0


async def test_it_tells_how_long_a_flush_takes(
    database: ScratchDatabase, broker: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with writing(broker) as writer, database.admin_connection() as admin:
        assert writer.flush_seconds == 0
        await writer.write(call())
        assert 0 < writer.flush_seconds < 1
        async with admin.transaction():
            await admin.execute("LOCK TABLE audit.incoming IN ACCESS EXCLUSIVE MODE")
            waiting = writer.submit(call())
            await until(lambda: writer.flush_seconds > 0.3)
        await waiting
        assert writer.flush_seconds > 0.3
        monkeypatch.setattr("core.audit.writer.REST_SECONDS", 0.0)
        assert writer.flush_seconds == 0


async def test_order_is_kept(database: ScratchDatabase, broker: Database) -> None:
    events = [call(n) for n in range(2_500)]
    async with writing(broker) as writer:
        for event in events[:-1]:
            writer.enqueue(event)
        await writer.write(events[-1])
        assert [event.id for event in await stored(database)] == [event.id for event in events]


async def test_many_writers_share_flushes(database: ScratchDatabase, broker: Database) -> None:
    async with writing(broker) as writer:

        async def write(number: int) -> None:
            for _ in range(20):
                intent = call(number)
                await writer.write(intent)
                writer.enqueue(build_outcome_event(intent, CallOutcome.OK, 5))

        await asyncio.gather(*map(write, range(64)))
        await until(lambda: writer.waiting == 0)
        assert writer.written == 64 * 20 * 2
        assert writer.written / writer.flushes > 10
    assert len({event.id for event in await stored(database)}) == 64 * 20 * 2


async def test_calls_in_parallel_gather_for_a_flush(broker: Database) -> None:
    """Eight at once, each with something else to do before it writes: without gathering, a flush for every two."""
    async with writing(broker) as writer:

        async def write(number: int) -> None:
            for turn in range(30):
                for _ in range((number + turn) % 8):
                    await asyncio.sleep(0)
                await writer.write(call(number))

        await asyncio.gather(*map(write, range(8)))
        assert writer.written / writer.flushes > 4


async def test_a_lone_caller_waits_for_nobody(broker: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.audit.writer.GATHER_SECONDS", 60.0)
    async with writing(broker) as writer:
        for number in range(5):
            await writer.write(call(number))
        assert writer.flushes == 5


async def test_gathering_ends_when_all_are_there(broker: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the last flush, and who came while it was under way: each after another number of the loop's turns."""
    monkeypatch.setattr("core.audit.writer.GATHER_SECONDS", 60.0)
    async with writing(broker) as writer:

        async def write(number: int) -> None:
            while True:
                for _ in range(number):
                    await asyncio.sleep(0)
                await writer.write(call(number))

        callers = [asyncio.create_task(write(number)) for number in range(4)]
        await until(lambda: writer.flushes > 20)
        for caller in callers:
            caller.cancel()
        assert writer.written / writer.flushes > 3


async def test_a_flush_tells_whoever_wants_to_know(broker: Database) -> None:
    told = asyncio.Event()
    async with writing(broker, on_flush=told.set) as writer:
        await writer.write(call())
    assert told.is_set()


async def test_flushes_are_synchronous_whatever_the_role_s_setting(database: ScratchDatabase, broker: Database) -> None:
    async with database.admin_connection() as admin:
        await admin.execute(f'ALTER DATABASE "{database.name}" SET synchronous_commit = off')
        await admin.execute(
            """CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF current_setting('synchronous_commit') <> 'on' THEN RAISE EXCEPTION 'not synchronous'; END IF;
            RETURN NULL; END $$"""
        )
        await admin.execute(
            "CREATE TRIGGER note AFTER INSERT ON audit.incoming FOR EACH ROW EXECUTE FUNCTION public.note()"
        )
    async with writing(broker) as writer:
        await writer.write(call())
    await append_events(broker, [call()])
    assert len(await stored(database)) == 2


async def test_a_dropped_connection_is_not_noticed(database: ScratchDatabase, broker: Database) -> None:
    async with writing(broker) as writer, database.admin_connection() as admin:
        await writer.write(call(1))
        await admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await writer.write(call(2))
    assert [event.request_id for event in await stored(database)] == ["request-1", "request-2"]


async def test_an_absent_database_refuses_intents_and_keeps_outcomes(
    database: ScratchDatabase, broker: Database
) -> None:
    begun = call(1)
    async with writing(broker, wait_timeout=0.3) as writer:
        await writer.write(begun)
        async with away(database):
            writer.enqueue(build_outcome_event(begun, CallOutcome.OK, 5))
            started = time.monotonic()
            with pytest.raises(Unavailable):
                await writer.write(call(2))
            assert time.monotonic() - started < 3
            await until(lambda: writer.stalled)
            started = time.monotonic()
            with pytest.raises(Unavailable):
                await writer.write(call(3))
            assert time.monotonic() - started < 0.2, "once it is known to be away, nobody waits"
        await until(lambda: writer.waiting == 0)
        assert not writer.stalled
        await writer.write(call(4))
    kept = await stored(database)
    assert [event.kind for event in kept] == [
        AuditEventKind.CALL_INTENT,
        AuditEventKind.CALL_OUTCOME,
        AuditEventKind.CALL_INTENT,
    ]
    assert kept[-1].request_id == "request-4"


async def test_it_comes_back_where_only_refused_intents_were_left(database: ScratchDatabase, broker: Database) -> None:
    async with writing(broker, wait_timeout=0.2) as writer:
        await writer.write(call(0))  # else it may be about to connect when nobody may any more
        async with away(database):
            with pytest.raises(Unavailable):
                await writer.write(call(1))
            await until(lambda: writer.stalled)
        await until(lambda: not writer.stalled)
        await writer.write(call(2))
    assert [event.request_id for event in await stored(database)] == ["request-0", "request-2"]


async def test_a_flush_that_hangs_is_given_up(database: ScratchDatabase, broker: Database) -> None:
    async with writing(broker, wait_timeout=0.3) as writer, database.admin_connection() as admin:
        await writer.write(call(1))
        async with admin.transaction():
            await admin.execute("LOCK TABLE audit.incoming IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(Unavailable):
                await writer.write(call(2))
        await writer.write(call(3))
    assert {"request-1", "request-3"} <= {event.request_id for event in await stored(database)}


async def test_an_intent_that_waited_out_a_short_absence_is_written(
    database: ScratchDatabase, broker: Database
) -> None:
    async with writing(broker, wait_timeout=20) as writer:
        await writer.write(call(1))
        async with away(database):
            waiting = writer.submit(call(2))
            await until(lambda: writer.waiting == 1)
        await waiting
    assert [event.request_id for event in await stored(database)] == ["request-1", "request-2"]


async def test_a_full_queue_refuses_intents_before_it_loses_outcomes(
    database: ScratchDatabase, broker: Database
) -> None:
    async with writing(broker, wait_timeout=30, max_waiting_bytes=20_000) as writer:
        await writer.write(call())
        async with away(database):
            while not (refused := writer.submit(call())).done():
                pass
            with pytest.raises(Unavailable):
                await refused
            room = writer.waiting
            writer.enqueue(call())
            assert writer.waiting == room + 1
            assert writer.lost == 0
            while not writer.lost:
                writer.enqueue(call())
            queued = writer.waiting
        await until(lambda: writer.waiting == 0)
    kept = await stored(database)
    assert [event.detail for event in kept if event.kind == AuditEventKind.AUDIT_LOST] == [{"count": 1}]
    assert len([event for event in kept if event.kind == AuditEventKind.CALL_INTENT]) == 1 + queued


async def test_one_who_goes_away_while_waiting_disturbs_nobody(database: ScratchDatabase, broker: Database) -> None:
    async with writing(broker) as writer:
        leaving, staying = (asyncio.create_task(writer.write(call(n))) for n in (1, 2))
        await asyncio.sleep(0)
        leaving.cancel()
        await staying
        with pytest.raises(asyncio.CancelledError):
            await leaving
    assert [event.request_id for event in await stored(database)] == ["request-1", "request-2"]


async def test_close_writes_what_waits_and_refuses_the_rest(database: ScratchDatabase, broker: Database) -> None:
    async with writing(broker) as writer:
        for number in range(3_000):
            writer.enqueue(call(number))
        await writer.close()
        with pytest.raises(Unavailable):
            await writer.write(call())
        writer.enqueue(call())
        assert writer.lost == 1
    assert len(await stored(database)) == 3_000


async def test_a_writer_that_is_cancelled_leaves_nobody_waiting(broker: Database) -> None:
    async with writing(broker) as writer:
        await writer.write(call())
        async with broker.connection() as held:
            await held.execute("BEGIN")
            running = [task for task in asyncio.all_tasks() if "run" in repr(task.get_coro())]
            waiting = writer.submit(call())
            for task in running:
                task.cancel()
            with pytest.raises(Unavailable):
                await waiting
            await held.execute("ROLLBACK")


async def test_nothing_waits_without_a_flusher(broker: Database) -> None:
    writer = AuditWriter(broker, wait_timeout=0.05)
    with pytest.raises(Unavailable):
        await writer.write(call())


async def test_hostile_names_are_stored(database: ScratchDatabase, broker: Database) -> None:
    async with writing(broker) as writer:
        await writer.write(call(tool="\ud800", module="x" * 3_000_000, kind=AuditEventKind.DENIED))
    assert (await stored(database))[0].kind == AuditEventKind.DENIED


async def test_a_tally_is_one_event(database: ScratchDatabase, broker: Database) -> None:
    async with writing(broker) as writer:
        tally = EventAggregator(writer, AuditEventKind.AUTH_MALFORMED, clock=lambda: 7, interval=60)
        for _ in range(1_000):
            tally.add()
        tally.flush()
        tally.flush()
    (event,) = await stored(database)
    assert (event.kind, event.detail, event.tenant_id, event.at) == (
        AuditEventKind.AUTH_MALFORMED,
        {"count": 1_000},
        None,
        7,
    )


async def test_events_of_no_tenant_stand_under_the_deployment(database: ScratchDatabase, broker: Database) -> None:
    await append_events(broker, [call(tenant_id=None), call()])
    async with database.admin_connection() as admin:
        tenants = await admin.fetch("SELECT tenant_id FROM audit.incoming ORDER BY id")
    assert [row["tenant_id"] for row in tenants] == [DEPLOYMENT_CHAIN, TENANT]
