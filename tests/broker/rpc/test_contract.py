"""The broker behind HTTP keeps the contract."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from broker.interface import Broker
from tests.broker.broker_harness import BrokerHarness
from tests.broker.contract import *  # noqa: F403 the tests, and their fixtures
from tests.support.http_broker import served_over_http


@pytest.fixture
async def broker(app: BrokerHarness, tmp_path: Path) -> AsyncIterator[Broker]:
    async with served_over_http(app.local, tmp_path) as served:
        yield served.client
