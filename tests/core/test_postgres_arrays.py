"""PostgreSQL reads from our arrays what was put in, however it was divided into parts."""

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio

from core.postgres_arrays import (
    encode_hex,
    encode_integers,
    encode_texts,
    encode_times,
    encode_uuids,
    join_parts,
)
from tests.support.postgres import DatabaseServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = (datetime(9998, 12, 31, 23, 59, 59, 999999, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
PLAIN = ["a", "", " ", "b c", "{", "}", ",", "'", "日本語", "🜁", "\n\t\r\x01\x7f\x85\u2028", "null", "x" * 100_000]
ODD = ["NULL", '"', '""', "\\", "\\\\", '\\"', '"\\', '","', '{"a"}', "\\x41", "\\N", "\\000"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def connection(database_server: DatabaseServer) -> AsyncIterator[Any]:
    """One for all tests: they only ask what arrays PostgreSQL reads."""
    async with database_server.database(migrated=False) as database, database.admin_connection() as opened:
        yield opened


def encode(encoder: Callable[[Sequence[Any]], str], values: Sequence[Any], part: int) -> str:
    return join_parts([encoder(values[start : start + part]) for start in range(0, len(values), part)])


@pytest.mark.parametrize("part", [1, 2, 1000])
@pytest.mark.parametrize(
    "values",
    [
        [],
        [""],
        [None],
        ["", ""],
        PLAIN,
        ODD,
        [*PLAIN, *ODD],
        [None, *PLAIN],
        [*ODD, None, None],
        *([text] for text in ODD),
    ],
)
async def test_texts(connection: Any, values: list[str | None], part: int) -> None:
    assert await connection.fetchval("SELECT $1::text::text[]", encode(encode_texts, values, part)) == values


@pytest.mark.parametrize("part", [1, 2, 1000])
@pytest.mark.parametrize(
    "values",
    [[], [b""], [None], [b"", None, b""], [bytes(range(256)), b"\\", b'"'], [b"NULL", b"\0", b"\xff" * 100_000]],
)
async def test_bytes(connection: Any, values: list[bytes | None], part: int) -> None:
    digits = [None if value is None else value.hex() for value in values]
    assert await connection.fetchval("SELECT $1::text::bytea[]", encode(encode_hex, digits, part)) == values


@pytest.mark.parametrize("values", [[], [None], [UUID(int=0), None, UUID(int=2**128 - 1)]])
async def test_uuids(connection: Any, values: list[UUID | None]) -> None:
    texts = [None if value is None else str(value) for value in values]
    assert await connection.fetchval("SELECT $1::text::uuid[]", encode(encode_uuids, texts, 2)) == values


@pytest.mark.parametrize("values", [[], [0], [1, -1, 2**63 - 1, -(2**63)]])
async def test_integers(connection: Any, values: list[int]) -> None:
    assert await connection.fetchval("SELECT $1::text::bigint[]", encode(encode_integers, values, 2)) == values


@pytest.mark.parametrize("style", ["ISO, MDY", "SQL, DMY", "Postgres, YMD", "German"])
async def test_times(connection: Any, style: str) -> None:
    """To the microsecond, also beyond what a float holds, and whatever the session's settings are."""
    values = [0, 1, 999_999, 1_000_000, 951_782_400_000_001, 1_772_600_767_890_123, 2**53 + 1, LAST]
    await connection.execute(f"SET datestyle = '{style}'; SET timezone = 'America/St_Johns'")
    read = await connection.fetchval("SELECT $1::text::timestamptz[]", encode(encode_times, values, 3))
    assert read == [EPOCH + timedelta(microseconds=value) for value in values]


@pytest.mark.parametrize("text", ["\0", "\ud800"])
async def test_what_no_text_of_postgresql_can_hold(connection: Any, text: str) -> None:
    with pytest.raises((asyncpg.DataError, asyncpg.CharacterNotInRepertoireError)):
        await connection.fetchval("SELECT $1::text::text[]", encode(encode_texts, ["a", text], 2))
