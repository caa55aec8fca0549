"""People with a graph each: on a database of the test's own, or as newcomers on one for all such tests of a file."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from core.db import Database
from modules.knowledge_graph import MODULE
from tests.support.modules import Person
from tests.support.postgres import DatabaseServer, MadeTenant, ScratchDatabase, add_tenant

on_shared_database = pytest.mark.asyncio(loop_scope="module")
"""For a test that asks for a `newcomer`."""


@pytest.fixture
async def gateway(database: ScratchDatabase) -> AsyncIterator[Database]:
    """The database as the gateway sees it."""
    async with database.open("mcpist_gateway") as opened:
        yield opened


@pytest.fixture
async def people(gateway: Database, make_tenant: Callable[..., Awaitable[MadeTenant]]) -> list[Person]:
    """Two users of one tenant, then two of another."""
    tenants = [await make_tenant(users=2), await make_tenant(users=2)]
    return [Person(gateway, MODULE, tenant.id, user) for tenant in tenants for user in tenant.users]


@pytest.fixture
async def alice(people: list[Person]) -> Person:
    return people[0]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_database(database_server: DatabaseServer) -> AsyncIterator[tuple[ScratchDatabase, Database]]:
    async with database_server.database() as database, database.open("mcpist_gateway") as opened:
        yield database, opened


@pytest_asyncio.fixture(loop_scope="module")
async def newcomer(shared_database: tuple[ScratchDatabase, Database]) -> Person:
    """The only user of a new tenant, beside those of the tests before."""
    database, opened = shared_database
    tenant = await add_tenant(database)
    return Person(opened, MODULE, tenant.id, tenant.users[0])
