"""A broker with its database for every test of the broker."""

from collections.abc import AsyncIterator

import pytest

from tests.broker.broker_harness import BrokerHarness, broker_harness_on
from tests.support.postgres import ScratchDatabase

pytest.register_assert_rewrite("tests.broker.contract", "tests.broker.mandates.contract")


@pytest.fixture
async def app(database: ScratchDatabase) -> AsyncIterator[BrokerHarness]:
    async with broker_harness_on(database) as made:
        yield made
