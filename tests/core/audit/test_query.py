"""The log as its reader sees it: calls with their outcomes, newest or oldest first, page by page."""

import itertools
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from core.audit import page_search
from core.audit.event import DEPLOYMENT_CHAIN, AuditEvent, AuditEventKind, CallOutcome, build_outcome_event
from core.audit.query import AuditEntry, AuditFilter, fetch_audit_page
from core.audit.sealer import AuditSealer
from core.audit.truncation import to_datetime
from core.audit.writer import append_events
from core.db import Database
from core.errors import Invalid
from tests.core.audit.support import OTHER, TENANT, USER, call

START = 1_700_000_000_000_000_000
EVERYTHING = AuditFilter()


def at(second: int) -> datetime:
    found = to_datetime(START + second * 1_000_000_000)
    assert found is not None
    return found


def admin_event(second: int, kind: str = AuditEventKind.TOKEN_CREATED, **fields: Any) -> AuditEvent:
    return AuditEvent(at=START + second * 1_000_000_000, kind=kind, tenant_id=TENANT, **fields)


async def found(console: Database, filter: AuditFilter, **options: Any) -> list[AuditEntry]:
    return list((await fetch_audit_page(console, TENANT, filter, **options)).items)


@pytest.fixture
async def log(broker: Database, sealer: AuditSealer) -> list[AuditEvent]:
    """Ten calls, a second apart; the last has no outcome. Then other things, one of another tenant."""
    calls = [
        call(n, at=START + n * 1_000_000_000, tool=f"tool_{n % 2}", user_id=USER if n < 5 else uuid4())
        for n in range(10)
    ]
    ends = [
        build_outcome_event(c, CallOutcome.ERROR if n % 3 == 0 else CallOutcome.OK, n * 10)
        for n, c in enumerate(calls[:9])
    ]
    others = [
        admin_event(20, actor="operator", detail={"token": "t1"}),
        admin_event(21, AuditEventKind.TOKEN_REVOKED),
        admin_event(
            22,
            AuditEventKind.DENIED,
            module="hidden",
            tool="made_up",
            outcome=CallOutcome.DENIED,
            request_id="request-3",
        ),
        call(77, tenant_id=OTHER, at=START),
    ]
    await append_events(broker, [*calls, *ends, *others])
    await sealer.seal_all()
    return calls


@pytest.mark.usefixtures("log")
async def test_a_call_is_one_item(console: Database) -> None:
    items = await found(console, EVERYTHING)
    assert [item.kind for item in items] == ["call.denied", "token.revoked", "token.created", *["call"] * 10]
    assert [item.at for item in items] == sorted((item.at for item in items), reverse=True)
    last = items[-1]
    assert (last.outcome, last.duration_us, last.request_id, last.tool) == ("error", 0, "request-0", "tool_0")
    assert (items[2].actor, items[2].detail, items[2].duration_us) == ("operator", {"token": "t1"}, None)


@pytest.mark.usefixtures("log")
async def test_a_call_that_was_never_heard_of_again_is_unknown(console: Database) -> None:
    (item,) = await found(console, AuditFilter(request_id="request-9"))
    assert (item.outcome, item.duration_us) == (CallOutcome.UNKNOWN, None)


async def test_unknown_begins_after_the_threshold(console: Database, broker: Database, sealer: AuditSealer) -> None:
    await append_events(broker, [call(1)])
    await sealer.seal_all()
    assert [item.outcome for item in await found(console, EVERYTHING)] == [CallOutcome.PENDING]
    now = timedelta(0)
    assert [item.outcome for item in await found(console, EVERYTHING, unknown_after=now)] == [CallOutcome.UNKNOWN]
    assert len(await found(console, AuditFilter(outcome="unknown"), unknown_after=now)) == 1
    assert await found(console, AuditFilter(outcome="unknown")) == []


FILTERS = [
    (AuditFilter(user=USER), 5),
    (AuditFilter(kind="call"), 10),
    (AuditFilter(kind="call.outcome"), 10),
    (AuditFilter(kind="token"), 2),
    (AuditFilter(kind="tok"), 0),
    (AuditFilter(kind=AuditEventKind.TOKEN_REVOKED), 1),
    (AuditFilter(kind=AuditEventKind.DENIED), 1),
    (AuditFilter(module="hidden"), 1),
    (AuditFilter(tool="tool_1"), 5),
    (AuditFilter(outcome="error"), 3),
    (AuditFilter(outcome="ok", tool="tool_0"), 3),
    (AuditFilter(outcome="unknown"), 1),
    (AuditFilter(outcome="denied"), 1),
    (AuditFilter(request_id="request-3"), 2),
    (AuditFilter(request_id=""), 0),
    (AuditFilter(since=at(3), until=at(5)), 2),
    (AuditFilter(since=at(22)), 1),
    (AuditFilter(until=at(0)), 0),
    (AuditFilter(module="' OR true --"), 0),
]


@pytest.mark.usefixtures("log")
async def test_filters(console: Database) -> None:
    assert [(filter, len(await found(console, filter))) for filter, _ in FILTERS] == FILTERS


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize("oldest_first", [False, True])
async def test_pages_give_everything_once(console: Database, oldest_first: bool) -> None:
    for filter, limit in itertools.product([EVERYTHING, AuditFilter(kind="call")], [1, 4, 13, 50]):
        seen: list[AuditEntry] = []
        part = await fetch_audit_page(console, TENANT, filter, None, limit, oldest_first=oldest_first)
        seen += part.items
        while part.next_cursor is not None:
            part = await fetch_audit_page(console, TENANT, filter, part.next_cursor, limit, oldest_first=oldest_first)
            seen += part.items
        assert seen == await found(console, filter, oldest_first=oldest_first)


@pytest.mark.usefixtures("log")
async def test_the_oldest_first_is_the_same_the_other_way_round(console: Database) -> None:
    for filter, count in FILTERS:
        items = await found(console, filter, oldest_first=True)
        assert items == (await found(console, filter))[::-1]
        assert len(items) == count
    assert await found(console, AuditFilter(), oldest_first=True, limit=1) == (await found(console, EVERYTHING))[-1:]


@pytest.mark.parametrize(("oldest_first", "order"), [(False, "6543210"), (True, "0123456")])
async def test_equal_times_do_not_confuse_pages(
    console: Database, broker: Database, sealer: AuditSealer, oldest_first: bool, order: str
) -> None:
    await append_events(broker, [admin_event(0, request_id=str(n)) for n in range(7)])
    await sealer.seal_all()
    first = await fetch_audit_page(console, TENANT, EVERYTHING, None, 4, oldest_first=oldest_first)
    second = await fetch_audit_page(console, TENANT, EVERYTHING, first.next_cursor, 4, oldest_first=oldest_first)
    assert [item.request_id for item in first.items + second.items] == list(order)


@pytest.mark.usefixtures("log")
async def test_a_cursor_goes_on_from_its_place_in_either_order(console: Database) -> None:
    everything = await found(console, EVERYTHING)
    page = await fetch_audit_page(console, TENANT, EVERYTHING, None, 5)
    assert await found(console, EVERYTHING, cursor=page.next_cursor, oldest_first=True) == everything[3::-1]


@pytest.mark.usefixtures("log")
async def test_new_events_do_not_shift_the_next_page(console: Database, broker: Database, sealer: AuditSealer) -> None:
    first = await fetch_audit_page(console, TENANT, EVERYTHING, None, 3)
    await append_events(broker, [admin_event(100)])
    await sealer.seal_all()
    second = await fetch_audit_page(console, TENANT, EVERYTHING, first.next_cursor, 3)
    assert [item.request_id for item in second.items] == ["request-9", "request-8", "request-7"]


@pytest.mark.usefixtures("log")
async def test_each_tenant_reads_its_own(console: Database) -> None:
    (item,) = (await fetch_audit_page(console, OTHER, EVERYTHING)).items
    assert item.request_id == "request-77"
    assert (await fetch_audit_page(console, DEPLOYMENT_CHAIN, EVERYTHING)).items == ()
    assert (await fetch_audit_page(console, uuid4(), EVERYTHING)).items == ()


async def test_an_outcome_s_details_join_its_call_s(console: Database, broker: Database, sealer: AuditSealer) -> None:
    intent = call(detail={"from": "intent"})
    await append_events(broker, [intent, build_outcome_event(intent, CallOutcome.TIMEOUT, 5, {"to": "outcome"})])
    await sealer.seal_all()
    (item,) = await found(console, EVERYTHING)
    assert item.detail == {"from": "intent", "to": "outcome"}


async def test_a_made_up_cursor_is_refused(console: Database) -> None:
    for cursor in ("", "x", "AAAA", "kgE", "é", "kv__________8B", "A" * 5000):
        with pytest.raises(Invalid, match="cursor"):
            await fetch_audit_page(console, TENANT, EVERYTHING, cursor)


async def test_a_page_has_a_limit(console: Database) -> None:
    for limit in (0, -1, 501):
        with pytest.raises(Invalid, match="limit"):
            await fetch_audit_page(console, TENANT, EVERYTHING, None, limit)


@pytest.mark.parametrize(
    "filter",
    [
        AuditFilter(user=USER),
        AuditFilter(outcome="error"),
        AuditFilter(outcome="unknown"),
        AuditFilter(outcome="ok", module="kg"),
        AuditFilter(kind="call"),
        AuditFilter(user=USER, tool="tool_1"),
        AuditFilter(outcome="error", since=at(2), until=at(8)),
        AuditFilter(outcome="never"),
    ],
)
@pytest.mark.parametrize("oldest_first", [False, True])
async def test_a_search_that_ends_early_says_how_far_it_was_and_goes_on(
    console: Database, log: list[AuditEvent], filter: AuditFilter, oldest_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Page by page, with no time for more than one stretch, it finds the same as in one go."""
    monkeypatch.setattr(page_search, "FIRST_STRETCH", timedelta(seconds=3))
    monkeypatch.setattr(page_search, "MOST_GROWTH", 1.0)
    whole = await found(console, filter, search_seconds=60, oldest_first=oldest_first)
    items: list[AuditEntry] = []
    looked: list[datetime] = []
    cursor: str | None = None
    while True:
        page = await fetch_audit_page(console, TENANT, filter, cursor, 2, search_seconds=0, oldest_first=oldest_first)
        items += page.items
        if page.searched_until is not None:
            looked.append(page.searched_until)
            assert all((item.at < page.searched_until) == oldest_first for item in page.items)
        if (cursor := page.next_cursor) is None:
            break
    assert items == whole
    assert looked == sorted(looked, reverse=not oldest_first)
    assert len(looked) > 1
    assert (await fetch_audit_page(console, uuid4(), filter, oldest_first=oldest_first)).items == ()


@pytest.mark.parametrize(
    ("kind", "kinds"),
    [
        ("token", {"token.created", "token.revoked"}),
        ("token.created", {"token.created"}),
        ("toke", set[str]()),
        ("call", {"call"}),
        ("call.outcome", {"call"}),
        ("call.denied", {"call.denied"}),
        ("never", set[str]()),
    ],
)
async def test_a_kind_or_the_part_before_its_dot(
    console: Database, log: list[AuditEvent], kind: str, kinds: set[str]
) -> None:
    assert {item.kind for item in await found(console, AuditFilter(kind=kind))} == kinds
