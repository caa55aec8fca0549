"""The broker behind HTTP keeps the contract of mandates, for a gateway and a worker with keys of their own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.broker.broker_harness import BrokerHarness
from tests.broker.mandates.contract import *  # noqa: F403 the tests
from tests.broker.mandates.contract import Hands
from tests.support.http_broker import served_over_http


@pytest.fixture
async def hands(app: BrokerHarness, tmp_path: Path) -> AsyncIterator[Hands]:
    async with served_over_http(app.local, tmp_path) as served:
        yield Hands(served.client, served.worker)
