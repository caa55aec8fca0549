"""One vendor of each recovery profile for a module's tests, and an app for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.broker.refresh.refresh_app import RefreshApp, app_on
from tests.broker.refresh.vendor import Vendor, all_vendors
from tests.support.postgres import ScratchDatabase


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def vendors(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[dict[str, Vendor]]:
    async with all_vendors(tmp_path_factory.mktemp("vendors")) as running:
        yield running


@pytest.fixture
async def app(database: ScratchDatabase, vendors: dict[str, Vendor], tmp_path: Path) -> AsyncIterator[RefreshApp]:
    for one in vendors.values():
        await one.reset()
    providers = [one.provider for one in vendors.values()]
    async with app_on(database, tmp_path, providers, [one.host for one in vendors.values()]) as made:
        yield made


@pytest.fixture(params=["strict", "grace", "non_rotating"])
def vendor(request: pytest.FixtureRequest, vendors: dict[str, Vendor]) -> Vendor:
    return vendors[request.param]


@pytest.fixture
def strict(vendors: dict[str, Vendor]) -> Vendor:
    return vendors["strict"]
