"""Fixtures of the tests of connecting."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.broker.connect.rig import Scene, vendors_on
from tests.support.postgres import ScratchDatabase


@pytest.fixture
async def scene(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Scene]:
    async with vendors_on(database, tmp_path) as made:
        yield made
