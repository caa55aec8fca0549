"""Fixtures of the tests of connecting."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.broker.connect.connect_app import ConnectApp, TwoVendors, two_vendors, vendors_on
from tests.support.postgres import ScratchDatabase


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def vendors(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[TwoVendors]:
    async with two_vendors(tmp_path_factory.mktemp("vendors")) as running:
        yield running


@pytest.fixture
async def app(database: ScratchDatabase, tmp_path: Path, vendors: TwoVendors) -> AsyncIterator[ConnectApp]:
    await vendors.reset()
    async with vendors_on(database, tmp_path, running=vendors) as made:
        yield made
