"""The log as its reader sees it: calls with their outcomes, newest first, page by page."""

import itertools
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from core.audit.bounds import moment
from core.audit.event import DEPLOYMENT, Event, Kind, Outcome, outcome_of
from core.audit.query import Filter, Item, page
from core.audit.sealer import Sealer
from core.audit.writer import append
from core.db import Database
from core.errors import Invalid
from tests.core.audit.support import OTHER, TENANT, USER, call

START = 1_700_000_000_000_000_000
EVERYTHING = Filter()


def at(second: int) -> datetime:
    found = moment(START + second * 1_000_000_000)
    assert found is not None
    return found


def admin_event(second: int, kind: str = Kind.TOKEN_CREATED, **fields: Any) -> Event:
    return Event(at=START + second * 1_000_000_000, kind=kind, tenant_id=TENANT, **fields)


async def found(console: Database, filter: Filter, **options: Any) -> list[Item]:
    return list((await page(console, TENANT, filter, **options)).items)


@pytest.fixture
async def log(broker: Database, sealer: Sealer) -> list[Event]:
    """Ten calls, a second apart; the last has no outcome. Then other things, one of another tenant."""
    calls = [
        call(n, at=START + n * 1_000_000_000, tool=f"tool_{n % 2}", user_id=USER if n < 5 else uuid4())
        for n in range(10)
    ]
    ends = [outcome_of(c, Outcome.ERROR if n % 3 == 0 else Outcome.OK, n * 10) for n, c in enumerate(calls[:9])]
    others = [
        admin_event(20, actor="operator", detail={"token": "t1"}),
        admin_event(21, Kind.TOKEN_REVOKED),
        admin_event(22, Kind.DENIED, module="hidden", tool="made_up", outcome=Outcome.DENIED, request_id="request-3"),
        call(77, tenant_id=OTHER, at=START),
    ]
    await append(broker, [*calls, *ends, *others])
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
    (item,) = await found(console, Filter(request_id="request-9"))
    assert (item.outcome, item.duration_us) == (Outcome.UNKNOWN, None)


async def test_unknown_begins_after_the_threshold(console: Database, broker: Database, sealer: Sealer) -> None:
    await append(broker, [call(1)])
    await sealer.seal_all()
    assert [item.outcome for item in await found(console, EVERYTHING)] == [Outcome.PENDING]
    now = timedelta(0)
    assert [item.outcome for item in await found(console, EVERYTHING, unknown_after=now)] == [Outcome.UNKNOWN]
    assert len(await found(console, Filter(outcome="unknown"), unknown_after=now)) == 1
    assert await found(console, Filter(outcome="unknown")) == []


FILTERS = [
    (Filter(user=USER), 5),
    (Filter(kind="call"), 10),
    (Filter(kind="call.outcome"), 10),
    (Filter(kind="token"), 2),
    (Filter(kind="tok"), 0),
    (Filter(kind=Kind.TOKEN_REVOKED), 1),
    (Filter(kind=Kind.DENIED), 1),
    (Filter(module="hidden"), 1),
    (Filter(tool="tool_1"), 5),
    (Filter(outcome="error"), 3),
    (Filter(outcome="ok", tool="tool_0"), 3),
    (Filter(outcome="unknown"), 1),
    (Filter(outcome="denied"), 1),
    (Filter(request_id="request-3"), 2),
    (Filter(request_id=""), 0),
    (Filter(since=at(3), until=at(5)), 2),
    (Filter(since=at(22)), 1),
    (Filter(until=at(0)), 0),
    (Filter(module="' OR true --"), 0),
]


@pytest.mark.usefixtures("log")
async def test_filters(console: Database) -> None:
    assert [(filter, len(await found(console, filter))) for filter, _ in FILTERS] == FILTERS


@pytest.mark.usefixtures("log")
async def test_pages_give_everything_once(console: Database) -> None:
    for filter, limit in itertools.product([EVERYTHING, Filter(kind="call")], [1, 4, 13, 50]):
        seen: list[Item] = []
        part = await page(console, TENANT, filter, None, limit)
        seen += part.items
        while part.next_cursor is not None:
            part = await page(console, TENANT, filter, part.next_cursor, limit)
            seen += part.items
        assert seen == await found(console, filter)


async def test_equal_times_do_not_confuse_pages(console: Database, broker: Database, sealer: Sealer) -> None:
    await append(broker, [admin_event(0, request_id=str(n)) for n in range(7)])
    await sealer.seal_all()
    first = await page(console, TENANT, EVERYTHING, None, 4)
    second = await page(console, TENANT, EVERYTHING, first.next_cursor, 4)
    assert [item.request_id for item in first.items + second.items] == list("6543210")


@pytest.mark.usefixtures("log")
async def test_new_events_do_not_shift_the_next_page(console: Database, broker: Database, sealer: Sealer) -> None:
    first = await page(console, TENANT, EVERYTHING, None, 3)
    await append(broker, [admin_event(100)])
    await sealer.seal_all()
    second = await page(console, TENANT, EVERYTHING, first.next_cursor, 3)
    assert [item.request_id for item in second.items] == ["request-9", "request-8", "request-7"]


@pytest.mark.usefixtures("log")
async def test_each_tenant_reads_its_own(console: Database) -> None:
    (item,) = (await page(console, OTHER, EVERYTHING)).items
    assert item.request_id == "request-77"
    assert (await page(console, DEPLOYMENT, EVERYTHING)).items == ()
    assert (await page(console, uuid4(), EVERYTHING)).items == ()


async def test_an_outcome_s_details_join_its_call_s(console: Database, broker: Database, sealer: Sealer) -> None:
    intent = call(detail={"from": "intent"})
    await append(broker, [intent, outcome_of(intent, Outcome.TIMEOUT, 5, {"to": "outcome"})])
    await sealer.seal_all()
    (item,) = await found(console, EVERYTHING)
    assert item.detail == {"from": "intent", "to": "outcome"}


async def test_a_made_up_cursor_is_refused(console: Database) -> None:
    for cursor in ("", "x", "AAAA", "kgE", "é", "kv__________8B", "A" * 5000):
        with pytest.raises(Invalid, match="cursor"):
            await page(console, TENANT, EVERYTHING, cursor)


async def test_a_page_has_a_limit(console: Database) -> None:
    for limit in (0, -1, 501):
        with pytest.raises(Invalid, match="limit"):
            await page(console, TENANT, EVERYTHING, None, limit)
