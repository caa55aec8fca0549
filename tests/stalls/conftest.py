"""The whole product in this process, on a loop that is watched."""

from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.stalls.surface import Surface, surface_on
from tests.stalls.watch import WatchedLoop
from tests.support.postgres import ScratchDatabase


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> Mapping[str, Callable[[], Any]]:
    return {"watched": WatchedLoop}


@pytest.fixture
async def surface(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Surface]:
    async with surface_on(database, tmp_path / "home") as surface:
        yield surface
