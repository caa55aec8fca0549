"""A world for every test of the broker."""

from collections.abc import AsyncIterator

import pytest

from tests.broker.world import World, world_on
from tests.support.postgres import ScratchDatabase

pytest.register_assert_rewrite("tests.broker.contract")


@pytest.fixture
async def world(database: ScratchDatabase) -> AsyncIterator[World]:
    async with world_on(database) as made:
        yield made
