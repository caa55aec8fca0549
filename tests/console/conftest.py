"""One product and one browser for all tests of a file; they run on the loop of the file."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.console.console_app import ConsoleApp, console_app
from tests.support import postgres


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app(
    database_server: postgres.DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ConsoleApp]:
    """The console in a browser. Nothing may be in its console, and nothing may break the policy, at the end."""
    async with (
        database_server.database() as database,
        console_app(database, tmp_path_factory.mktemp("console")) as running,
    ):
        yield running
        running.check()
