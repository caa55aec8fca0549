"""A listener that several processes accept from: fewer connections go first, and nobody waits in vain."""

import asyncio
import errno
import socket
from typing import Any

import pytest

from core.http_server import server as server_module
from core.http_server.server import HttpServer, IsBusier, run_http_server


class FailingListener(socket.socket):
    """Has no file left for the next `failures` connections."""

    failures = 0

    def accept(self) -> Any:
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


async def answer_ok(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


async def ask(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    line = await asyncio.wait_for(reader.readline(), 10)
    writer.close()
    await writer.wait_closed()
    return line


async def ask_server(is_busier: IsBusier, failures: int = 0) -> bytes:
    with FailingListener(socket.AF_INET) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.failures = failures
        async with run_http_server(HttpServer(answer_ok), listener, is_busier):
            return await ask(listener.getsockname()[1])


async def test_a_process_without_connections_accepts() -> None:
    assert await ask_server(lambda _: False) == b"HTTP/1.1 200 OK\r\n"


async def test_a_busier_process_accepts_what_nobody_else_does() -> None:
    asked: list[int] = []

    def is_busier(connections: int) -> bool:
        asked.append(connections)
        return True

    assert await ask_server(is_busier) == b"HTTP/1.1 200 OK\r\n"
    assert len(asked) >= 2, "it has let the others go first"


async def test_accepting_goes_on_after_files_ran_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server_module, "ACCEPT_RETRY_SECONDS", 0.01)
    assert await ask_server(lambda _: False, failures=2) == b"HTTP/1.1 200 OK\r\n"
    assert [record.__dict__["event"] for record in caplog.records] == ["http_accept_failed"] * 2


async def test_two_servers_share_the_connections_of_a_burst() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, listener.dup() as same:
        servers = HttpServer(answer_ok), HttpServer(answer_ok)
        busier: list[IsBusier] = [
            lambda connections: connections > len(servers[1]),
            lambda connections: connections > len(servers[0]),
        ]
        async with run_http_server(servers[0], listener, busier[0]), run_http_server(servers[1], same, busier[1]):
            port = listener.getsockname()[1]
            pairs = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
            for reader, writer in pairs:
                writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                assert await asyncio.wait_for(reader.readline(), 10) == b"HTTP/1.1 200 OK\r\n"
            shares = [len(one) for one in servers]
            for _, writer in pairs:
                writer.close()
                await writer.wait_closed()
    # Each looks at the other's number before it accepts: on a busy machine, one connection may come in between.
    assert sum(shares) == 20
    assert abs(shares[0] - shares[1]) <= 2
