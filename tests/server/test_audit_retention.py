"""What the operator stores, within MCPIST_AUDIT_KEEP_MONTHS, takes effect: the first process deletes what is older."""

from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import asyncpg
import pytest

from core.audit.event import AuditEvent, AuditEventKind
from core.audit.retention import compute_first_kept_day
from core.audit.sealer import AuditSealer
from core.audit.verification import verify_chain
from core.audit.writer import append_events
from core.database_url import DatabaseAddress
from core.db import Database
from core.directory.audit_retention import AuditRetentionStore
from core.directory.audit_trail import Actor
from core.directory.tenants import Tenant
from server.audit_retention import LATE, apply_retention, create_retention_check, run_retention
from tests.support.directory import create_tenant
from tests.support.eventually import within
from tests.support.postgres import ScratchDatabase

ACTOR = Actor("tests")
MONTHS = [datetime(2025, month, 15, tzinfo=UTC) for month in (1, 2, 3, 4)]
APRIL = datetime(2025, 4, 30, 23, 59, tzinfo=UTC)
MAY = datetime(2025, 5, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Admin:
    """As much of a deployment as retention needs."""

    admin: DatabaseAddress


@pytest.fixture
async def console(database: ScratchDatabase) -> AsyncIterator[Database]:
    async with database.open("mcpist_console") as opened:
        yield opened


@pytest.fixture
async def tenants(console: Database) -> list[Tenant]:
    """Two tenants with an event in each of four months."""
    made = [await create_tenant(console, ACTOR, slug) for slug in ("acme", "globex")]
    for month in MONTHS:
        at = int(month.timestamp() * 1e9)
        events = [AuditEvent(at=at, kind=AuditEventKind.SIGN_IN, tenant_id=tenant.id) for tenant in made]
        await append_events(console, events)
        await AuditSealer(console, lambda month=month: month).seal_all()
    return made


async def months_of(database: ScratchDatabase) -> list[str]:
    async with database.admin_connection() as admin:
        rows = await admin.fetch("SELECT DISTINCT to_char(sealed_at AT TIME ZONE 'UTC', 'MM') AS m FROM audit.events")
    return sorted(row["m"] for row in rows)


@pytest.mark.parametrize(
    ("now", "months", "kept"),
    [
        (APRIL, 1, date(2025, 3, 1)),
        (MAY, 1, date(2025, 4, 1)),
        (MAY, 4, date(2025, 1, 1)),
        (MAY, 5, date(2024, 12, 1)),
        (MAY, 1_200, date(1925, 5, 1)),
        (datetime.fromisoformat("2025-05-01T08:00+09:00"), 1, date(2025, 3, 1)),
    ],
)
def test_the_first_kept_day(now: datetime, months: int, kept: date) -> None:
    assert compute_first_kept_day(now, months) == kept


async def test_a_change_counts_without_a_restart(
    database: ScratchDatabase, console: Database, tenants: list[Tenant]
) -> None:
    retention, admin = AuditRetentionStore(console, 0), Admin(database.admin)
    assert await apply_retention(admin, retention, MAY) == []
    await retention.put(ACTOR, 2, MAY)
    assert await apply_retention(admin, retention, APRIL) == ["events_2025_01"]
    assert await months_of(database) == ["02", "03", "04"]
    assert await apply_retention(admin, retention, APRIL) == [], "nothing is left to do in this month"
    assert await apply_retention(admin, retention, MAY) == ["events_2025_02"]
    await retention.put(ACTOR, 1, MAY)
    assert await apply_retention(admin, retention, MAY) == ["events_2025_03"]
    await retention.reset(ACTOR, MAY)
    assert await apply_retention(admin, retention, datetime.now(UTC)) == [], "the default keeps everything"
    assert await months_of(database) == ["04"]
    for tenant in tenants:
        assert (await verify_chain(console, tenant.id)).ok


@pytest.mark.guarantee("G15")
async def test_the_environment_keeps_at_most(
    database: ScratchDatabase, console: Database, tenants: list[Tenant]
) -> None:
    admin = Admin(database.admin)
    await AuditRetentionStore(console, 0).put(ACTOR, 3, MAY)
    assert await apply_retention(admin, AuditRetentionStore(console, 2), MAY) == ["events_2025_01", "events_2025_02"]


@pytest.mark.guarantee("G15")
async def test_a_clock_that_is_ahead_deletes_nothing_early(database: ScratchDatabase, console: Database) -> None:
    now = datetime.now(UTC)
    await append_events(console, [AuditEvent(at=1, kind=AuditEventKind.SIGN_IN)])
    await AuditSealer(console, lambda: now).seal_all()
    ahead = now.replace(year=now.year + 3)
    assert await apply_retention(Admin(database.admin), AuditRetentionStore(console, 1), ahead) == []


async def test_the_first_process_looks_at_its_start(
    database: ScratchDatabase, console: Database, tenants: list[Tenant]
) -> None:
    async def is_done() -> bool:
        return await months_of(database) == ["04"]

    async with run_retention(Admin(database.admin), AuditRetentionStore(console, 1), lambda: MAY):
        await within(20, is_done)


async def test_a_process_that_must_not_shorten_the_log_says_that_nobody_does(
    database: ScratchDatabase, console: Database, tenants: list[Tenant]
) -> None:
    now = MAY

    def is_told(retention: AuditRetentionStore) -> Awaitable[bool | str]:
        return create_retention_check(retention, lambda: now)()

    retention = AuditRetentionStore(console, 0)
    assert await is_told(retention) is True, "everything is kept"
    assert str(await is_told(AuditRetentionStore(console, 2))).startswith("degraded: months that are not kept")
    await retention.put(ACTOR, 2, MAY)
    now = MAY + LATE - timedelta(seconds=1)
    assert await is_told(retention) is True, "a timer has some time"
    now = MAY + LATE
    assert "mcpist audit retention apply" in str(await is_told(retention))
    assert await apply_retention(Admin(database.admin), retention, now)
    assert await is_told(retention) is True
    now = datetime(2025, 6, 1, tzinfo=UTC) + LATE - timedelta(seconds=1)
    assert await is_told(retention) is True, "and at the end of a month"
    now += timedelta(seconds=1)
    assert await is_told(retention) is not True


async def test_the_control_planes_login_cannot_shorten_the_log(console: Database, tenants: list[Tenant]) -> None:
    """So `mcpist console` leaves it to a job with the administrator's."""
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await console.call("SELECT audit.drop_before(1, now())")
