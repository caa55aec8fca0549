"""The relay between lines and HTTP, against a server that does what it is told."""

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web

from cli.stdio.lines import MAX_LINE_BYTES
from cli.stdio.upstream import UpstreamEndpoint
from core.secret import Secret
from tests.cli.stdio.conftest import DEADLINE, Moving, Server

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


def request(id: Any, method: str = "tools/list", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def result(id: Any, **value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


async def echo(_request: web.Request, message: Any) -> web.StreamResponse:
    if isinstance(message, list):
        return web.json_response([result(one["id"]) for one in message if "id" in one])
    if "id" not in message:
        return web.Response(status=202)
    return web.json_response(result(message["id"], method=message["method"]))


async def test_requests_and_notifications(server: Server, connect: Any) -> None:
    server.answer = echo
    client = await connect(server.url)
    client.send(request(1), {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}, b"", request("ä"))
    answers = [await client.receive() for _ in range(2)]
    assert sorted(str(one["id"]) for one in answers) == ["1", "ä"]
    await client.end()
    assert await client.receive() is None
    assert len(server.requests) == 3
    headers = server.requests[0][0]
    assert headers["Authorization"] == "Bearer the-token"
    assert headers["Accept"] == "application/json, text/event-stream"
    assert "MCP-Protocol-Version" not in headers


async def test_the_negotiated_revision_is_named_from_then_on(server: Server, connect: Any) -> None:
    async def answer(_request: web.Request, message: Any) -> web.StreamResponse:
        if message["method"] == "initialize":
            return web.json_response(result(message["id"], protocolVersion="2025-06-18"))
        return await echo(_request, message)

    server.answer = answer
    client = await connect(server.url)
    client.send(request(1, "initialize", protocolVersion="2025-11-25"), request(2))  # without waiting
    assert (await client.receive())["id"] == 1
    assert (await client.receive())["id"] == 2
    assert [headers.get("MCP-Protocol-Version") for headers, _ in server.requests] == [None, "2025-06-18"]


async def test_headers_mirror_a_modern_body(server: Server, connect: Any) -> None:
    server.answer = echo
    client = await connect(server.url)
    client.send(request(1, "tools/call", name="call", arguments={}, _meta=MODERN))
    client.send(request(2, "resources/read", uri="mem://日本", _meta=MODERN))
    client.send(request(3, "server/discover", _meta=MODERN))
    for _ in range(3):
        await client.receive()
    sent = {json.loads(body)["id"]: headers for headers, body in server.requests}
    assert {headers["MCP-Protocol-Version"] for headers in sent.values()} == {"2026-07-28"}
    assert (sent[1]["Mcp-Method"], sent[1]["Mcp-Name"]) == ("tools/call", "call")
    assert sent[2]["Mcp-Name"] == "=?base64?bWVtOi8v5pel5pys?="
    assert "Mcp-Name" not in sent[3]


async def test_batches_pass(server: Server, connect: Any) -> None:
    server.answer = echo
    client = await connect(server.url)
    client.send([request(1), request(2), {"jsonrpc": "2.0", "method": "notifications/initialized"}])
    assert [one["id"] for one in await client.receive()] == [1, 2]


async def test_an_event_stream_is_relayed_message_by_message(server: Server, connect: Any) -> None:
    gone_on = asyncio.Event()

    async def answer(request: web.Request, message: Any) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b': hello\r\n\r\nevent: message\r\nid: 1\r\ndata: {"jsonrpc":"2.0",\r\nda')
        await response.write(b'ta: "method":"notifications/progress","params":{"progress":1}}\r\n\r\n')
        await gone_on.wait()
        await response.write(b"data:" + json.dumps(result(message["id"], done=True)).encode() + b"\n\n")
        return response

    server.answer = answer
    client = await connect(server.url)
    client.send(request(1))
    assert (await client.receive())["params"] == {"progress": 1}
    gone_on.set()
    assert await client.receive() == result(1, done=True)


async def test_many_at_once_and_the_end_waits_for_all(server: Server, connect: Any) -> None:
    together = asyncio.Barrier(20)

    async def answer(_request: web.Request, message: Any) -> web.StreamResponse:
        async with asyncio.timeout(DEADLINE):
            await together.wait()
        return web.json_response(result(message["id"]))

    server.answer = answer
    client = await connect(server.url)
    client.send(*(request(number) for number in range(20)))
    await client.end()
    assert sorted([(await client.receive())["id"] for _ in range(20)]) == list(range(20))
    assert await client.receive() is None


@pytest.mark.parametrize(("meta", "is_told"), [({}, True), ({"_meta": MODERN}, False)])
async def test_a_cancelled_request_is_hung_up_on_and_never_answered(
    server: Server, connect: Any, meta: dict[str, Any], is_told: bool
) -> None:
    """A handshake revision's server is told, too: there the end of a connection cancels nothing."""
    arrived, cancelled = asyncio.Event(), asyncio.Event()
    told: list[Any] = []

    async def answer(_request: web.Request, message: Any) -> web.StreamResponse:
        if message["method"] == "notifications/cancelled":
            told.append(message["params"])
            return web.Response(status=202)
        if message["id"] == "quick":
            return web.json_response(result("quick"))
        arrived.set()
        try:
            await asyncio.sleep(DEADLINE)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return web.json_response(result(message["id"]))

    server.answer = answer
    client = await connect(server.url)
    client.send(request("slow", **meta))
    async with asyncio.timeout(DEADLINE):
        await arrived.wait()
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}})
        await cancelled.wait()
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "never seen"}})
    client.send(request("quick"))
    assert await client.receive() == result("quick")
    await client.end()
    assert await client.receive() is None
    assert told == [{"requestId": "slow"}] * is_told


@pytest.mark.parametrize(
    ("status", "headers", "told"),
    [
        (401, {}, "mcpist token create"),
        (403, {}, "403"),
        (404, {}, "does not speak MCP"),
        (429, {"Retry-After": "7"}, "7 seconds"),
        (503, {"Retry-After": "2"}, "not ready"),
        (503, {}, "look before you try again"),
        (502, {}, "look before you try again"),
        (504, {}, "look before you try again"),
        (500, {}, "look before you try again"),
        (307, {"Location": "https://elsewhere.example/"}, "leads elsewhere"),
        (200, {}, "does not speak MCP"),
    ],
)
async def test_http_errors_become_errors_of_the_request(
    server: Server, connect: Any, status: int, headers: dict[str, str], told: str
) -> None:
    async def answer(_request: web.Request, _message: Any) -> web.StreamResponse:
        return web.Response(status=status, headers=headers, text="<html>", content_type="text/html")

    server.answer = answer
    client = await connect(server.url)
    client.send(request("x"))
    failed = await client.receive()
    assert (failed["id"], failed["error"]["code"]) == ("x", -32603)
    assert told in failed["error"]["message"]
    client.send([request(1), request(2)])
    assert [one["id"] for one in await client.receive()] == [1, 2]
    client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})  # nobody to tell
    await client.end()
    assert await client.receive() is None


async def test_errors_of_the_protocol_pass_as_they_are(server: Server, connect: Any) -> None:
    error = {"jsonrpc": "2.0", "id": 5, "error": {"code": -32602, "message": "Unknown cursor"}}
    parse = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}

    async def answer(_request: web.Request, message: Any) -> web.StreamResponse:
        return web.json_response(error if message else parse, status=400)

    server.answer = answer
    client = await connect(server.url)
    client.send(request(5))
    assert await client.receive() == error
    client.send(b"{nonsense")
    assert await client.receive() == parse


async def test_a_server_that_hangs_up(server: Server, connect: Any) -> None:
    async def answer(request: web.Request, _message: Any) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    server.answer = answer
    client = await connect(server.url)
    client.send(request(1))
    assert "not known whether" in (await client.receive())["error"]["message"]


async def test_a_stream_that_ends_too_early(server: Server, connect: Any) -> None:
    async def answer(request: web.Request, _message: Any) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        return response

    server.answer = answer
    client = await connect(server.url)
    client.send(request(1))
    told = (await client.receive())["error"]["message"]
    assert "did not answer" in told
    assert "look before you try again" in told


async def test_an_answer_that_does_not_end(server: Server, connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.stdio.upstream.MAX_RESPONSE_BYTES", 1000)

    async def answer(_request: web.Request, message: Any) -> web.StreamResponse:
        return web.json_response(result(message["id"]) | {"more": "x" * 2000})

    server.answer = answer
    client = await connect(server.url)
    client.send(request(1))
    told = (await client.receive())["error"]["message"]
    assert "too long" in told
    assert "look before you try again" in told


async def test_nobody_listens(connect: Any) -> None:
    client = await connect("http://127.0.0.1:9")
    client.send(request(1))
    assert "cannot be reached" in (await client.receive())["error"]["message"]


async def test_another_endpoint_is_tried_once_nothing_was_carried_out(server: Server, connect: Any) -> None:
    async def answer(request: web.Request, message: Any) -> web.StreamResponse:
        if request.headers["Authorization"] != "Bearer new":
            return web.Response(status=401)
        return await echo(request, message)

    server.answer = answer
    nowhere, old, new = (
        UpstreamEndpoint("http://127.0.0.1:9/mcp", Secret("new")),
        UpstreamEndpoint(server.url, Secret("old")),
        UpstreamEndpoint(server.url, Secret("new")),
    )
    client = await connect(Moving(nowhere, new))
    client.send(request(1))
    assert "result" in await client.receive()
    client = await connect(Moving(old, new))
    client.send(request(2))
    assert "result" in await client.receive()
    client = await connect(Moving(old))
    client.send(request(3))
    assert "refuses the token" in (await client.receive())["error"]["message"]


async def test_long_lines(server: Server, connect: Any) -> None:
    server.answer = echo
    client = await connect(server.url)
    long = json.dumps(request(1, text="x" * (MAX_LINE_BYTES - 200))).encode()
    assert len(long) <= MAX_LINE_BYTES
    await client.send_much(long + b"\n")
    assert (await client.receive())["id"] == 1
    await client.send_much(b"[" + b" " * (3 * MAX_LINE_BYTES) + b"]\n" + json.dumps(request(2)).encode() + b"\n")
    assert (await client.receive())["error"]["code"] == -32600
    assert (await client.receive())["id"] == 2


async def test_long_answers(server: Server, connect: Any) -> None:
    text = "y" * (3 * 1024 * 1024)

    async def answer(_request: web.Request, message: Any) -> web.StreamResponse:
        return web.json_response(result(message["id"], text=text), dumps=lambda value: json.dumps(value, indent=1))

    server.answer = answer
    client = await connect(server.url)
    client.send(request(1), request(2))
    answers = [await client.receive(), await client.receive()]
    assert sorted(one["id"] for one in answers) == [1, 2]
    assert {one["result"]["text"] for one in answers} == {text}


async def test_a_last_line_without_its_end(server: Server, connect: Any) -> None:
    server.answer = echo
    client = await connect(server.url)
    await client.send_much(json.dumps(request(1)).encode())
    await client.end()
    assert (await client.receive())["id"] == 1
