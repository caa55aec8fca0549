"""One desk for each file of tests."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.modules.activity.desk import ActivityDesk, open_desk
from tests.support.postgres import DatabaseServer


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(
    database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ActivityDesk]:
    async with open_desk(database_server, tmp_path_factory.mktemp("activity")) as opened:
        yield opened


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def emptied(request: pytest.FixtureRequest) -> None:
    """Begin each test with empty vendors, and nothing stored."""
    if "desk" in request.fixturenames:
        desk: ActivityDesk = request.getfixturevalue("desk")
        desk.forget()
        await desk.forget_stored()
        await desk.set_zone(desk.app.ada, "Europe/Berlin")
        await desk.set_zone(desk.app.eve, None)
