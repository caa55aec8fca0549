"""The rungs of the error ladder from the envelope on, with the code and the HTTP status of the revision.
Those before are in test_ladder.py."""

from typing import Any

import orjson
import pytest

from gateway.mcp.revisions import SUPPORTED_VERSIONS
from tests.gateway.mcp.client import Client, headers_for
from tests.gateway.mcp.toys import TOKEN
from tests.support.mcp_client import LEGACY, MODERN, REVISIONS, envelope
from tests.support.mcp_schema import available, check_message

META = "io.modelcontextprotocol/"
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def nested(depth: int) -> bytes:
    """A call whose whole has objects and arrays nested `depth` deep."""
    inner = b"[" * (depth - 3) + b"]" * (depth - 3)
    return b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":%b}}}' % inner


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
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","x":' + b"[" * 64 + b"]" * 64 + b"}", -32600, 1),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","x":' + b"[" * 100 + b"]" * 100 + b"}", -32600, 1),
]


@pytest.mark.parametrize("revision", REVISIONS)
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
        b'{"jsonrpc":"2.0","id":1,"method":"ping","x":' + b"[" * 63 + b"]" * 63 + b"}",
    ):
        response = await client.post(body, headers_for(revision))
        assert (response.status, response.message.get("result")) == (200, {}), body


async def test_depth_64_is_fine(client: Client) -> None:
    assert "result" in (await client.post(nested(64), headers_for("2025-11-25"))).message
    wide = orjson.dumps(envelope("2025-11-25", "tools/call", {"name": "echo", "arguments": {"a": [[]] * 1000}}))
    assert "result" in (await client.post(wide, headers_for("2025-11-25"))).message


# --- methods and parameters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
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


@pytest.mark.parametrize("revision", REVISIONS)
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
    assert response.message["error"]["data"] == {"supported": list(SUPPORTED_VERSIONS), "requested": header}


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
    for revision in REVISIONS:
        response = await client.rpc(revision, "tools/list", mcp_session_id="stale")
        assert response.status == 200
        assert "mcp-session-id" not in response.headers


async def test_a_credential_never_comes_back(client: Client) -> None:
    for revision in REVISIONS:
        for tool in ("echo", "crashes", "no_such_tool"):
            response = await client.call(revision, tool)
            assert TOKEN.encode() not in response.body
