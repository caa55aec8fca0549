"""What only a real socket shows: early answers, odd blanks, slow and departing clients."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import orjson
import pytest

from gateway.mcp import sse
from tests.gateway.mcp.client import headers_for, replaced
from tests.gateway.mcp.serving import served
from tests.gateway.mcp.toys import Toys
from tests.support.mcp_client import MODERN, REVISIONS, envelope
from tests.support.mcp_schema import available, check_message

MEBIBYTE = 1024 * 1024


@pytest.fixture
async def port(toys: Toys) -> AsyncIterator[int]:
    async with served(toys.endpoint(public_url="http://127.0.0.1:0")) as port:
        yield port


class Connection:
    """A raw connection: what is sent is exactly what the test says."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def to(cls, port: int) -> "Connection":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    def head(self, port: int, revision: str, method: str, *extra: str, **changes: str | None) -> None:
        fields = replaced(headers_for(revision, method, {"name": "echo"}), host=f"localhost:{port}", **changes)
        lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in fields), *extra, "", ""]
        self.writer.write("\r\n".join(lines).encode())

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        async with asyncio.timeout(10):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            return int(head[0].split()[1]), fields, await self.reader.readexactly(int(fields["content-length"]))

    async def closed(self) -> bool:
        async with asyncio.timeout(10):
            return await self.reader.read() == b""

    def close(self) -> None:
        self.writer.close()


@pytest.fixture
async def connection(port: int) -> AsyncIterator[Connection]:
    made = await Connection.to(port)
    yield made
    made.close()


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_call_over_http(port: int, revision: str) -> None:
    params = {"name": "echo", "arguments": {"text": "日本語"}}
    headers = replaced(headers_for(revision, "tools/call", params), host=None)
    async with httpx2.AsyncClient(headers=dict(headers)) as http:
        for _ in range(3):
            content = orjson.dumps(envelope(revision, "tools/call", params))
            response = await http.post(f"http://localhost:{port}/mcp", content=content)
            assert response.status_code == 200
            assert orjson.loads(response.json()["result"]["content"][0]["text"]) == {"arguments": {"text": "日本語"}}
            if available():
                check_message(revision, "tools/call", response.json())


async def test_an_announced_413_can_be_read_while_sending(port: int, connection: Connection) -> None:
    """The client sees the answer before it has sent its body, and after it has sent all of it."""
    size = 12 * MEBIBYTE
    connection.head(port, "2025-11-25", "tools/call", content_length=str(size))
    status, fields, content = await connection.answer()
    assert (status, fields["connection"]) == (413, "close")
    assert orjson.loads(content)["error"]["code"] == -32600
    for _ in range(12):
        connection.writer.write(b"x" * MEBIBYTE)
        await connection.writer.drain()
    assert await connection.closed()


async def test_a_client_that_sends_everything_first_still_reads_the_413(port: int, connection: Connection) -> None:
    connection.head(port, "2025-11-25", "tools/call", transfer_encoding="chunked")
    for _ in range(12):
        connection.writer.write(b"100000\r\n" + b"x" * MEBIBYTE + b"\r\n")
        await connection.writer.drain()
    connection.writer.write(b"0\r\n\r\n")
    status, _, _ = await connection.answer()
    assert status == 413
    assert await connection.closed()


async def test_a_httpx_client_gets_the_413(port: int) -> None:
    headers = dict(replaced(headers_for("2025-11-25"), host=None))
    async with httpx2.AsyncClient(headers=headers) as http:
        response = await http.post(f"http://localhost:{port}/mcp", content=b"x" * (20 * MEBIBYTE))
    assert response.status_code == 413


async def test_401_before_a_large_body_can_be_read(port: int, connection: Connection) -> None:
    connection.head(port, "2025-11-25", "tools/call", authorization="Bearer x", transfer_encoding="chunked")
    status, fields, content = await connection.answer()
    assert (status, fields["connection"], content) == (401, "close", b'{"error":"Unauthorized"}')


async def test_expect_100_continue_gets_the_refusal_instead(port: int, connection: Connection) -> None:
    connection.head(port, "2025-11-25", "x", content_length=str(100 * MEBIBYTE), expect="100-continue")
    assert (await connection.answer())[0] == 413


async def test_a_refusal_keeps_the_connection(port: int, connection: Connection) -> None:
    content = orjson.dumps(envelope("2025-11-25", "ping"))
    for changes, status in (({"authorization": "Bearer x"}, 401), ({"accept": "x/y"}, 406), ({}, 200)):
        connection.head(port, "2025-11-25", "ping", content_length=str(len(content)), **changes)
        connection.writer.write(content)
        assert (await connection.answer())[0] == status


async def test_blanks_around_header_values(port: int, connection: Connection) -> None:
    content = orjson.dumps(envelope(MODERN, "tools/call", {"name": "echo", "arguments": {}}))
    blank = {
        "mcp_protocol_version": f"  {MODERN} \t ",
        "mcp_method": "\ttools/call  ",
        "mcp_name": " echo\t",
        "authorization": " Bearer toy  ",
        "content_type": "application/json \t",
        "content_length": f"{len(content)} ",
        "host": f"localhost:{port} ",
    }
    fields = replaced(headers_for(MODERN), **blank)
    connection.writer.write("\r\n".join(["POST /mcp HTTP/1.1", *(f"{n}: {v}" for n, v in fields), "", ""]).encode())
    connection.writer.write(content)
    status, _, answer = await connection.answer()
    assert status == 200, answer


async def test_closing_the_connection_cancels_the_call(toys: Toys) -> None:
    endpoint = toys.endpoint(public_url="http://127.0.0.1:0", disconnect_watch_after=0.05)
    params = {"name": "wait", "arguments": {}}
    async with served(endpoint) as port:
        connection = await Connection.to(port)
        content = orjson.dumps(envelope(MODERN, "tools/call", params))
        connection.head(port, MODERN, "tools/call", mcp_name="wait", content_length=str(len(content)))
        connection.writer.write(content)
        await asyncio.wait_for(toys.started.wait(), 5)
        connection.close()
        await asyncio.wait_for(toys.cancelled.wait(), 5)
    assert (endpoint.running, toys.admitted) == (0, toys.released)
    assert toys.observed.pop().status == 0


async def test_closing_a_stream_cancels_the_call(toys: Toys) -> None:
    endpoint = toys.endpoint(public_url="http://127.0.0.1:0", disconnect_watch_after=0.05)
    arguments = {"steps": [1], "then": "wait"}
    params = {"name": "progress", "arguments": arguments, "_meta": {"progressToken": 1}}
    async with served(endpoint) as port:
        connection = await Connection.to(port)
        content = orjson.dumps(envelope(MODERN, "tools/call", params))
        connection.head(port, MODERN, "tools/call", mcp_name="progress", content_length=str(len(content)))
        connection.writer.write(content)
        async with asyncio.timeout(5):
            head = await connection.reader.readuntil(b"\r\n\r\n")
            await connection.reader.readuntil(b"notifications/progress")
        assert b"text/event-stream" in head
        connection.close()
        await asyncio.wait_for(toys.cancelled.wait(), 5)
    assert endpoint.running == 0


async def test_a_request_in_tiny_pieces(port: int, connection: Connection) -> None:
    content = orjson.dumps(envelope("2025-11-25", "ping"))
    connection.head(port, "2025-11-25", "ping", content_length=str(len(content)))
    for n in range(len(content)):
        connection.writer.write(content[n : n + 1])
        await connection.writer.drain()
        await asyncio.sleep(0)
    assert (await connection.answer())[0] == 200


async def test_a_client_that_does_not_read_its_stream_is_dropped(toys: Toys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "FINISH_TIMEOUT", 0.1)
    endpoint = toys.endpoint(public_url="http://127.0.0.1:0", max_result=64 * MEBIBYTE, call_timeout=0.3)

    async def flood(context: Any, _arguments: Any) -> Any:
        for n in range(1, 20):
            await context.report_progress(n, None, "x" * 4 * MEBIBYTE)
        return {"content": []}

    toys.tool_flood = flood  # type: ignore[attr-defined]
    params = {"name": "flood", "arguments": {}, "_meta": {"progressToken": 1}}
    async with served(endpoint) as port:
        connection = await Connection.to(port)
        content = orjson.dumps(envelope("2025-11-25", "tools/call", params))
        connection.head(port, "2025-11-25", "tools/call", content_length=str(len(content)))
        connection.writer.write(content)
        async with asyncio.timeout(10):
            while not toys.observed:
                await asyncio.sleep(0.01)
        connection.close()
    assert (endpoint.running, toys.admitted) == (0, toys.released)


async def test_many_clients_at_once(toys: Toys) -> None:
    endpoint = toys.endpoint(public_url="http://127.0.0.1:0")

    async def one(http: httpx2.AsyncClient, port: int, n: int) -> None:
        revision = REVISIONS[n % len(REVISIONS)]
        params = {"name": "echo", "arguments": {"n": n}}
        headers = dict(replaced(headers_for(revision, "tools/call", params), host=None))
        content = orjson.dumps(envelope(revision, "tools/call", params, id=n))
        answer = (await http.post(f"http://localhost:{port}/mcp", content=content, headers=headers)).json()
        assert answer["id"] == n
        assert orjson.loads(answer["result"]["content"][0]["text"]) == {"arguments": {"n": n}}

    async with served(endpoint) as port, httpx2.AsyncClient() as http:
        await asyncio.gather(*(one(http, port, n) for n in range(100)))
    assert toys.admitted == toys.released == 100
