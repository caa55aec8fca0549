"""Runs the SQL of requests on a real PostgreSQL, as Supabase does: what reads in a read-only transaction without a
search path, and a refusal with PostgreSQL's own code and message."""

import asyncio
import threading
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import asyncpg
import orjson

from core.database_url import DatabaseAddress
from tests.support.supabase_double.world import Refused

Row = dict[str, Any]


class SqlRunner:
    """One connection in a thread of its own: a double's handlers are plain functions."""

    def __init__(self, address: DatabaseAddress) -> None:
        self._address = address
        self._connection: Any = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, sql: str, parameters: Sequence[Any] = (), *, read_only: bool) -> list[Row]:
        """The rows of a query.

        Raises:
            Refused: PostgreSQL refuses it.
        """
        return asyncio.run_coroutine_threadsafe(self._run(sql, parameters, read_only), self._loop).result()

    def close(self) -> None:
        """End the connection and the thread."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _run(self, sql: str, parameters: Sequence[Any], read_only: bool) -> list[Row]:
        if self._connection is None:
            self._connection = await asyncpg.connect(**self._address.connect_args())
            for kind in ("json", "jsonb"):
                await self._connection.set_type_codec(kind, encoder=str, decoder=orjson.loads, schema="pg_catalog")
        try:
            async with self._connection.transaction(readonly=read_only):
                if read_only:
                    await self._connection.execute("SET LOCAL search_path = ''")
                if not parameters and ";" in sql.rstrip().rstrip(";"):
                    await self._connection.execute(sql)
                    return []
                return [_write_row(one) for one in await self._connection.fetch(sql, *parameters)]
        except asyncpg.PostgresError as refused:
            error: Any = refused
            place = f"\nLINE {sql[: int(error.position or 1)].count(chr(10)) + 1}: …"
            raise Refused(400, f"Failed to run sql query: ERROR:  {error.sqlstate}: {error}{place}") from None
        except asyncpg.InterfaceError:  # the driver itself counts parameters, and knows their types
            raise Refused(400, "Failed to run sql query: ERROR:  08P01: bind message supplies 0 parameters") from None

    async def _close(self) -> None:
        if self._connection is not None:
            await self._connection.close()


def _write_row(record: Any) -> Row:
    return {name: _write_value(value) for name, value in record.items()}


def _write_value(value: Any) -> Any:
    """A value as Supabase's JSON has it."""
    if isinstance(value, date | datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal | UUID) else value
