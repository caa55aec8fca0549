"""The whole product in this process, on a loop that is watched."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest
import pytest_asyncio

from tests.stalls.surface import Surface, surface_on
from tests.stalls.watch import WatchedLoop
from tests.support.postgres import DatabaseServer


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> Mapping[str, Callable[[], Any]]:
    return {"watched": WatchedLoop}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def surface(database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Surface]:
    async with (
        database_server.database() as database,
        surface_on(database, tmp_path_factory.mktemp("surface") / "home") as surface,
    ):
        yield surface
