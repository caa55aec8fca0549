"""Transactions of one caller on the schema `search`, which a database without pgvector lacks."""

import contextlib
from collections.abc import AsyncGenerator

import asyncpg

from core.db import Database, UnitOfWork
from core.errors import Unavailable
from search.records import CollectionCaller

NO_PGVECTOR = (
    "search is off: the database has no pgvector 0.8 or newer. Its operator creates the extension and runs "
    "`mcpist migrate`"
)


class SearchOff(Unavailable):
    """The database has no schema `search`."""

    def __init__(self) -> None:
        super().__init__(NO_PGVECTOR, retry_after=300.0)


@contextlib.asynccontextmanager
async def open_search(database: Database, caller: CollectionCaller) -> AsyncGenerator[UnitOfWork]:
    """Open a transaction in which the caller's collections exist; ``$2`` of each statement is the caller.

    Raises:
        SearchOff: the database has no schema `search`.
    """
    try:
        async with database.personal(caller.tenant_id, caller.user_id) as work:
            yield work
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
        raise SearchOff from None
