"""Fixtures of the tests of jobs."""

from collections.abc import AsyncIterator

import pytest

from tests.jobs.harness import Plant, open_plant
from tests.support.postgres import ScratchDatabase


@pytest.fixture
async def plant(database: ScratchDatabase) -> AsyncIterator[Plant]:
    """A queue on the test's database, without a worker."""
    async with open_plant(database) as made:
        yield made
