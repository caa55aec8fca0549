"""The statement of the audit writer over PostgreSQL's own protocol: one write and one read for each flush.

A flush lies on the path of every call, and through asyncpg it takes 120 µs of CPU: coroutines, a timer, codecs and a
look at every element of an array. asyncpg connects, logs in and encrypts; the connection is this channel's afterwards.
(PostgreSQL 18: 54.2.3 Extended Query, 54.7 Message Formats)
"""

import asyncio
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, cast
from uuid import UUID

import asyncpg

_UUID, _TEXT, _BYTEA = 2950, 25, 17  # OIDs of the elements
_UUID_ARRAY, _TEXT_ARRAY, _BYTEA_ARRAY = 2951, 1009, 1001
_STATEMENT = b"mcpist_append\0"
_EXECUTE_SYNC = b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04"
_ALL_APPENDED = b"2\0\0\0\x04D\0\0\0\n\0\1\xff\xff\xff\xffC\0\0\0\rSELECT 1\0Z\0\0\0\5I"
"""The answer where nothing was refused: BindComplete, a row that is null, CommandComplete, ReadyForQuery."""
_HEADER_BYTES = 5
_pack_int = struct.Struct(">i").pack
_pack_array = struct.Struct(">iiiiii").pack
_ARRAY_BYTES = 20
# The unnamed portal; all parameters and the result in binary form.
_BIND, _BIND_SIGNED = (b"\0%b\0\1\0\1\0%c" % (_STATEMENT, parameters) for parameters in (2, 3))
_RESULT_IN_BINARY = b"\0\1\0\1"
_read_header = struct.Struct(">ci").unpack_from
_read_int = struct.Struct(">i").unpack_from

OnDurable = Callable[[Sequence[int]], None]
"""Takes the places of the records that were refused."""
OnLoss = Callable[[Exception], None]
"""Takes the error after which the channel is of no more use: whether a batch under way was written is unknown."""


async def open_append_channel(connection: Any, query: str, on_loss: OnLoss, *, signed: bool) -> "AppendChannel":
    """Take over an asyncpg connection for `query`, whose parameters are tenants, with `signed` their passes, and
    records. Nothing else may use the connection; its owner terminates it.

    Raises:
        asyncpg.PostgresError: the statement cannot be prepared.
        OSError: the connection is lost.
    """
    channel = AppendChannel(connection._transport, signed=signed)
    await channel.prepare(query)
    if channel.is_closing():  # lost since the answer came, when nobody was to be told
        raise ConnectionResetError
    channel.on_loss = on_loss
    return channel


class AppendChannel(asyncio.Protocol):
    """One connection with one prepared statement. One flush at a time."""

    def __init__(self, transport: Any, *, signed: bool) -> None:
        self._transport: asyncio.Transport = transport
        self._signed = signed
        self._unread = b""
        self._refused: Sequence[int] = ()
        self._error: Exception | None = None
        self._on_durable: OnDurable | None = None
        self.on_loss: OnLoss | None = None
        transport.set_protocol(self)

    async def prepare(self, query: str) -> None:
        """Prepare the statement; raises what :func:`open_append_channel` does."""
        types = (_UUID_ARRAY, _TEXT_ARRAY, _BYTEA_ARRAY) if self._signed else (_UUID_ARRAY, _BYTEA_ARRAY)
        body = b"%b%b\0" % (_STATEMENT, query.encode()) + struct.pack(f">h{len(types)}i", len(types), *types)
        prepared: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def fail(error: Exception) -> None:
            if not prepared.done():
                prepared.set_exception(error)

        def finish(_: Sequence[int]) -> None:
            if not prepared.done():
                prepared.set_result(None)

        self.on_loss, self._on_durable = fail, finish
        self._transport.write(_build_message(b"P", body) + b"S\0\0\0\x04")
        await prepared

    def append(
        self, tenants: Sequence[UUID], passes: Sequence[str], records: Sequence[bytes], on_durable: OnDurable
    ) -> None:
        """Write a batch; `on_durable` is called when it is."""
        # Without a loop in Python: a flush is on the path of every call.
        count = len(records)
        parts = [_BIND_SIGNED if self._signed else _BIND, *_encode_array(_UUID, count, map(_encode_uuid, tenants))]
        if self._signed:
            parts += _encode_array(_TEXT, count, map(_encode_text, passes))
        parts += _encode_array(
            _BYTEA, count, chain.from_iterable(zip(map(_pack_int, map(len, records)), records, strict=True))
        )
        parts.append(_RESULT_IN_BINARY)
        body = b"".join(parts)
        self._on_durable = on_durable
        self._transport.write(b"B%b%b%b" % (_pack_int(len(body) + 4), body, _EXECUTE_SYNC))

    def is_closing(self) -> bool:
        """Check whether the connection is lost or being closed."""
        return self._transport.is_closing()

    # The transport's side (asyncio.Protocol).

    def data_received(self, data: bytes) -> None:
        if data == _ALL_APPENDED and not self._unread and self._error is None:
            self._finish()
            return
        data = self._unread + data if self._unread else data
        at = 0
        while len(data) - at >= _HEADER_BYTES:
            kind, length = _read_header(data, at)
            end = at + 1 + length
            if len(data) < end:
                break
            if kind == b"D":
                self._refused = _decode_integers(data[at + _HEADER_BYTES : end])
            elif kind == b"E":
                self._error = _decode_error(data[at + _HEADER_BYTES : end])
            elif kind == b"Z":
                self._finish()
            at = end
        self._unread = data[at:]

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose(self._error or exc or ConnectionResetError("the database has closed the connection"))

    def _finish(self) -> None:
        on_durable, refused = self._on_durable, self._refused
        self._on_durable, self._refused = None, ()
        if self._error is not None:
            self._lose(self._error)
        elif on_durable is not None:
            on_durable(refused)

    def _lose(self, error: Exception) -> None:
        on_loss, self.on_loss = self.on_loss, None
        if on_loss is not None:
            on_loss(error)


def _build_message(kind: bytes, body: bytes) -> bytes:
    return b"%b%b%b" % (kind, _pack_int(len(body) + 4), body)


def _encode_array(element: int, count: int, items: Iterable[bytes]) -> tuple[bytes, bytes]:
    """Encode an array as a parameter, behind its length; `items` are the elements, each with its own before it."""
    encoded = b"".join(items)
    return _pack_array(_ARRAY_BYTES + len(encoded), 1, 0, element, count, 1), encoded


@lru_cache(4096)
def _encode_uuid(value: UUID) -> bytes:
    return b"\0\0\0\x10" + value.bytes


@lru_cache(4096)
def _encode_text(value: str) -> bytes:
    encoded = value.encode()
    return _pack_int(len(encoded)) + encoded


def _decode_integers(row: bytes) -> Sequence[int]:
    """Decode the only column of a row, an array of int4 or null."""
    (length,) = _read_int(row, 2)
    if length <= 12:  # null, or an array without elements
        return ()
    (count,) = _read_int(row, 18)
    return [_read_int(row, 30 + 8 * number)[0] for number in range(count)]


def _decode_error(body: bytes) -> Exception:
    fields = {part[:1].decode(): part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
    return cast("Any", asyncpg.PostgresError).new(fields)
