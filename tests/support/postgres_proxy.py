"""A Unix socket in front of a test's PostgreSQL server: it notes every statement, and can fall silent or hang up.

What it notes is what went over the wire (PostgreSQL, Frontend/Backend Protocol), so no layer of ours can hide one.
"""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from core.database_url import DatabaseAddress
from core.secret import Secret

_CHUNK = 65536
_PORT = 5432


class Sent(NamedTuple):
    """One executed statement; parameters are not part of it."""

    role: str
    sql: str


@dataclass(slots=True)
class PostgresProxy:
    """`statements` grows with each one that is executed; clear it as you like."""

    upstream: DatabaseAddress
    folder: Path
    statements: list[Sent] = field(default_factory=list)
    refusing: bool = False
    withholds_announcements: bool = False
    """Whether notifications are dropped, as by a pooler in transaction mode; all else passes."""

    _flowing: asyncio.Event = field(default_factory=asyncio.Event)
    _connections: set[asyncio.StreamWriter] = field(default_factory=set)
    _last: dict[asyncio.StreamWriter, bytes] = field(default_factory=dict)

    @property
    def address(self) -> DatabaseAddress:
        """The same database by way of this proxy."""
        parts = urlsplit(self.upstream.url.reveal())
        login = parts.netloc.rpartition("@")[0]
        return DatabaseAddress(Secret(f"{parts.scheme}://{login}@{parts.path}?host={quote(str(self.folder))}"))

    def silence(self) -> None:
        """From now on nothing passes, as when the server's machine hangs."""
        self._flowing.clear()

    def resume(self) -> None:
        """All is as before; what was held back is delivered."""
        self.refusing = False
        self._flowing.set()

    def hang_up(self) -> None:
        """Cut every connection and take no new one, as when the server has died."""
        self.refusing = True
        for writer in list(self._connections):
            writer.transport.abort()

    async def repeat(self) -> None:
        """Give every client the last answer once more, unasked, as a pooler that has lost count would."""
        for client, answer in self._last.items():
            if not client.is_closing():
                client.write(answer)
                await client.drain()
        await asyncio.sleep(0.05)  # until it has arrived, on this machine

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refusing:
            writer.close()
            return
        server_reader, server = await self._connect()
        self._connections |= {writer, server}
        watch, announcements = _Watch(self.statements), _Announcements()
        copies = [
            asyncio.ensure_future(self._copy(reader, server, watch, writer)),
            asyncio.ensure_future(self._copy(server_reader, writer, announcements, writer)),
        ]
        try:
            await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for copy in copies:
                copy.cancel()
            await asyncio.gather(*copies, return_exceptions=True)
            for end in (writer, server):
                end.transport.abort()
                self._connections.discard(end)
            self._last.pop(writer, None)

    async def _copy(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        watch: "_Watch | _Announcements",
        client: asyncio.StreamWriter,
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(_CHUNK):
                await self._flowing.wait()
                if isinstance(watch, _Watch):
                    watch.take(data)
                    self._last[client] = b""
                else:
                    data = watch.without(data) if self.withholds_announcements else data
                    self._last[client] = self._last.get(client, b"") + data
                sink.write(data)
                await sink.drain()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        parts = urlsplit(self.upstream.url.reveal())
        query = parse_qs(parts.query)
        host = query.get("host", [parts.hostname or "127.0.0.1"])[0]
        port = parts.port or int(query.get("port", [str(_PORT)])[0])
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, port)


class _Announcements:
    """Takes notifications out of one connection's backend messages. Between two reads there are whole messages only,
    as long as nobody asks for much."""

    def without(self, data: bytes) -> bytes:
        kept, at = b"", 0
        while at + 5 <= len(data):
            end = at + 1 + int.from_bytes(data[at + 1 : at + 5], "big")
            kept += b"" if data[at : at + 1] == b"A" else data[at:end]
            at = end
        return kept


class _Watch:
    """Reads one connection's frontend messages: simple queries, and prepared statements where they are bound."""

    def __init__(self, statements: list[Sent]) -> None:
        self._statements = statements
        self._buffer = b""
        self._role: str | None = None
        self._prepared: dict[bytes, str] = {}

    def take(self, data: bytes) -> None:
        self._buffer += data
        while (message := self._next()) is not None:
            self._note(*message)

    def _next(self) -> tuple[bytes, bytes] | None:
        start = 0 if self._role is None else 1  # the first message has no type
        if len(self._buffer) < start + 4:
            return None
        length = int.from_bytes(self._buffer[start : start + 4], "big")
        if len(self._buffer) < start + length:
            return None
        kind, payload = self._buffer[:start], self._buffer[start + 4 : start + length]
        self._buffer = self._buffer[start + length :]
        return kind, payload

    def _note(self, kind: bytes, payload: bytes) -> None:
        if self._role is None:
            words = payload[4:].split(b"\0")
            self._role = words[words.index(b"user") + 1].decode()
        elif kind == b"Q":
            self._statements.append(Sent(self._role, payload.rstrip(b"\0").decode()))
        elif kind == b"P":
            name, sql, _ = payload.split(b"\0", 2)
            self._prepared[name] = sql.decode()
        elif kind == b"B":
            name = payload.split(b"\0", 2)[1]
            self._statements.append(Sent(self._role, self._prepared[name]))


@contextlib.asynccontextmanager
async def postgres_proxy(upstream: DatabaseAddress) -> AsyncIterator[PostgresProxy]:
    """A proxy that works until the block ends. The folder is short: a socket's path has 107 bytes."""
    folder = Path(tempfile.mkdtemp(prefix="mcpist-proxy-", dir="/tmp"))
    proxy = PostgresProxy(upstream, folder)
    proxy.resume()
    try:
        server = await asyncio.start_unix_server(proxy.serve, folder / f".s.PGSQL.{_PORT}")
        yield proxy
        proxy.resume()
        server.close()
        proxy.hang_up()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
