"""The engine on a database, and the notes of one person."""

from collections.abc import AsyncIterator

import pytest

from search.engine import SearchEngine
from search.records import CollectionCaller, SearchCollection
from tests.support.postgres import ScratchDatabase
from tests.support.search_engine import ToyEmbedders


@pytest.fixture
async def engine(database: ScratchDatabase) -> AsyncIterator[SearchEngine]:
    async with database.open("mcpist_gateway") as gateway:
        yield SearchEngine(gateway, ToyEmbedders())


@pytest.fixture
async def ada(make_tenant) -> CollectionCaller:
    tenant = await make_tenant()
    return CollectionCaller(tenant.id, tenant.users[0], "rag")


@pytest.fixture
async def notes(engine: SearchEngine, ada: CollectionCaller) -> SearchCollection:
    return await engine.open_collection(ada, "notes")
