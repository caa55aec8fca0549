"""A Confluence, and one started product that all tests of the folder share."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from core.http.credential_headers import CredentialScheme
from modules.confluence import MODULE
from tests.support.confluence_double import PAIR, ConfluenceDouble, confluence_double
from tests.support.confluence_double.world import World
from tests.support.module_app import ModuleApp, open_module_app
from tests.support.postgres import DatabaseServer


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def vendor() -> AsyncIterator[ConfluenceDouble]:
    async with confluence_double() as double:
        yield double


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def app(
    vendor: ConfluenceDouble, database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ModuleApp]:
    """Ada has an e-mail address and an API token, eve a bearer token that only reads."""
    async with open_module_app(database_server, tmp_path_factory.mktemp("confluence"), MODULE, vendor.url) as app:
        await app.connect(app.ada, PAIR, scheme=CredentialScheme(kind="basic_pair"))
        await app.connect(app.eve, "reader")
        yield app


@pytest.fixture
def world(vendor: ConfluenceDouble) -> World:
    """A site without pages."""
    vendor.world = World()
    vendor.refusals.clear()
    return vendor.world
