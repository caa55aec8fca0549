"""Fixtures of the tests of jobs."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.jobs.harness import Plant, open_plant
from tests.support.postgres import DatabaseServer, ScratchDatabase

CLEAN = """DELETE FROM jobs.jobs; DELETE FROM jobs.schedules; DELETE FROM jobs.workers; DELETE FROM jobs.user_turns;
    DELETE FROM jobs.tenant_turns; DELETE FROM auth.mandates; DELETE FROM vault.notices; DELETE FROM audit.incoming;
    DROP TABLE IF EXISTS public.ledger;
    CREATE OR REPLACE FUNCTION jobs.clock() RETURNS timestamptz LANGUAGE sql VOLATILE RETURN clock_timestamp()"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_database(database_server: DatabaseServer) -> AsyncIterator[ScratchDatabase]:
    async with database_server.database() as made:
        yield made


@pytest.fixture
async def database(shared_database: ScratchDatabase) -> ScratchDatabase:
    """One for all tests of a file, in which earlier ones have left nothing but their tenants: to copy and to drop a
    database takes 45 ms."""
    async with shared_database.admin_connection() as admin:
        await admin.execute(CLEAN)
    return shared_database


@pytest.fixture
async def plant(database: ScratchDatabase) -> AsyncIterator[Plant]:
    """A queue on the test's database, without a worker."""
    async with open_plant(database) as made:
        yield made
