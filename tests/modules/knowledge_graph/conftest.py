"""People with a graph each."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from core.db import Database
from modules.knowledge_graph import MODULE
from tests.support.modules import Person
from tests.support.postgres import MadeTenant, ScratchDatabase


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
