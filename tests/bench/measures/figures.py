"""FG: figures over time of a tenant with ten million calls, made by SQL, and how fast sealed events are counted."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg

from core.audit.call_counts import CallCounter
from core.audit.figures import FigureInterval, load_figures
from core.db import Database
from server.operator_context import OperatorContext, open_operator_context
from tests.bench.lab import Lab, Product
from tests.bench.processes import cpu_seconds, own_seconds, trees
from tests.bench.product import unlimited
from tests.bench.report import Result, Row

MUST = 100
"""Milliseconds, of issue 14."""
CALLS, DAYS, MODULES, PEOPLE, SEALED = 10_000_000, 400, 10, 300, 100_000
RANGES: tuple[tuple[str, FigureInterval, int], ...] = (
    ("24 hours by hour", "hour", 1),
    ("31 days by hour", "hour", 31),
    ("30 days by day", "day", 30),
    ("400 days by day", "day", 400),
    ("31 days by hour in Tokyo", "hour", 31),
    ("31 days by day in Tokyo", "day", 31),
    ("92 days by day in Tokyo", "day", 92),
    ("92 days by day in Denver", "day", 92),
)
OFFSETS = {"Tokyo": 9, "Denver": -7}
TENANT = UUID(int=14)
# As counted from calls in every hour of the last 400 days; and nineteen buckets of durations.
FILL = (
    """INSERT INTO core.users (tenant_id, id, email)
    SELECT $1::uuid, ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, 'user' || n || '@figures.test'
    FROM generate_series(1, $2::int) n""",
    """INSERT INTO core.services (tenant_id, module) SELECT $1::uuid, 'm' || n FROM generate_series(1, $2::int) n""",
    """INSERT INTO core.hourly_calls (tenant_id, period, module, calls, errors, denied, durations)
    SELECT $1::uuid, date_trunc('hour', now(), 'UTC') - h * interval '1 hour', CASE m WHEN 0 THEN '*' ELSE 'm' || m END,
        $4::int, 1, 1, array(SELECT ($4::int / 6) * ((b + h + m) % 3)::bigint FROM generate_series(0, 18) b)
    FROM generate_series(0, $2::int * 24 - 1) h, generate_series(0, $3::int) m""",
    """INSERT INTO core.daily_calls (tenant_id, period, module, calls, errors, denied, durations)
    SELECT $1::uuid, date_trunc('day', now(), 'UTC') - h * interval '1 day', CASE m WHEN 0 THEN '*' ELSE 'm' || m END,
        $4::int, 1, 1, array(SELECT ($4::int / 6) * ((b + h + m) % 3)::bigint FROM generate_series(0, 18) b)
    FROM generate_series(0, $2::int - 1) h, generate_series(0, $3::int) m""",
    """INSERT INTO core.active_people (tenant_id, day, user_id, hours)
    SELECT $1::uuid, current_date - d, ('00000000-0000-0000-0000-' || lpad(u::text, 12, '0'))::uuid,
        16776960 >> (u % 9)
    FROM generate_series(0, $2::int - 1) d, generate_series(1, $3::int) u""",
    """INSERT INTO core.active_days (tenant_id, month, user_id, days)
    SELECT tenant_id, day - extract(day FROM day)::int + 1, user_id, bit_or(1 << (extract(day FROM day)::int - 1))
    FROM core.active_people WHERE tenant_id = $1 GROUP BY 1, 2, 3""",
)
EVENTS = """WITH numbered AS (SELECT n, gen_random_uuid() AS id FROM generate_series(1, $2::int) n)
    INSERT INTO audit.events (tenant_id, seq, sealed_at, at, id, intent, kind, user_id, credential_id, client,
        request_id, module, tool, outcome, duration_us, digest, actor, hash)
    SELECT $1::uuid, n * 2 - k, now(), now() - n * interval '10 ms',
        CASE k WHEN 1 THEN uuid_send(id) ELSE uuid_send(gen_random_uuid()) END, CASE k WHEN 0 THEN uuid_send(id) END,
        CASE k WHEN 1 THEN 'call.intent' ELSE 'call.outcome' END,
        CASE k WHEN 1 THEN ('00000000-0000-0000-0000-' || lpad((n % 300 + 1)::text, 12, '0'))::uuid END,
        'bench', 'bench', 'r' || n, CASE k WHEN 1 THEN 'm' || n % 10 + 1 ELSE '' END,
        CASE k WHEN 1 THEN 'tool' ELSE '' END, CASE k WHEN 0 THEN 'ok' ELSE '' END,
        CASE k WHEN 0 THEN n % 400000 ELSE 0 END, '', 'bench', sha256(uuid_send(id))
    FROM numbered, generate_series(0, 1) k"""
HEAD = "INSERT INTO audit.heads (tenant_id, seq, hash, sealed_at) VALUES ($1, $2, sha256('bench'), now())"


def measure(lab: Lab) -> list[Result]:
    """Each range, and the counting of sealed events."""
    product = lab.new_product("figures")
    settings = unlimited(product.home, product.port, product.upstream)

    async def run() -> list[Row]:
        async with open_operator_context(settings, lambda _text: None) as operating:
            await _fill(operating, SEALED // 100 if lab.options.quick else SEALED)
            rounds = 1 if lab.options.quick else 4 * lab.options.rounds
            return [
                *await _measure_newest(operating.console, rounds),
                *await _measure_counting(operating.console),
                *await _measure_ranges(operating.console, rounds, product),
            ]

    return [Result(tuple(asyncio.run(run())))]


async def _fill(operating: OperatorContext, sealed: int) -> None:
    admin: Any = await asyncpg.connect(**operating.deployment.admin.connect_args())
    try:
        await admin.execute("SELECT set_config('app.tenant_id', $1, false)", str(TENANT))
        await admin.execute(
            "INSERT INTO core.tenants (tenant_id, slug, name) VALUES ($1, 'figures', 'Figures')", TENANT
        )
        calls = CALLS // (DAYS * 24 * MODULES)
        for statement, arguments in zip(
            FILL,
            ((PEOPLE,), (MODULES,), (DAYS, MODULES, calls), (DAYS, MODULES, calls * 24), (DAYS, PEOPLE), ()),
            strict=True,
        ):
            await admin.execute(statement, TENANT, *arguments)
        await admin.execute(EVENTS, TENANT, sealed)
        await admin.execute(HEAD, TENANT, sealed * 2)
        await admin.execute(
            "ANALYZE core.hourly_calls, core.daily_calls, core.active_people, core.active_days, audit.events"
        )
    finally:
        await admin.close()


async def _measure_newest(console: Database, rounds: int) -> list[Row]:
    """Figures of a day on a busy product, where each reader finds as many events as one may have to count."""
    counter, milliseconds = CallCounter(console), list[float]()
    for _ in range(min(rounds, 5)):
        until, started_at = datetime.now(UTC), time.perf_counter()
        await counter.count_newest(TENANT)
        await load_figures(console, TENANT, until - timedelta(days=1), until, "hour")
        milliseconds.append((time.perf_counter() - started_at) * 1000)
    what = "figures, 24 hours by hour, 20,000 events to count first"
    return [Row("FG", what, "ms", tuple(milliseconds), more_is_better=False)]


async def _measure_counting(console: Database) -> list[Row]:
    counter, started_at = CallCounter(console), time.perf_counter()
    counted = 0
    while batch := await counter.count_pending():
        counted += batch
    rate = counted / (time.perf_counter() - started_at)
    return [Row("FG", "sealed events counted", "events/s", (rate,))]


async def _measure_ranges(console: Database, rounds: int, product: Product) -> list[Row]:
    """The time of each range, and the CPU time of it, which other programs on the machine distort less."""
    rows: list[Row] = []
    for what, interval, days in RANGES:
        milliseconds: list[float] = []
        cpu_before = _read_cpu(product)
        for _ in range(rounds):
            until, started_at = datetime.now(UTC), time.perf_counter()
            since = until - timedelta(days=days)
            offset = OFFSETS.get(what.rpartition(" in ")[2], 0)
            found = await load_figures(console, TENANT, since, until, interval, offset)
            milliseconds.append((time.perf_counter() - started_at) * 1000)
            assert found.total.calls, "there is something to count"
        cpu = (_read_cpu(product) - cpu_before) * 1000 / rounds
        rows.append(Row("FG", f"figures, {what}", "ms", tuple(milliseconds), MUST, more_is_better=False))
        rows.append(Row("FG", f"figures, {what}: CPU", "ms", (cpu,), more_is_better=False))
    return rows


def _read_cpu(product: Product) -> float:
    return own_seconds() + cpu_seconds(trees((product.pid,)))
