"""Whoever changes the sealed log, the administrator of the database included, leaves a trace."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from core.audit.chain import SealedEvent, build_fields, hash_fields
from core.audit.event import AuditEventKind
from core.audit.query import ChainAnchor, ChainVerification, list_anchors, verify_chain
from core.audit.retention import drop_old_partitions
from core.audit.sealer import AuditSealer
from core.audit.truncation import to_microseconds
from core.audit.writer import append_events
from core.db import Database
from core.errors import Invalid
from tests.core.audit.support import OTHER, TENANT, call, utc_now
from tests.support.postgres import ScratchDatabase

Tamper = Callable[..., Awaitable[ChainVerification]]
COUNT = 20


@pytest.fixture
async def tamper(database: ScratchDatabase, broker: Database, console: Database, sealer: AuditSealer) -> Tamper:
    """Twenty events for each of two tenants; then what an administrator does to one, and what the check says."""
    await append_events(broker, [call(n, tenant_id=t, detail={"n": n}) for n in range(COUNT) for t in (TENANT, OTHER)])
    await sealer.seal_all()

    async def apply(*statements: str, **options: Any) -> ChainVerification:
        async with database.admin_connection() as admin:
            for statement in statements:
                status = await admin.execute(statement.replace("MINE", f"tenant_id = '{TENANT}'"))
                assert not status.endswith(" 0"), statement
        assert (await verify_chain(console, OTHER)).ok
        return await verify_chain(console, TENANT, **options)

    return apply


async def test_an_untouched_chain_is_whole(tamper: Tamper) -> None:
    found = await tamper()
    assert (found.ok, found.checked, found.problem) == (True, COUNT, "")
    assert found.head is not None
    assert found.head.seq == COUNT


async def test_no_events_are_whole(console: Database) -> None:
    found = await verify_chain(console, uuid4())
    assert (found.ok, found.checked, found.head) == (True, 0, None)


CHANGES = {
    "seq": "seq = 99",
    "sealed_at": "sealed_at = sealed_at + interval '1 microsecond'",
    "at": "at = 'infinity'",
    "id": "id = decode(repeat('ab', 16), 'hex')",
    "intent": "intent = id",
    "kind": "kind = 'call.denied'",
    "user_id": "user_id = NULL",
    "credential_id": "credential_id = 'other'",
    "client": "client = ''",
    "request_id": "request_id = 'other'",
    "module": "module = 'other'",
    "tool": "tool = 'other'",
    "outcome": "outcome = 'ok'",
    "duration_us": "duration_us = 1",
    "digest": "digest = ''",
    "arguments": "arguments = '{}'",
    "detail": """detail = '{"n": 8}'""",
    "actor": "actor = 'somebody'",
    "hash": "hash = decode(repeat('ab', 32), 'hex')",
}


@pytest.mark.guarantee("G15")
def test_every_column_is_tampered_with() -> None:
    assert set(CHANGES) == (set(SealedEvent._fields) | {"hash"}) - {"tenant_id"}


async def test_an_edited_event(tamper: Tamper) -> None:
    await tamper("CREATE TABLE public.saved AS TABLE audit.events")
    for column, change in CHANGES.items():
        found = await tamper(f"UPDATE audit.events SET {change} WHERE MINE AND seq = 7")
        assert found.first_bad == (COUNT + 1 if column == "seq" else 7), column
        assert found.problem
        restored = await tamper("DELETE FROM audit.events", "INSERT INTO audit.events TABLE public.saved")
        assert restored.ok


async def test_an_event_that_is_rewritten_with_its_own_hash(tamper: Tamper, database: ScratchDatabase) -> None:
    """Its hash fits it then, and the next event's does not fit that hash."""
    columns = ", ".join(SealedEvent._fields)
    async with database.admin_connection() as admin:
        row = await admin.fetchrow(f"SELECT {columns} FROM audit.events WHERE tenant_id = $1 AND seq = 7", TENANT)
        before = await admin.fetchval("SELECT hash FROM audit.events WHERE tenant_id = $1 AND seq = 6", TENANT)
    times = {name: to_microseconds(row[name]) for name in ("sealed_at", "at")}
    edited = SealedEvent(**{**row, **times, "detail": msgspec.json.decode(row["detail"]), "tool": "other"})
    fitting = hash_fields(before, build_fields(edited)).hex()
    found = await tamper(
        f"UPDATE audit.events SET tool = 'other', hash = decode('{fitting}', 'hex') WHERE MINE AND seq = 7"
    )
    assert (found.first_bad, found.checked) == (8, 7)


@pytest.mark.guarantee("G15")
@pytest.mark.parametrize("seq", [1, 7])
async def test_a_removed_event(tamper: Tamper, seq: int) -> None:
    found = await tamper(f"DELETE FROM audit.events WHERE MINE AND seq = {seq}")
    assert (found.first_bad, found.problem) == (seq, "the event is missing")


async def test_a_cut_tail(tamper: Tamper) -> None:
    found = await tamper("DELETE FROM audit.events WHERE MINE AND seq > 15")
    assert (found.first_bad, found.problem) == (16, "the end of the chain is missing")


async def test_a_removed_log(tamper: Tamper) -> None:
    found = await tamper("DELETE FROM audit.events WHERE MINE")
    assert found.first_bad == 1


@pytest.mark.guarantee("G15")
async def test_swapped_events(tamper: Tamper) -> None:
    found = await tamper(
        "UPDATE audit.events SET seq = 1007 WHERE MINE AND seq = 7",
        "UPDATE audit.events SET seq = 7 WHERE MINE AND seq = 8",
        "UPDATE audit.events SET seq = 8 WHERE MINE AND seq = 1007",
    )
    assert found.first_bad == 7


async def test_a_head_that_was_put_back(tamper: Tamper) -> None:
    found = await tamper(
        "UPDATE audit.heads h SET seq = 10, hash = e.hash FROM audit.events e "
        f"WHERE h.tenant_id = '{TENANT}' AND e.tenant_id = h.tenant_id AND e.seq = 10"
    )
    assert (found.first_bad, found.problem) == (11, "the event is newer than the head")


async def test_a_head_with_another_hash(tamper: Tamper) -> None:
    found = await tamper("UPDATE audit.heads SET hash = decode(repeat('00', 32), 'hex') WHERE MINE")
    assert (found.first_bad, found.problem) == (COUNT, "the event differs from the head")


async def test_a_removed_head(tamper: Tamper) -> None:
    found = await tamper("DELETE FROM audit.heads WHERE MINE")
    assert (found.first_bad, found.problem) == (1, "the chain has events and no head")


async def test_another_tenant_s_event(tamper: Tamper) -> None:
    found = await tamper(
        f"""INSERT INTO audit.events SELECT '{TENANT}', {COUNT + 1}, sealed_at, at, id, intent, kind, user_id,
        credential_id, client, request_id, module, tool, outcome, duration_us, digest, arguments, detail, actor, hash
        FROM audit.events WHERE tenant_id = '{OTHER}' AND seq = 3"""
    )
    assert found.first_bad == COUNT + 1


CUT_AND_REPAIRED = (
    "DELETE FROM audit.events WHERE MINE AND seq > 10",
    "UPDATE audit.heads h SET seq = 10, hash = e.hash FROM audit.events e "
    f"WHERE h.tenant_id = '{TENANT}' AND e.tenant_id = h.tenant_id AND e.seq = 10",
)


async def test_only_an_anchor_shows_a_tail_that_was_cut_with_its_head(tamper: Tamper, console: Database) -> None:
    kept = await list_anchors(console)
    assert {anchor.tenant_id for anchor in kept} == {TENANT, OTHER}
    assert (await tamper(against=kept)).ok
    assert (await tamper(*CUT_AND_REPAIRED)).ok
    found = await tamper(against=kept)
    assert (found.first_bad, found.problem) == (COUNT, "the anchored event is missing")


@pytest.mark.guarantee("G15")
async def test_an_anchor_shows_a_chain_that_was_computed_anew(
    tamper: Tamper, console: Database, broker: Database, sealer: AuditSealer
) -> None:
    kept = await list_anchors(console)
    await tamper(*CUT_AND_REPAIRED)
    await append_events(broker, [call(n) for n in range(30)])
    await sealer.seal_all()
    assert (await verify_chain(console, TENANT)).ok
    found = await verify_chain(console, TENANT, against=kept)
    assert (found.first_bad, found.problem) == (COUNT, "the event differs from the anchor")


async def test_an_anchor_shows_a_log_that_is_gone(tamper: Tamper, console: Database) -> None:
    kept = await list_anchors(console)
    found = await tamper("DELETE FROM audit.events WHERE MINE", "DELETE FROM audit.heads WHERE MINE", against=kept)
    assert (found.first_bad, found.problem) == (COUNT, "the anchored event is missing")


async def test_more_than_a_batch(broker: Database, console: Database, sealer: AuditSealer) -> None:
    await append_events(broker, [call(n) for n in range(2_500)])
    await sealer.seal_all()
    assert (await verify_chain(console, TENANT)).checked == 2_500


@pytest.fixture
async def months(broker: Database, console: Database) -> datetime:
    """Ten events in each of six months up to now; the first day of this month."""
    first = utc_now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    starts = [first]
    while len(starts) < 6:
        starts.insert(0, (starts[0] - timedelta(days=1)).replace(day=1))
    for start in starts:
        await append_events(broker, [call(n) for n in range(10)])
        await AuditSealer(console, lambda now=start: now).seal_all()
    return first


async def test_since_begins_in_the_middle(database: ScratchDatabase, console: Database, months: datetime) -> None:
    assert (await verify_chain(console, TENANT, months)).checked == 10
    assert (await verify_chain(console, TENANT, datetime(1990, 1, 1, tzinfo=UTC))).checked == 60
    assert (await verify_chain(console, TENANT, months + timedelta(days=400))).checked == 0
    async with database.admin_connection() as admin:
        await admin.execute("UPDATE audit.events SET tool = '' WHERE seq = 30")
    assert (await verify_chain(console, TENANT, months)).ok
    assert (await verify_chain(console, TENANT)).first_bad == 30


async def test_dropping_old_months_keeps_the_chain(
    database: ScratchDatabase, console: Database, broker: Database, sealer: AuditSealer, months: datetime
) -> None:
    kept = await list_anchors(console)
    administrator = Database(database.admin)
    await administrator.open()
    try:
        assert await drop_old_partitions(administrator, 12, utc_now()) == []
        assert len(await drop_old_partitions(administrator, 2, utc_now())) == 3
        with pytest.raises(Invalid):
            await drop_old_partitions(administrator, 0, utc_now())
    finally:
        await administrator.close()
    found = await verify_chain(console, TENANT, against=[*kept, ChainAnchor(TENANT, 5, b"dropped")])
    assert (found.ok, found.checked) == (True, 30)
    await append_events(broker, [call()])
    await sealer.seal_all()
    assert (await verify_chain(console, TENANT)).checked == 31
    async with database.admin_connection() as admin:
        recorded = await admin.fetchrow("SELECT kind, detail FROM audit.events WHERE tenant_id <> $1", TENANT)
        assert recorded["kind"] == AuditEventKind.AUDIT_DROPPED
        await admin.execute("DELETE FROM audit.events WHERE tenant_id = $1 AND seq = 31", TENANT)
    assert (await verify_chain(console, TENANT)).first_bad == 31


async def test_a_log_that_was_dropped_whole_goes_on(
    database: ScratchDatabase, console: Database, broker: Database, sealer: AuditSealer
) -> None:
    await append_events(broker, [call(n) for n in range(3)])
    await AuditSealer(console, lambda: datetime(2001, 5, 5, tzinfo=UTC)).seal_all()
    async with database.admin_connection() as admin:
        await admin.execute("SELECT audit.drop_before(1, now())")
    assert (await verify_chain(console, TENANT)).ok
    await append_events(broker, [call()])
    await sealer.seal_all()
    assert (await verify_chain(console, TENANT)).checked == 1
