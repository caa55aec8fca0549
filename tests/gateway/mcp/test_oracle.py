"""The same requests to our transport and to the SDK's, with the same handlers: what differs is listed."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request, decode_header_value

from gateway.mcp.jsonrpc import JsonRpcMessage
from gateway.mcp.request_context import ProtocolError
from gateway.mcp.request_headers import RequestHeaders, decode_mirrored_value
from gateway.mcp.revisions import Revision
from gateway.mcp.version_negotiation import check_request, find_revision
from tests.gateway.mcp.client import Client, Response, headers_for, replaced
from tests.gateway.mcp.toys import CALLER, VERSION, Toys
from tests.support.mcp_client import LEGACY, MODERN, REVISIONS, envelope
from tests.support.sdk_oracle import sdk_app

META = "io.modelcontextprotocol/"
HANDSHAKE = {"capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}


@pytest.fixture
async def oracle(toys: Toys) -> AsyncIterator[Client]:
    async with sdk_app(toys.handlers, CALLER, version=VERSION) as app:
        yield Client(app)


async def both(
    client: Client, oracle: Client, body: bytes, headers: list[tuple[str, str]]
) -> tuple[Response, Response]:
    return await client.post(body, headers), await oracle.post(body, headers)


def request(revision: str, method: str, params: Any = None) -> tuple[bytes, list[tuple[str, str]]]:
    return orjson.dumps(envelope(revision, method, params)), headers_for(revision, method, params)


# --- results ----------------------------------------------------------------------------------------------------------

# The SDK has one model for all handshake revisions, and tells old clients of what came after them.
LATER_IN_TOOL = {
    "2024-11-05": {"annotations", "title", "outputSchema", "_meta"},
    "2025-03-26": {"title", "outputSchema", "_meta"},
}
LATER_IN_CALL = {"2024-11-05": {"structuredContent"}, "2025-03-26": {"structuredContent"}}


def comparable(revision: str, method: str, result: Any) -> Any:
    """The result without what the two may rightly say differently."""
    if method == "initialize":
        # The SDK tells revisions of the title that do not know it, and announces, as an empty object, that it has no
        # experimental capability. Ours shows an icon.
        info = without(result["serverInfo"], {"title", "icons"})
        capabilities = {name: value for name, value in result["capabilities"].items() if value}
        return result | {"serverInfo": info, "capabilities": capabilities}
    if method == "server/discover":
        # Ours lists what the handshake has, too: a client that is told of it can fall back. Ours shows an icon.
        capabilities = {name: value for name, value in result["capabilities"].items() if value}
        meta = {f"{META}serverInfo": without(result["_meta"][f"{META}serverInfo"], {"icons"})}
        versions = result["supportedVersions"][:1]
        return result | {"supportedVersions": versions, "capabilities": capabilities, "_meta": meta}
    if method == "tools/call":
        # The SDK spells out the default.
        return {"isError": False} | without(result, LATER_IN_CALL.get(revision, set()))
    return result | {"tools": [without(tool, LATER_IN_TOOL.get(revision, set())) for tool in result["tools"]]}


def without(value: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: part for name, part in value.items() if name not in names}


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", None),
        ("tools/call", {"name": "echo", "arguments": {"text": "日本語", "n": [1, 2.5, None, True]}}),
        ("tools/call", {"name": "echo"}),
        ("tools/call", {"name": "fails", "arguments": {}}),
        ("tools/call", {"name": "rendered"}),
    ],
)
async def test_results(client: Client, oracle: Client, revision: str, method: str, params: Any) -> None:
    ours, theirs = await both(client, oracle, *request(revision, method, params))
    assert ours.status == theirs.status == 200
    assert comparable(revision, method, ours.message["result"]) == comparable(
        revision, method, theirs.message["result"]
    )


@pytest.mark.parametrize("revision", LEGACY)
async def test_ping(client: Client, oracle: Client, revision: str) -> None:
    ours, theirs = await both(client, oracle, *request(revision, "ping"))
    assert (ours.status, ours.message) == (theirs.status, theirs.message)


@pytest.mark.parametrize("wanted", [*LEGACY, "1999-01-01", MODERN])
async def test_initialize(client: Client, oracle: Client, wanted: str) -> None:
    body = orjson.dumps(envelope("2025-11-25", "initialize", {"protocolVersion": wanted, **HANDSHAKE}))
    ours, theirs = await both(client, oracle, body, headers_for(None))
    assert ours.status == theirs.status == 200
    assert comparable("", "initialize", ours.message["result"]) == comparable(
        "", "initialize", theirs.message["result"]
    )


async def test_discover(client: Client, oracle: Client) -> None:
    ours, theirs = await both(client, oracle, *request(MODERN, "server/discover"))
    assert ours.status == theirs.status == 200
    mine, other = (comparable(MODERN, "server/discover", r.message["result"]) for r in (ours, theirs))
    assert mine == other


# --- errors -----------------------------------------------------------------------------------------------------------

ERRORS: dict[str, tuple[str, Any]] = {
    "unknown method": ("no/such", None),
    "unknown tool": ("tools/call", {"name": "no_such_tool", "arguments": {}}),
    "no tool": ("tools/call", {}),
    "arguments are a list": ("tools/call", {"name": "echo", "arguments": [1]}),
    "cursor is a number": ("tools/list", {"cursor": 7}),
    "initialize without version": ("initialize", HANDSHAKE),
    "progress token is a fraction": ("tools/call", {"name": "echo", "_meta": {"progressToken": 1.5}}),
    "subscriptions": ("subscriptions/listen", {"notifications": {}}),
    "crash": ("tools/call", {"name": "crashes"}),
}
# (case, revision or era) -> why ours differs. Values are (status, code) of ours.
KNOWN_ERROR_DIFFERENCES: Mapping[tuple[str, str], tuple[tuple[int, int], str]] = {
    ("crash", "legacy"): ((200, -32603), "the SDK answers code 0 with the text of the exception"),
}


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("case", ERRORS)
async def test_errors(client: Client, oracle: Client, revision: str, case: str) -> None:
    method, params = ERRORS[case]
    ours, theirs = await both(client, oracle, *request(revision, method, params))
    known = KNOWN_ERROR_DIFFERENCES.get((case, revision)) or KNOWN_ERROR_DIFFERENCES.get((case, era(revision)))
    mine, other = (ours.status, ours.code), (theirs.status, theirs.code)
    if known is None:
        assert mine == other, f"{ours.body!r} against {theirs.body!r}"
    else:
        assert mine == known[0]
        assert mine != other, "no difference any more: take it from the list"
    assert ours.message["id"] == 1


def era(revision: str) -> str:
    return "modern" if revision == MODERN else "legacy"


HTTP: dict[str, tuple[dict[str, str | None], bytes | None]] = {
    "not json": ({}, b"{"),
    "not utf-8": ({}, b'"\xff"'),
    "empty": ({}, b""),
    "an object": ({}, b"{}"),
    "a batch": ({}, b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]'),
    "id is null": ({}, b'{"jsonrpc":"2.0","id":null,"method":"ping"}'),
    "notification": ({}, b'{"jsonrpc":"2.0","method":"notifications/initialized"}'),
    "response": ({}, b'{"jsonrpc":"2.0","id":1,"result":{}}'),
    "accepts html": ({"accept": "text/html"}, None),
    "accepts json": ({"accept": "application/json"}, None),
    "accepts anything": ({"accept": "*/*"}, None),
    "accepts events": ({"accept": "text/event-stream"}, None),
    "accepts unsaid": ({"accept": None}, None),
    "content type": ({"content_type": "text/plain"}, None),
    "content type unsaid": ({"content_type": None}, None),
    "unknown version": ({"mcp_protocol_version": "1999-01-01"}, None),
    "no version": ({"mcp_protocol_version": None}, None),
    "other method": ({"mcp_method": "x"}, None),
    "no method": ({"mcp_method": None}, None),
    "session": ({"mcp_session_id": "x"}, None),
}
KNOWN_HTTP_DIFFERENCES: Mapping[tuple[str, str], tuple[tuple[int, int], str]] = {
    ("an object", "legacy"): ((400, -32600), "the SDK says -32602; JSON-RPC 2.0 calls it an invalid request"),
    ("a batch", "2024-11-05"): ((200, 0), "this revision has batches"),
    ("a batch", "2025-03-26"): ((200, 0), "this revision has batches"),
    ("a batch", "legacy"): ((400, -32600), "as above: -32600 against -32602"),
    ("id is null", "legacy"): ((400, -32600), "the SDK takes it for a notification; MCP forbids null ids"),
    ("response", "modern"): ((202, 0), "harmless; refusing it would break clients that answer a late ping"),
    ("accepts events", "legacy"): ((200, 0), "one event is as good (P-008)"),
    ("accepts events", "modern"): ((200, 0), "one event is as good (P-008)"),
    ("accepts unsaid", "legacy"): ((200, 0), "RFC 9110: without Accept, anything is accepted"),
    ("accepts unsaid", "modern"): ((200, 0), "RFC 9110: without Accept, anything is accepted"),
    ("content type", "legacy"): ((415, -32600), "415 says it better than 400"),
    ("content type", "modern"): ((415, -32600), "415 says it better than 400"),
    ("content type unsaid", "legacy"): ((415, -32600), "415 says it better than 400"),
    ("content type unsaid", "modern"): ((415, -32600), "415 says it better than 400"),
    ("unknown version", "legacy"): ((400, -32022), "the SDK misses _meta first; the list of versions helps more"),
    ("no version", "modern"): (
        (400, -32020),
        "_meta makes it modern; the SDK looks at the header only and serves it as legacy",
    ),
}


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("case", HTTP)
async def test_http(client: Client, oracle: Client, revision: str, case: str) -> None:
    changes, content = HTTP[case]
    body, headers = request(revision, "tools/list")
    ours, theirs = await both(client, oracle, content if content is not None else body, replaced(headers, **changes))
    known = KNOWN_HTTP_DIFFERENCES.get((case, revision)) or KNOWN_HTTP_DIFFERENCES.get((case, era(revision)))
    mine, other = (ours.status, code_of(ours)), (theirs.status, code_of(theirs))
    if known is None:
        assert mine == other or (mine[0] == other[0] == 406), f"{ours.body!r} against {theirs.body!r}"
    else:
        assert mine == known[0], known[1]
        assert mine != other, "no difference any more: take it from the list"


def code_of(response: Response) -> int | None:
    try:
        message = response.message if response.body else {}
    except orjson.JSONDecodeError:
        return None
    return message["error"]["code"] if isinstance(message, dict) and "error" in message else 0


# --- classification ---------------------------------------------------------------------------------------------------

versions = st.sampled_from([MODERN, "2025-11-25", "2027-01-01", 7, None, ""])
names = st.sampled_from(["echo", "日本", "", " x", "=?base64?ZQ==?=", None, 7])
methods = st.sampled_from(["tools/call", "tools/list", "server/discover", "no/such"])


def headers_like(version: Any, method: str, name: Any) -> st.SearchStrategy[dict[str, str]]:
    values = st.sampled_from([str(version), MODERN, "2025-11-25"])
    spelled = [str(name), "echo", "=?base64?ZWNobw==?=", "=?base64?5pel5pys?=", "=?base64?!!?="]
    return st.fixed_dictionaries(
        {"mcp-protocol-version": values},
        optional={
            "mcp-method": st.sampled_from([method, "tools/list"]),
            # No header's value has blanks around it (RFC 9110 §5.5).
            "mcp-name": st.sampled_from([s for s in spelled if s.isascii() and s == s.strip()]),
        },
    )


@st.composite
def modern_requests(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, str]]:
    version, method, name = draw(versions), draw(methods), draw(names)
    meta = draw(
        st.fixed_dictionaries(
            {META + "protocolVersion": st.just(version)},
            optional={META + "clientCapabilities": st.just({}), META + "clientInfo": st.just({"name": "x"})},
        )
    )
    params: dict[str, Any] = {"_meta": meta} | ({} if name is None else {"name": name})
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, draw(headers_like(version, method, name))


@settings(max_examples=400, deadline=None)
@given(modern_requests())
def test_modern_requests_are_classified_as_the_sdk_does(case: tuple[dict[str, Any], dict[str, str]]) -> None:
    body, headers = case
    verdict = classify_inbound_request(body, headers=headers)
    message = JsonRpcMessage(b"1", body["method"], body["params"])
    raw = RequestHeaders([(name.encode(), value.encode()) for name, value in headers.items()])
    revision = find_revision(message, headers.get("mcp-protocol-version"))
    assert revision.modern
    refusal = refused(revision, message, raw)
    if refusal is None:
        assert isinstance(verdict, InboundModernRoute)
        return
    assert not isinstance(verdict, InboundModernRoute), refusal.message
    assert refusal.code == verdict.code, (refusal.message, verdict.message)
    if refusal.code == -32022:
        assert refusal.data["requested"] == verdict.data["requested"]
        assert set(refusal.data["supported"]) >= set(verdict.data["supported"])


def refused(revision: Revision, message: JsonRpcMessage, headers: RequestHeaders) -> ProtocolError | None:
    try:
        check_request(revision, message, headers)
    except ProtocolError as error:
        return error
    return None


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        st.text(st.characters(max_codepoint=255)),
        st.binary().map(lambda b: f"=?base64?{b.hex()}?="),
        st.from_regex(r"=\?base64\?[A-Za-z0-9+/]{0,8}={0,2}\?=", fullmatch=True),
    )
)
def test_header_values_are_decoded_as_the_sdk_does(value: str) -> None:
    if "\n" not in value:  # no header value has line breaks
        assert decode_mirrored_value(value) == decode_header_value(value)


def test_requests_without_meta_are_what_their_header_says() -> None:
    for header, expected in [*((v, v) for v in REVISIONS), (None, "2025-03-26"), ("1999-01-01", MODERN)]:
        assert find_revision(JsonRpcMessage(b"1", "tools/list", {}), header).version == expected


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")
