"""`MCPIST_AUDIT_KEEP_MONTHS` takes effect: the first process deletes what is older."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from core.audit.event import AuditEvent, AuditEventKind
from core.audit.sealer import AuditSealer
from core.audit.verification import verify_chain
from core.audit.writer import append_events
from core.database_url import DatabaseAddress
from core.directory.audit_trail import Actor
from server.serving import run_retention
from tests.support.directory import create_tenant
from tests.support.postgres import ScratchDatabase

NOW = datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Admin:
    """As much of a deployment as retention needs."""

    admin: DatabaseAddress


async def months_of(database: ScratchDatabase) -> int:
    async with database.admin_connection() as admin:
        return await admin.fetchval("SELECT count(DISTINCT date_trunc('month', sealed_at)) FROM audit.events")


@pytest.mark.parametrize(("keep", "kept"), [(8, 2), (0, 3)])
async def test_old_months_go_and_the_chain_stays_whole(database: ScratchDatabase, keep: int, kept: int) -> None:
    async with database.open("mcpist_console") as console:
        tenant = await create_tenant(console, Actor("tests"), "acme")
        for age in (400, 200, 0):
            event = AuditEvent(at=1, kind=AuditEventKind.SIGN_IN, tenant_id=tenant.id)
            await append_events(console, [event])
            await AuditSealer(console, lambda age=age: NOW - timedelta(days=age)).seal_all()
        assert await months_of(database) == 3
        async with run_retention(Admin(database.admin), keep):
            async with asyncio.timeout(20):
                while keep and await months_of(database) != kept:
                    await asyncio.sleep(0.05)
            await asyncio.sleep(0 if keep else 0.3)
        assert await months_of(database) == kept
        assert (await verify_chain(console, tenant.id)).ok
