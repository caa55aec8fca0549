"""AL: the first page of a long audit log for each filter, also for what is rare; and what sealing costs PostgreSQL."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg

from core.audit.query import AuditFilter, fetch_audit_page
from core.db import Database
from server.operator_context import OperatorContext, open_operator_context
from tests.bench.lab import Lab
from tests.bench.processes import cpu_seconds, own_seconds, trees
from tests.bench.product import unlimited
from tests.bench.report import Result, Row

MUST = 200
"""Milliseconds of a first page."""
TENANT, RARE_PERSON, PERSON = UUID(int=15), UUID(int=9999), UUID(int=7)
DAYS = 360
# Two records a call, evenly over the days. What is rare stands in the oldest days. The newest calls are under way, and
# one in 100,000 was cut off.
CALLS = """INSERT INTO audit.events (tenant_id, seq, sealed_at, at, id, intent, kind, user_id, credential_id, client,
        request_id, module, tool, outcome, duration_us, digest, arguments, detail, actor, hash)
    SELECT $1::uuid, n * 2 - k, at, at, decode(lpad(to_hex(n * 2 - k), 32, '0'), 'hex'),
        CASE k WHEN 0 THEN decode(lpad(to_hex(n * 2 - 1), 32, '0'), 'hex') END,
        CASE k WHEN 1 THEN 'call.intent' ELSE 'call.outcome' END,
        CASE WHEN k = 1 THEN ('00000000-0000-0000-0000-' || lpad(to_hex(CASE n % 500000 WHEN 7 THEN 39321
            ELSE n % 300 + 1 END), 12, '0'))::uuid END,
        CASE k WHEN 1 THEN 'tok_bench' ELSE '' END, CASE k WHEN 1 THEN 'bench' ELSE '' END, 'request-' || n,
        CASE WHEN k = 0 THEN '' WHEN n < 30000 AND n % 1000 = 3 THEN 'rare_module' ELSE 'module_' || n % 10 END,
        CASE WHEN k = 0 THEN '' WHEN n < 30000 AND n % 1000 = 3 THEN 'rare_tool' ELSE 'tool_' || n % 60 END,
        CASE WHEN k = 1 THEN '' WHEN n % 100 = 0 THEN 'error'
            WHEN n < 30000 AND n % 1000 = 5 THEN 'cancelled' ELSE 'ok' END,
        CASE k WHEN 0 THEN n % 400000 ELSE 0 END, '', NULL, NULL, '', sha256(int8send(n))
    FROM (SELECT n, now() - interval '1 second' - ($2::bigint - n) * ($3::int * interval '1 day') / $2 AS at
        FROM generate_series($4::bigint, $5::bigint) n) AS calls, generate_series(0, 1) k
    WHERE k = 1 OR NOT (n % 100000 = 9 OR n > $2 - 3)"""
CHANGES = """INSERT INTO audit.events (tenant_id, seq, sealed_at, at, id, kind, credential_id, client, request_id,
        module, tool, outcome, duration_us, digest, actor, hash)
    SELECT $1::uuid, 1000000000 + n, at, at, decode(lpad(to_hex(1000000000 + n), 32, '0'), 'hex'),
        CASE WHEN n <= 5 THEN 'issuer.trusted' ELSE 'token.created' END, '', '', '', '', '', 'ok', 0, '', 'bench',
        sha256(int8send(n))
    FROM (SELECT n, now() - interval '359 days' + n * interval '1 hour' AS at
        FROM generate_series(1, 1000) n) AS events"""
FILTERS: tuple[tuple[str, AuditFilter], ...] = (
    ("no filter", AuditFilter()),
    ("a frequent tool", AuditFilter(module="module_1", tool="tool_1")),
    ("a rare tool", AuditFilter(module="rare_module", tool="rare_tool")),
    ("a rare tool, without its module", AuditFilter(tool="rare_tool")),
    ("a rare module", AuditFilter(module="rare_module")),
    ("a tool that nobody called", AuditFilter(module="module_1", tool="never")),
    ("a rare kind", AuditFilter(kind="issuer")),
    ("a kind that never was", AuditFilter(kind="key.retired")),
    ("errors", AuditFilter(outcome="error")),
    ("a rare outcome", AuditFilter(outcome="cancelled")),
    ("calls under way", AuditFilter(outcome="pending")),
    ("calls that were cut off", AuditFilter(outcome="unknown")),
    ("a frequent person", AuditFilter(user=PERSON)),
    ("a rare person", AuditFilter(user=RARE_PERSON)),
)


def measure(lab: Lab) -> list[Result]:
    """The first page of each filter."""
    product = lab.new_product("audit-pages")
    settings = unlimited(product.home, product.port, product.upstream)
    records = 10_000_000 if lab.options.full else 20_000 if lab.options.quick else 1_000_000

    async def run() -> list[Row]:
        async with open_operator_context(settings, lambda _text: None) as operating:
            lab.progress(f"writing {records:,} records")
            await fill(operating, records)
            rounds = 1 if lab.options.quick else 5
            return await measure_pages(operating.console, records, rounds, product.pid)

    return [Result(tuple(asyncio.run(run())))]


async def fill(operating: OperatorContext, records: int) -> None:
    """Write the log of a tenant by SQL, day by day for what an index looks like then."""
    admin: Any = await asyncpg.connect(**operating.deployment.admin.connect_args())
    try:
        await admin.execute("SET synchronous_commit = off")
        await admin.execute("SELECT set_config('app.tenant_id', $1, false)", str(TENANT))
        await admin.execute("INSERT INTO core.tenants (tenant_id, slug, name) VALUES ($1, 'log', 'Log')", TENANT)
        for days in range(0, DAYS + 31, 28):
            await admin.execute("SELECT audit.prepare_month($1)", datetime.now(UTC) - timedelta(days=min(days, DAYS)))
        calls, step = records // 2, 100_000
        for first in range(1, calls + 1, step):
            await admin.execute(CALLS, TENANT, calls, DAYS, first, min(calls, first + step - 1))
        await admin.execute(CHANGES, TENANT)
        await admin.execute("VACUUM ANALYZE audit.events")
    finally:
        await admin.close()


async def measure_pages(console: Database, records: int, rounds: int, pid: int) -> list[Row]:
    """Time, and CPU time, of the first page by each filter."""
    rows: list[Row] = []
    for what, filter in FILTERS:
        milliseconds: list[float] = []
        cpu_before = own_seconds() + cpu_seconds(trees((pid,)))
        for _ in range(rounds):
            started_at = time.perf_counter()
            page = await fetch_audit_page(console, TENANT, filter)
            milliseconds.append((time.perf_counter() - started_at) * 1000)
        cpu = (own_seconds() + cpu_seconds(trees((pid,))) - cpu_before) * 1000 / rounds
        name = f"first page of {records:,} records, {what} ({len(page.items)} entries)"
        rows.append(Row("AL", name, "ms", tuple(milliseconds), MUST, more_is_better=False))
        rows.append(Row("AL", f"{what}: CPU", "ms", (cpu,), more_is_better=False))
    return rows
