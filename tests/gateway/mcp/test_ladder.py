"""Every rung of the error ladder, with the code and the HTTP status of the revision."""

import asyncio
from typing import Any

import orjson
import pytest

from core.errors import Forbidden, LimitReached, Unavailable
from gateway.mcp.errors import InsufficientScope
from gateway.mcp.revisions import SUPPORTED
from tests.gateway.mcp.client import ALL, LEGACY, MODERN, Client, envelope, headers_for, replaced
from tests.gateway.mcp.toys import CHALLENGE, SECRET, TOKEN, Toys
from tests.support.mcp_schema import available, check_message

META = "io.modelcontextprotocol/"
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def nested(depth: int) -> bytes:
    """A call whose whole has objects and arrays nested `depth` deep."""
    inner = b"[" * (depth - 3) + b"]" * (depth - 3)
    return b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":%b}}}' % inner


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


@pytest.mark.parametrize("revision", ALL)
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
    assert response.headers.get("connection") == ("close" if announced else None)


@pytest.mark.parametrize("length", ["9" * 19, "9" * 400, "99999999999999999999999"])
async def test_an_absurd_length(client: Client, length: str) -> None:
    assert (await client.rpc("2025-11-25", "ping", content_length=length)).status == 413


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


# --- the envelope -----------------------------------------------------------------------------------------------------

MALFORMED: list[tuple[bytes, int, Any]] = [
    (b"", -32700, None),
    (b"not json", -32700, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"', -32700, None),
    (b"\xff\xfe", -32700, None),
    (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}', -32700, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\xff"}}', -32700, 1),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}', -32700, None),
    (b"1", -32600, None),
    (b'"x"', -32600, None),
    (b"null", -32600, None),
    (b"{}", -32600, None),
    (b'{"jsonrpc":"2.0"}', -32600, None),
    (b'{"id":5,"method":"ping"}', -32600, 5),
    (b'{"jsonrpc":"1.0","id":5,"method":"ping"}', -32600, 5),
    (b'{"jsonrpc":2.0,"id":5,"method":"ping"}', -32600, 5),
    (b'{"jsonrpc":"2.0","id":5}', -32600, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":7}', -32600, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":""}', -32600, 5),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":1e2,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":"' + b"x" * 300 + b'","method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":5,"id":6,"method":"ping"}', -32600, 6),
    (b'{"jsonrpc":"2.0","id":"5","method":"ping","method":"tools/list"}', -32600, "5"),
    (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":{}},"params":{"a":{}}}', -32600, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":"ping","\\u006dethod":"tools/list"}', -32600, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":[]}', -32602, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":"x"}', -32602, 5),
    (nested(65), -32600, 1),
    (nested(500), -32600, 1),
    (nested(1500), -32600, None),
    (b"[" * 1024, -32700, None),
    (b'{"a":' * 200 + b"1" + b"}" * 200, -32600, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","x":' + b"[" * 100 + b"]" * 100 + b"}", -32600, 1),
]


@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize(("body", "code", "id"), MALFORMED, ids=[repr(b[:45]) for b, _, _ in MALFORMED])
async def test_malformed(client: Client, revision: str, body: bytes, code: int, id: Any) -> None:
    response = await client.post(body, headers_for(revision, "ping"))
    if body.startswith(b"[") and revision >= "2025-06-18":
        code = -32600  # an array, readable or not, is none of these revisions' business
    assert response.code == code, response.body
    assert response.status == (200 if code == -32602 and revision != MODERN else 400)
    if id is None and code == -32600 and response.message.get("id") is not None:
        id = 1  # the recursion limit of the reader decides how much of the envelope is known
    assert response.message.get("id") == id
    assert ("id" in response.message) == (id is not None or revision <= "2025-06-18")
    if available():
        check_message(revision, "ping", response.message)


@pytest.mark.parametrize("revision", LEGACY)
async def test_what_is_allowed_in_an_envelope(client: Client, revision: str) -> None:
    for body in (
        b' \n{ "method" : "ping" , "id":1, "jsonrpc":"2.0" }\n',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":null}',
        b'{"jsonrpc":"2.0","id":"x","method":"ping","extra":{"id":1,"method":"a","a":"\\"method\\""}}',
        b'{"jsonrpc":"2.0","id":1,"method":"p\\u0069ng","params":{"id":1,"method":2,"params":3,"jsonrpc":4}}',
    ):
        response = await client.post(body, headers_for(revision))
        assert (response.status, response.message.get("result")) == (200, {}), body


async def test_depth_64_is_fine(client: Client) -> None:
    assert "result" in (await client.post(nested(64), headers_for("2025-11-25"))).message
    wide = orjson.dumps(envelope("2025-11-25", "tools/call", {"name": "echo", "arguments": {"a": [[]] * 1000}}))
    assert "result" in (await client.post(wide, headers_for("2025-11-25"))).message


# --- methods and parameters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("method", ["no/such", "tools", "resources/list", "logging/setLevel", "subscriptions/listen"])
async def test_unknown_method(client: Client, revision: str, method: str) -> None:
    response = await client.rpc(revision, method)
    assert (response.code, response.status) == (-32601, 404 if revision == MODERN else 200)
    assert response.message["id"] == 1
    assert "Unknown method" in response.message["error"]["message"]


@pytest.mark.parametrize("method", ["initialize", "ping"])
async def test_methods_that_the_modern_era_removed(client: Client, method: str) -> None:
    response = await client.rpc(MODERN, method, {"protocolVersion": "2025-11-25"})
    assert (response.code, response.status) == (-32601, 404)


@pytest.mark.parametrize("revision", LEGACY)
async def test_discover_is_modern(client: Client, revision: str) -> None:
    assert (await client.rpc(revision, "server/discover")).code == -32601


@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {}),
        ("tools/call", {"name": 7}),
        ("tools/call", {"name": ""}),
        ("tools/call", {"name": "echo", "arguments": []}),
        ("tools/call", {"name": "echo", "arguments": "x"}),
        ("tools/call", {"name": "no_such_tool"}),
        ("tools/call", {"name": "echo", "_meta": {"progressToken": 1.5}}),
        ("tools/call", {"name": "echo", "_meta": {"progressToken": True}}),
        ("tools/call", {"name": "echo", "_meta": {"progressToken": None}}),
        ("tools/list", {"cursor": 7}),
    ],
)
async def test_invalid_params(client: Client, revision: str, method: str, params: Any) -> None:
    name = params.get("name")
    response = await client.rpc(revision, method, params, **({} if isinstance(name, str) else {"mcp_name": None}))
    if revision == MODERN and isinstance(name, int):
        assert response.code == -32020  # no header value equals a number
    else:
        assert (response.code, response.status) == (-32602, 400 if revision == MODERN else 200)
    assert response.message["id"] == 1


@pytest.mark.parametrize("revision", LEGACY)
async def test_meta_is_an_object(client: Client, revision: str) -> None:
    assert (await client.rpc(revision, "ping", {"_meta": [1]})).code == -32602


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 7}])
async def test_initialize_without_a_version(client: Client, params: Any) -> None:
    assert (await client.rpc("2025-11-25", "initialize", params)).code == -32602


# --- revisions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["1999-01-01", "2027-01-01", "", "latest", "2025-11-25x", "2025-11-25, 2025-11-25"])
@pytest.mark.parametrize("body", [PING, b'{"jsonrpc":"2.0","method":"notifications/initialized"}'])
async def test_a_version_header_that_nobody_knows(client: Client, header: str, body: bytes) -> None:
    response = await client.post(body, headers_for(header))
    assert (response.status, response.code) == (400, -32022)
    assert response.message["error"]["data"] == {"supported": list(SUPPORTED), "requested": header}


async def test_a_modern_request_for_a_version_that_nobody_knows(client: Client) -> None:
    for version in ("2027-01-01", "2025-11-25"):
        params = {"_meta": {META + "protocolVersion": version}}
        response = await client.rpc(MODERN, "tools/list", params, mcp_protocol_version=version)
        assert (response.status, response.code) == (400, -32022)
        assert response.message["error"]["data"]["supported"][0] == MODERN
        assert response.message["error"]["data"]["requested"] == version


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        (None, -32602),
        ([], -32602),
        ({}, -32602),
        ({META + "protocolVersion": MODERN}, -32602),
        ({META + "clientCapabilities": {}}, -32602),
        ({META + "protocolVersion": MODERN, META + "clientCapabilities": None}, -32602),
        ({META + "protocolVersion": 7, META + "clientCapabilities": {}}, -32020),
        ({META + "protocolVersion": MODERN, META + "clientCapabilities": {}, META + "clientInfo": "x"}, -32602),
        ({META + "protocolVersion": MODERN, META + "clientCapabilities": {}}, 0),
    ],
)
async def test_what_a_modern_request_must_say(client: Client, meta: Any, code: int) -> None:
    params = {} if meta is None else {"_meta": meta}
    body = orjson.dumps({"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": params})
    response = await client.post(body, headers_for(MODERN, "tools/list"))
    assert (response.code, response.status) == (code, 400 if code else 200)
    assert response.message["id"] == 9


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"mcp_protocol_version": None}, -32020),
        ({"mcp_protocol_version": "2025-11-25"}, -32020),
        ({"mcp_protocol_version": "2027-01-01"}, -32020),
        ({"mcp_protocol_version": MODERN + " \t"}, 0),
        ({"mcp_method": None}, -32020),
        ({"mcp_method": "tools/list"}, -32020),
        ({"mcp_method": "Tools/Call"}, -32020),
        ({"mcp_method": "  tools/call "}, 0),
        ({"mcp_name": None}, -32020),
        ({"mcp_name": "wait"}, -32020),
        ({"mcp_name": "Echo"}, -32020),
        ({"mcp_name": "\techo  "}, 0),
        ({"mcp_name": "=?base64?ZWNobw==?="}, 0),
        ({"mcp_name": "=?base64?ZWNobw?="}, -32020),
        ({"mcp_name": "=?base64?ZWNobx==?="}, -32020),
        ({"mcp_name": "=?base64?ZWN obw==?="}, -32020),
        ({"mcp_name": "=?base64?/w==?="}, -32020),
        ({"mcp_name": "=?BASE64?ZWNobw==?="}, -32020),
        ({"mcp_session_id": "whatever", "last_event_id": "7", "mcp_param_x": "y"}, 0),
    ],
)
async def test_headers_mirror_the_body(client: Client, changes: dict[str, str | None], code: int) -> None:
    response = await client.call(MODERN, "echo", {"a": 1}, **changes)
    assert (response.code, response.status) == (code, 400 if code else 200)
    assert response.message["id"] == 1


async def test_a_name_outside_of_ascii_is_encoded(client: Client) -> None:
    # 日本 as UTF-8 in base64
    response = await client.call(MODERN, "日本", mcp_name="=?base64?5pel5pys?=")
    assert response.code == -32602, "past the headers, to the handler"


@pytest.mark.parametrize("name", ["mcp-protocol-version", "mcp-method", "mcp-name"])
async def test_a_mirror_header_comes_once(client: Client, name: str) -> None:
    params = {"name": "echo", "arguments": {}}
    headers = headers_for(MODERN, "tools/call", params)
    body = orjson.dumps(envelope(MODERN, "tools/call", params))
    response = await client.post(body, [*headers, (name, dict(headers)[name])])
    assert (response.code, response.status) == (-32020, 400)


async def test_the_session_id_of_an_old_client_means_nothing(client: Client) -> None:
    for revision in ALL:
        response = await client.rpc(revision, "tools/list", mcp_session_id="stale")
        assert response.status == 200
        assert "mcp-session-id" not in response.headers


async def test_a_credential_never_comes_back(client: Client) -> None:
    for revision in ALL:
        for tool in ("echo", "crashes", "no_such_tool"):
            response = await client.call(revision, tool)
            assert TOKEN.encode() not in response.body
