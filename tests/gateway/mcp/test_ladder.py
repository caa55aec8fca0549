"""The rungs of the error ladder before a message is read: HTTP, the caller, the size and the form of the body.
The others are in test_ladder_messages.py."""

import asyncio
from typing import Any

import orjson
import pytest

from core.errors import Forbidden, LimitReached, Unavailable
from gateway.mcp.errors import InsufficientScope
from tests.gateway.mcp.client import Client, headers_for, replaced
from tests.gateway.mcp.toys import CHALLENGE, SECRET, Toys
from tests.support.mcp_client import MODERN, REVISIONS, envelope

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


# --- HTTP -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "HEAD"])
async def test_only_post_and_options(client: Client, toys: Toys, method: str) -> None:
    response = await client.post(b"", headers_for(None), method=method)
    assert (response.status, response.headers["allow"]) == (405, "POST, OPTIONS")
    assert not toys.credentials, "refused before anybody is asked who it is"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8080", 200),
        ("localhost:8080", 200),
        ("LOCALHOST:8080 ", 200),
        ("[::1]:8080", 200),
        ("127.0.0.1:9999", 421),
        ("127.0.0.1", 421),
        ("evil.example:8080", 421),
        ("localhost.evil.example:8080", 421),
        ("127.0.0.1:8080@evil", 421),
        ("localhost:808²", 421),
        ("", 421),
        (None, 421),
    ],
)
async def test_host_of_a_loopback_url(client: Client, host: str | None, status: int) -> None:
    assert (await client.rpc("2025-11-25", "ping", host=host)).status == status


@pytest.mark.parametrize(
    ("url", "host", "status"),
    [
        ("https://mcp.example.com", "mcp.example.com", 200),
        ("https://mcp.example.com", "mcp.example.com:443", 200),
        ("https://mcp.example.com", "mcp.example.com:80", 421),
        ("https://mcp.example.com", "127.0.0.1:8080", 421),
        ("https://mcp.example.com", "localhost", 421),
        ("https://mcp.example.com:8443/x", "mcp.example.com:8443", 200),
        ("http://127.0.0.1:0", "localhost:8080", 200),  # whatever port it was bound to
    ],
)
async def test_host_of_the_public_url(toys: Toys, url: str, host: str, status: int) -> None:
    client = Client(toys.endpoint(public_url=url))
    assert (await client.rpc("2025-11-25", "ping", host=host)).status == status


async def test_forwarded_headers_are_believed_from_trusted_proxies_only(toys: Toys) -> None:
    settings: dict[str, Any] = {"public_url": "https://mcp.example.com", "trusted_proxies": ("10.0.0.0/8", "::1")}
    client = Client(toys.endpoint(**settings))
    forwarded = {"x_forwarded_host": "mcp.example.com", "x_forwarded_for": "9.9.9.9, 1.2.3.4, 10.0.0.2"}
    headers = replaced(headers_for("2025-11-25"), host="internal:1", **forwarded)
    assert (await client.post(PING, headers, client=("10.0.0.1", 1))).status == 200
    assert toys.credentials.pop()[1] == "1.2.3.4"
    assert (await client.post(PING, headers, client=("11.0.0.1", 1))).status == 421
    headers = replaced(headers, host="mcp.example.com")
    assert (await client.post(PING, headers, client=("11.0.0.1", 1))).status == 200
    assert toys.credentials.pop()[1] == "11.0.0.1"


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        (None, True),
        ("http://localhost:6274", True),
        ("http://127.0.0.1:1", True),
        ("http://[::1]:6274", True),
        ("http://localhost", True),
        ("http://127.0.0.1:8080", True),
        ("https://localhost:6274", False),
        ("http://localhost:6274.evil.example", False),
        ("http://localhost.evil.example", False),
        ("https://evil.example", False),
        ("null", False),
        ("", False),
    ],
)
async def test_origin(client: Client, toys: Toys, origin: str | None, allowed: bool) -> None:
    response = await client.rpc("2025-11-25", "ping", origin=origin)
    assert response.status == (200 if allowed else 403)
    assert response.headers.get("access-control-allow-origin") == (origin if allowed else None)
    assert bool(toys.credentials) == allowed


async def test_configured_origins_replace_the_default_and_the_own_one_stays(toys: Toys) -> None:
    client = Client(toys.endpoint(public_url="https://mcp.example.com", allowed_origins=("https://app.example",)))
    for origin, status in [
        ("https://app.example", 200),
        ("https://mcp.example.com", 200),
        ("http://localhost:6274", 403),
        ("https://app.example:444", 403),
    ]:
        assert (await client.rpc("2025-11-25", "ping", host="mcp.example.com", origin=origin)).status == status


async def test_preflight(client: Client, toys: Toys) -> None:
    headers = [
        ("host", "127.0.0.1:8080"),
        ("origin", "http://localhost:6274"),
        ("access-control-request-method", "POST"),
    ]
    response = await client.post(b"", headers, method="OPTIONS")
    assert (response.status, response.body) == (204, b"")
    assert response.headers["access-control-allow-origin"] == "http://localhost:6274"
    assert response.headers["access-control-allow-methods"] == "POST, GET, OPTIONS"
    allowed = set(response.headers["access-control-allow-headers"].split(", "))
    assert allowed >= {"authorization", "x-client-info", "apikey", "content-type", "accept", "mcp-protocol-version"}
    assert allowed >= {"mcp-method", "mcp-name"}
    assert response.headers["vary"] == "Origin"
    assert not toys.credentials
    foreign = await client.post(b"", replaced(headers, origin="https://evil.example"), method="OPTIONS")
    assert foreign.status == 403


async def test_errors_carry_cors_headers_too(client: Client) -> None:
    response = await client.rpc("2025-11-25", "ping", origin="http://localhost:6274", authorization=None)
    assert response.status == 401
    assert response.headers["access-control-allow-origin"] == "http://localhost:6274"
    assert "WWW-Authenticate" in response.headers["access-control-expose-headers"]


# --- who is calling ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer wrong", "Basic eDp5", "bearer\ttoy", "Bearer é"])
async def test_401_before_the_body_is_looked_at(client: Client, authorization: str | None) -> None:
    headers = replaced(headers_for("2025-11-25"), authorization=authorization, content_type="text/plain", accept="x/y")
    response = await client.post(b"not json", headers)
    assert (response.status, response.body) == (401, b'{"error":"Unauthorized"}')
    assert response.headers["www-authenticate"] == CHALLENGE


@pytest.mark.parametrize(
    ("error", "status", "header"),
    [
        (
            InsufficientScope('Bearer error="insufficient_scope"'),
            403,
            ("www-authenticate", 'Bearer error="insufficient_scope"'),
        ),
        (LimitReached("too many failed sign-ins", 7.2), 429, ("retry-after", "8")),
        (Unavailable(), 503, ("retry-after", "2")),
        (Forbidden("the user is suspended"), 403, ("content-type", "application/json")),
        (RuntimeError(SECRET), 500, ("content-type", "application/json")),
    ],
)
async def test_authentication_may_refuse_in_other_ways(
    client: Client, toys: Toys, error: Exception, status: int, header: tuple[str, str]
) -> None:
    toys.authentication_fails = error
    response = await client.post(PING, headers_for("2025-11-25"))
    assert response.status == status
    assert response.headers[header[0]] == header[1]
    assert response.message["error"]
    assert SECRET not in response.body.decode()
    if status == 500:
        assert response.body == b'{"error":"Internal Server Error"}'


async def test_no_room_for_this_caller(client: Client, toys: Toys) -> None:
    toys.capacity = 0
    response = await client.post(b"not even read", headers_for("2025-11-25"))
    assert (response.status, response.headers["retry-after"]) == (429, "2")
    toys.capacity = 1
    assert (await client.rpc("2025-11-25", "ping")).status == 200
    assert (await client.call("2025-11-25", "crashes")).code == -32603
    assert (toys.admitted, toys.released) == (2, 2)


@pytest.mark.parametrize("name", ["host", "authorization", "content-type", "origin"])
async def test_a_header_that_decides_something_comes_once(client: Client, name: str) -> None:
    headers = replaced(headers_for("2025-11-25"), origin="http://localhost:1")
    response = await client.post(PING, [*headers, (name, dict(headers)[name])])
    assert response.status == 400


# --- what is in the request -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accept", "status", "content_type"),
    [
        ("application/json, text/event-stream", 200, "application/json"),
        ("application/json", 200, "application/json"),
        ("APPLICATION/JSON;q=0.5", 200, "application/json"),
        ("*/*", 200, "application/json"),
        ("application/*", 200, "application/json"),
        (None, 200, "application/json"),
        ("text/event-stream", 200, "text/event-stream"),
        ("text/*", 200, "text/event-stream"),
        ("application/json;q=0, text/event-stream", 200, "text/event-stream"),
        ("text/html", 406, "application/json"),
        ("application/json;q=0", 406, "application/json"),
        ("", 406, "application/json"),
        ("x/y, " * 300 + "application/json", 200, "application/json"),
    ],
)
@pytest.mark.parametrize("revision", ["2025-03-26", MODERN])
async def test_accept(client: Client, revision: str, accept: str | None, status: int, content_type: str) -> None:
    response = await client.rpc(revision, "tools/list", accept=accept)
    assert (response.status, response.headers["content-type"]) == (status, content_type)
    assert "result" in response.message if status == 200 else response.code == -32600


async def test_a_client_of_events_only_gets_one_and_errors_too(client: Client) -> None:
    response = await client.rpc(MODERN, "no/such", accept="text/event-stream")
    assert response.status == 404
    assert response.body.startswith(b"event: message\ndata: {")
    assert response.body.endswith(b"}\n\n")
    assert [m["error"]["code"] for m in response.messages] == [-32601]
    pretty = await client.call(MODERN, "rendered", accept="text/event-stream")
    assert pretty.message["result"]["structuredContent"] == {"pretty": True}


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("Application/JSON ; charset=utf-8", 200),
        ("application/json-rpc", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        (None, 415),
    ],
)
async def test_content_type(client: Client, content_type: str | None, status: int) -> None:
    response = await client.rpc("2025-11-25", "ping", content_type=content_type)
    assert response.status == status
    assert response.message.get("error", {}).get("code") == (-32600 if status == 415 else None)


async def test_compressed_requests_are_not_read(client: Client) -> None:
    assert (await client.rpc("2025-11-25", "ping", content_encoding="gzip")).status == 415


@pytest.mark.guarantee("G17")
@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("announced", [True, False])
async def test_size(toys: Toys, revision: str, announced: bool) -> None:
    client = Client(toys.endpoint(max_body=1000))
    params = {"name": "echo", "arguments": {"a": ""}}
    room = 1000 - len(orjson.dumps(envelope(revision, "tools/call", params)))
    for extra, status in ((0, 200), (1, 413)):
        full = {"name": "echo", "arguments": {"a": "x" * (room + extra)}}
        body = orjson.dumps(envelope(revision, "tools/call", full))
        length = {"content_length": str(len(body))} if announced else {"transfer_encoding": "chunked"}
        headers = replaced(headers_for(revision, "tools/call", full), **length)
        response = await client.post([body[:500], body[500:]], headers)
        assert response.status == status
    assert response.code == -32600


@pytest.mark.parametrize("length", ["9" * 19, "9" * 400, "99999999999999999999999"])
async def test_an_absurd_length(client: Client, length: str) -> None:
    assert (await client.rpc("2025-11-25", "ping", content_length=length)).status == 413


@pytest.mark.guarantee("G17")
async def test_a_body_that_does_not_come(toys: Toys) -> None:
    client = Client(toys.endpoint(body_timeout=0.05))
    waiting = asyncio.create_task(client.post([b"{"], headers_for("2025-11-25"), unfinished=True))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_later(0.2, client.gone.set)  # ends the draining of what never comes
    response = await waiting
    assert response.status == 408
    assert toys.released == toys.admitted == 1


async def test_a_client_that_leaves_while_it_sends(client: Client, toys: Toys) -> None:
    client.gone.set()
    response = await client.post([b"{"], headers_for("2025-11-25"), unfinished=True)
    assert response.status == 0
    assert toys.released == toys.admitted == 1
    assert toys.observed.pop().status == 0
