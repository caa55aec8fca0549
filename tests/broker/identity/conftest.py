"""Fixtures of the identity tests."""

from collections.abc import AsyncIterator

import pytest

from tests.broker.identity.people import People, people_on
from tests.support.postgres import ScratchDatabase


@pytest.fixture
async def people(database: ScratchDatabase) -> AsyncIterator[People]:
    async with people_on(database) as made:
        yield made
