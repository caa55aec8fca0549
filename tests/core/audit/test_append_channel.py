"""The statement of the audit writer over PostgreSQL's protocol, however a server answers and reads are cut."""

import asyncio
import struct
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from core.audit.append_channel import AppendChannel, open_append_channel
from core.audit.writer import APPEND_SIGNED_QUERY
from core.db import Database
from tests.support.postgres import ScratchDatabase

TENANT = UUID(int=7)
READY = b"Z\0\0\0\x05I"
BOUND = b"2\0\0\0\x04"


class Transport:
    """Takes what is written."""

    def __init__(self) -> None:
        self.written = b""

    def set_protocol(self, protocol: object) -> None:
        pass

    def write(self, data: bytes) -> None:
        self.written += data


class Channel:
    """A channel without a server, and what it has called."""

    def __init__(self) -> None:
        self.durable: list[Sequence[int]] = []
        self.lost: list[Exception] = []
        self.channel = AppendChannel(Transport(), signed=True)
        self.channel.on_loss = self.lost.append
        self.channel.append([TENANT], ["pass"], [b"record"], self.durable.append)


def row(value: bytes | None) -> bytes:
    """A DataRow of one column."""
    column = struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value
    return b"D" + struct.pack(">ih", len(column) + 6, 1) + column


def integers(*values: int) -> bytes:
    items = b"".join(struct.pack(">ii", 4, value) for value in values)
    return struct.pack(">iii", 1, 0, 23) + struct.pack(">ii", len(values), 1) + items


EMPTY = struct.pack(">iii", 0, 0, 23)


@pytest.mark.parametrize(
    ("value", "refused"), [(None, []), (EMPTY, []), (integers(0), [0]), (integers(3, 700), [3, 700])]
)
@pytest.mark.parametrize("size", [1, 4, 7, 1000])
def test_an_answer_in_reads_of_any_size(value: bytes | None, refused: list[int], size: int) -> None:
    one = Channel()
    notice = b"N" + struct.pack(">i", 4 + 6) + b"Mhello"
    answer = notice + BOUND + row(value) + b"C\0\0\0\x0dSELECT 1\0" + READY
    for start in range(0, len(answer), size):
        assert (one.durable, one.lost) == ([], [])
        one.channel.data_received(answer[start : start + size])
    assert ([list(places) for places in one.durable], one.lost) == ([refused], [])


def test_an_error_ends_the_channel_once() -> None:
    one = Channel()
    fields = b"SERROR\0C53100\0Mcould not extend file\0\0"
    one.channel.data_received(b"E" + struct.pack(">i", 4 + len(fields)) + fields)
    assert one.lost == [], "the server is not ready yet"
    one.channel.data_received(READY)
    one.channel.connection_lost(None)
    assert (one.durable, [type(error) for error in one.lost]) == ([], [asyncpg.DiskFullError])


def test_a_lost_connection_ends_the_channel() -> None:
    one = Channel()
    one.channel.data_received(BOUND + READY[:3])
    one.channel.connection_lost(None)
    assert (one.durable, [type(error) for error in one.lost]) == ([], [ConnectionResetError])


async def test_a_connection_that_ends_while_it_is_taken_over_is_told() -> None:
    class Lost(Transport):
        """Answers, and is gone."""

        def set_protocol(self, protocol: Any) -> None:
            self.protocol = protocol

        def write(self, data: bytes) -> None:
            self.protocol.data_received(b"1\0\0\0\x04" + READY)
            self.protocol.connection_lost(None)

        def is_closing(self) -> bool:
            return True

    connection = SimpleNamespace(_transport=Lost())
    with pytest.raises(ConnectionResetError):
        await open_append_channel(connection, APPEND_SIGNED_QUERY, lambda _: None, signed=True)


async def test_the_server_reads_what_asyncpg_would_send(database: ScratchDatabase) -> None:
    """Texts and bytes of every length, in the order in which they came."""
    records = [bytes([number % 256]) * number for number in (1, 2, 255, 256, 70_000)]
    tenants = [UUID(int=number) for number in range(1, len(records))] + [UUID(int=0)]
    async with database.open("mcpist_gateway") as gateway:
        sign = await database.passes()
        passes = [sign(tenant) for tenant in tenants]
        passes[1] = "パス"
        refused = await _append(gateway, tenants, passes, records)
    async with database.admin_connection() as admin:
        rows = await admin.fetch("SELECT tenant_id, record FROM audit.incoming ORDER BY id")
    kept = [place for place in range(len(records)) if place != 1]
    assert list(refused) == [1]
    assert [(row["tenant_id"], row["record"]) for row in rows] == [(tenants[at], records[at]) for at in kept]


async def _append(
    database: Database, tenants: Sequence[UUID], passes: Sequence[str], records: Sequence[bytes]
) -> Sequence[int]:
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    async with database.connection() as connection:
        channel = await open_append_channel(connection, APPEND_SIGNED_QUERY, answer.set_exception, signed=True)
        channel.append(tenants, passes, records, answer.set_result)
        try:
            return await answer
        finally:
            connection.terminate()
