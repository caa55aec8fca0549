"""Figures over time: each event of the audit log counts once, in its hour, for its tenant."""

import asyncio
import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from core.audit import call_counts
from core.audit.call_counts import CallCounter
from core.audit.event import AuditEvent, AuditEventKind, build_outcome_event
from core.audit.figures import estimate_percentile
from core.audit.writer import append_events
from core.db import UnitOfWork
from tests.admin_ui.admin_app import AdminApp, Tenant

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def call(
    tenant: UUID, user: UUID | None, at: datetime, outcome: str = "ok", ms: float = 10, module: str = "kg"
) -> list[AuditEvent]:
    """The two events of a call."""
    intent = AuditEvent(
        at=int(at.timestamp() * 1e9),
        kind=AuditEventKind.CALL_INTENT,
        tenant_id=tenant,
        user_id=user,
        module=module,
        tool="x",
    )
    return [intent, build_outcome_event(intent, outcome, int(ms * 1000))] if outcome else [intent]


def denied(tenant: UUID, at: datetime, module: str) -> AuditEvent:
    return AuditEvent(
        at=int(at.timestamp() * 1e9),
        kind=AuditEventKind.DENIED,
        tenant_id=tenant,
        module=module,
        tool="x",
        outcome="denied",
    )


async def record(app: AdminApp, events: Sequence[AuditEvent]) -> None:
    await append_events(app.console, events)
    await app.seal()


async def figures(client: httpx2.AsyncClient, **params: Any) -> Any:
    asked = {"since": NOON.isoformat(), "until": (NOON + timedelta(hours=3)).isoformat()} | params
    answer = await client.get("/figures", params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
async def kg(app: AdminApp, acme: Tenant) -> Tenant:
    await app.execute("INSERT INTO core.services (tenant_id, module) VALUES ($1, 'kg')", acme.id)
    return acme


async def test_calls_are_counted_by_hour_and_service(app: AdminApp, kg: Tenant) -> None:
    globex = await app.tenant("globex")
    minute = timedelta(minutes=1)
    events = [
        *call(kg.id, kg.user.id, NOON, ms=100),
        *call(kg.id, kg.user.id, NOON + minute, "error", ms=100),
        *call(kg.id, kg.admin.id, NOON + minute, "timeout", ms=60_000),
        *call(kg.id, kg.admin.id, NOON + 61 * minute, "cancelled"),
        *call(kg.id, kg.admin.id, NOON + 62 * minute, ""),
        *call(kg.id, kg.user.id, NOON + 63 * minute, "denied", ms=0),
        denied(kg.id, NOON + 64 * minute, "kg"),
        denied(kg.id, NOON + 65 * minute, "made_up"),
        denied(kg.id, NOON + 66 * minute, "x" * 60),
        *call(globex.id, globex.user.id, NOON),
        *call(kg.id, kg.user.id, NOON - minute),
        *call(kg.id, kg.user.id, NOON + 180 * minute),
    ]
    await record(app, events)
    await CallCounter(app.console, batch_events=2).count_pending(100)
    async with app.browser(kg.admin) as admin, app.browser(globex.admin) as other, app.browser(kg.user) as user:
        found = await figures(admin)
        assert (await figures(other))["total"]["calls"] == 1
        assert (await user.get("/figures")).status_code == 403
    counts = [(one["calls"], one["errors"], one["denied"], one["people"]) for one in found["points"]]
    assert counts == [(3, 2, 0, 2), (3, 0, 4, 2), (0, 0, 0, 0)]
    assert found["points"][0]["start"] == "2026-11-20T12:00:00Z"
    services = {one["module"]: (one["calls"], one["errors"], one["denied"]) for one in found["services"]}
    assert services == {"": (0, 0, 2), "kg": (6, 2, 2)}
    total = found["total"]
    assert (total["calls"], total["errors"], total["denied"], total["people"]) == (6, 2, 4, 2)
    assert 70 < total["median_ms"] < 141
    assert 40_000 < total["p95_ms"] < 66_000


async def test_days_begin_in_the_zone_that_is_asked_for(app: AdminApp, kg: Tenant) -> None:
    """An hour before midnight in Tokyo and an hour after are 14:30 and 15:30 of one day in UTC."""
    before, after = NOON + timedelta(hours=2, minutes=30), NOON + timedelta(hours=3, minutes=30)
    late = NOON + timedelta(hours=11, minutes=30)
    await record(
        app, [*call(kg.id, kg.user.id, before), *call(kg.id, kg.user.id, after), *call(kg.id, kg.admin.id, late)]
    )
    await CallCounter(app.console).count_pending()
    around = {"since": (NOON - timedelta(hours=6)).isoformat(), "until": (NOON + timedelta(hours=12)).isoformat()}
    async with app.browser(kg.admin) as admin:
        utc = await figures(admin, interval="day", **around)
        tokyo = await figures(admin, interval="day", utc_offset_hours=9, **around)
        denver = await figures(admin, interval="day", utc_offset_hours=-7, **around)
    shown = {
        name: [(one["start"], one["calls"], one["people"]) for one in found["points"]]
        for name, found in (("utc", utc), ("tokyo", tokyo), ("denver", denver))
    }
    assert shown["utc"] == [("2026-11-20T00:00:00Z", 3, 2)]
    assert shown["tokyo"] == [("2026-11-19T15:00:00Z", 1, 1), ("2026-11-20T15:00:00Z", 2, 2)]
    assert shown["denver"] == [("2026-11-19T07:00:00Z", 0, 0), ("2026-11-20T07:00:00Z", 3, 2)]
    assert [one["total"]["people"] for one in (utc, tokyo, denver)] == [2, 2, 2]


@pytest.mark.parametrize("offset", [0, 9, 14, -7, -12])
async def test_people_of_any_range_are_counted_once(app: AdminApp, kg: Tenant, offset: int) -> None:
    """Compared with a count over the calls themselves, over the borders of days, months and a year."""
    chance = random.Random(offset)
    people = [uuid4() for _ in range(6)]
    for number, person in enumerate(people):
        await app.execute(
            "INSERT INTO core.users (tenant_id, id, email) VALUES ($1, $2, $3)", kg.id, person, f"p{number}@acme.test"
        )
    begin = datetime(2025, 11, 20, tzinfo=UTC)
    calls = [(begin + timedelta(minutes=chance.randrange(90 * 1440)), chance.choice(people)) for _ in range(150)]
    globex = await app.tenant("globex")
    await record(app, [event for at, person in calls for event in call(kg.id, person, at)])
    await record(app, call(globex.id, globex.user.id, begin + timedelta(days=3)))
    shift = timedelta(hours=offset)
    async with app.browser(kg.admin) as admin:
        for _ in range(12):
            since = begin + timedelta(hours=chance.randrange(60 * 24))
            interval = chance.choice(["hour", "day"])
            until = since + timedelta(hours=chance.randrange(1, 24 * (30 if interval == "hour" else 90)))
            found = await figures(
                admin, since=since.isoformat(), until=until.isoformat(), interval=interval, utc_offset_hours=offset
            )
            first, end = datetime.fromisoformat(found["since"]), datetime.fromisoformat(found["until"])
            expected: dict[datetime, set[UUID]] = {}
            for at, person in calls:
                local = (at + shift).replace(minute=0)
                local = local if interval == "hour" else local.replace(hour=0)
                if first <= at < end:
                    expected.setdefault(local - shift, set()).add(person)
            shown = {
                datetime.fromisoformat(point["start"]): point["people"] for point in found["points"] if point["people"]
            }
            assert shown == {start: len(members) for start, members in expected.items()}, (since, until, interval)
            assert found["total"]["people"] == len(set().union(*expected.values()))


async def test_the_newest_calls_are_in_the_figures_that_somebody_reads(app: AdminApp, kg: Tenant) -> None:
    """Nobody counts but the reader; and where another process is at it, the reader still gets an answer."""
    globex = await app.tenant("globex")
    await record(app, [*call(kg.id, kg.user.id, NOON), *call(globex.id, globex.user.id, NOON)])
    async with app.browser(kg.admin) as admin, app.browser(globex.admin) as other:
        assert (await figures(admin))["total"]["calls"] == 1
        assert await app.value("SELECT count(*) FROM core.count_positions WHERE tenant_id = $1", globex.id) == 0
        await record(app, [*call(kg.id, kg.user.id, NOON), *call(kg.id, kg.admin.id, NOON)])
        async with app.console.tenant(kg.id) as work:
            await work.fetchval("SELECT seq FROM core.count_positions WHERE tenant_id = $1 FOR UPDATE")
            assert (await figures(admin))["total"]["calls"] == 1
        assert (await figures(admin))["total"]["calls"] == 3
        assert (await figures(other))["total"]["calls"] == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"since": NOON.isoformat(), "until": NOON.isoformat()},
        {"since": (NOON + timedelta(hours=9)).isoformat()},
        {"since": "0001-01-01T00:00:00Z"},
        {"until": "9999-12-31T23:59:59Z"},
        {"since": (NOON - timedelta(days=40)).isoformat()},
        {"interval": "minute"},
        {"utc_offset_hours": 15},
        {"utc_offset_hours": 5.5},
    ],
)
async def test_a_range_has_limits(app: AdminApp, acme: Tenant, wrong: dict[str, Any]) -> None:
    asked = {"since": NOON.isoformat(), "until": (NOON + timedelta(hours=3)).isoformat()} | wrong
    async with app.browser(acme.admin) as admin:
        assert (await admin.get("/figures", params=asked)).status_code == 400


async def test_an_outcome_that_comes_later_is_counted_with_its_call(app: AdminApp, kg: Tenant) -> None:
    intent, outcome = call(kg.id, kg.user.id, NOON, "error")
    counter = CallCounter(app.console)
    await record(app, [intent])
    await counter.count_pending()
    await record(app, [outcome])
    await counter.count_pending()
    await counter.count_pending()
    async with app.browser(kg.admin) as admin:
        (kg_figures,) = (await figures(admin))["services"]
    assert (kg_figures["module"], kg_figures["calls"], kg_figures["errors"]) == ("kg", 1, 1)


async def test_a_batch_is_read_once(app: AdminApp, kg: Tenant) -> None:
    """In pages that PostgreSQL looks at: nothing is looked up for each event. It was 5 pages an event."""
    calls = [call(kg.id, kg.user.id, NOON + timedelta(seconds=number)) for number in range(200)]
    await record(app, [event for pair in calls for event in pair])
    async with app.console.tenant(kg.id) as work:
        (found,) = json.loads(
            await work.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {call_counts._COUNT}", 0, 1000)
        )
    assert await app.value("SELECT calls FROM core.daily_calls WHERE module = 'kg'") == 200
    assert found["Plan"]["Shared Hit Blocks"] + found["Plan"]["Shared Read Blocks"] < 200


class _Killed(Exception):
    """What a process that is killed does not come to raise."""


async def test_a_kill_at_any_statement_counts_nothing_twice(
    app: AdminApp, kg: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    await record(
        app, [event for number in range(10) for event in call(kg.id, kg.user.id, NOON + timedelta(minutes=number))]
    )
    plain = UnitOfWork.execute
    for survived in range(6):
        left = survived

        async def dying(work: UnitOfWork, sql: Any, *args: Any) -> int:
            nonlocal left
            left -= 1
            if left < 0:
                raise _Killed
            return await plain(work, sql, *args)

        with monkeypatch.context() as patch:
            patch.setattr(UnitOfWork, "execute", dying)
            try:
                await CallCounter(app.console, batch_events=7).count_pending(1)
            except _Killed:
                continue
    await asyncio.gather(*(CallCounter(app.console, batch_events=3).count_pending(100) for _ in range(4)))
    await CallCounter(app.console).count_pending()
    async with app.browser(kg.admin) as admin:
        assert (await figures(admin))["total"]["calls"] == 10
    assert await app.value("SELECT sum(d) FROM core.hourly_calls, unnest(durations) d WHERE module = '*'") == 10
    assert await app.value("SELECT sum(calls) FROM core.daily_calls WHERE module = 'kg'") == 10


async def test_removed_people_and_tenants_leave_no_counts(app: AdminApp, kg: Tenant) -> None:
    await record(app, call(kg.id, kg.user.id, NOON))
    await CallCounter(app.console).count_pending()
    async with app.browser(kg.admin) as admin:
        await admin.delete(f"/users/{kg.user.id}")
        assert (await figures(admin))["total"]["people"] == 0
    await record(app, call(kg.id, kg.user.id, NOON))
    await CallCounter(app.console).count_pending()
    await app.execute("DELETE FROM core.tenants WHERE tenant_id = $1", kg.id)
    await record(app, call(kg.id, kg.admin.id, NOON))
    await CallCounter(app.console).count_pending()
    for table in ("hourly_calls", "daily_calls", "active_people", "active_days", "count_positions"):
        assert await app.value(f"SELECT count(*) FROM core.{table} WHERE tenant_id = $1", kg.id) == 0, table


async def test_old_counts_are_forgotten(app: AdminApp, kg: Tenant) -> None:
    await record(app, [*call(kg.id, kg.user.id, NOON), *call(kg.id, kg.user.id, NOON - timedelta(days=900))])
    counter = CallCounter(app.console)
    await counter.count_pending()
    assert await app.value("SELECT count(*) FROM core.hourly_calls") == 4
    await counter.forget_old()
    assert await app.value("SELECT count(*) FROM core.hourly_calls") == 2
    assert await app.value("SELECT count(*) FROM core.active_people") == 1
    assert await app.value("SELECT count(*) FROM core.active_days") == 1


@pytest.mark.parametrize(
    ("durations", "share", "expected"),
    [
        ([], 0.5, None),
        ([0, 0], 0.5, None),
        ([4], 1.0, 1.0),
        ([0, 0, 1], 1.0, 2.0),
        ([0, 0, 10, *[0] * 7, 10], 0.5, 2.0),
        ([0, 0, 10, *[0] * 7, 10], 0.95, 30.9),
        ([*[0] * 40, 1], 1.0, 1_048_576.0),
    ],
)
def test_percentiles_of_buckets(durations: list[int], share: float, expected: float | None) -> None:
    assert estimate_percentile(durations, share) == expected
