"""One product for all tests of a file, and one browser for all files; they run on the loop of the session."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.console.console_app import ConsoleApp, console_app
from tests.support import postgres


@pytest.fixture(autouse=True, scope="session")
def share_browser(keep_browser: None) -> None:
    """Let a test use the browser of the others."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def app(
    share_browser: None, database_server: postgres.DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ConsoleApp]:
    """The console in a browser. Nothing may be in its console, and nothing may break the policy, at the end."""
    async with (
        database_server.database() as database,
        console_app(database, tmp_path_factory.mktemp("console")) as running,
    ):
        yield running
        running.check()


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def close_pages(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    """Close what a test has opened."""
    yield
    if "app" in request.fixturenames:
        app: ConsoleApp = request.getfixturevalue("app")
        await app.close_pages()
