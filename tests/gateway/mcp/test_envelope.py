"""Whatever arrives, the transport answers in order: no exception, no 500, no invalid message."""

import asyncio
import json
from typing import Any
from unittest import mock

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.mcp import jsonrpc
from gateway.mcp.jsonrpc import (
    MAX_EXTRA_QUOTES,
    MAX_FIELDS,
    MAX_VALUES,
    MalformedJsonRpc,
    has_too_many_values,
    measure_depth,
    parse_message,
    split_batch,
)
from tests.gateway.mcp.client import Client, headers_for, replaced
from tests.gateway.mcp.toys import Toys
from tests.support.mcp_client import MODERN, REVISIONS
from tests.support.mcp_schema import available, check_message

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)
MEMBERS = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON_VALUES,
        "id": st.integers() | st.text(max_size=5) | JSON_VALUES,
        "method": st.sampled_from(
            ["ping", "tools/list", "tools/call", "initialize", "server/discover", "notifications/x"]
        )
        | JSON_VALUES,
        "params": st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["echo", "rich", "fails", "crashes"]) | JSON_VALUES,
                "arguments": JSON_VALUES,
                "cursor": JSON_VALUES,
                "protocolVersion": st.sampled_from(REVISIONS) | JSON_VALUES,
                "_meta": st.fixed_dictionaries(
                    {},
                    optional={
                        "progressToken": JSON_VALUES,
                        "traceparent": JSON_VALUES,
                        "io.modelcontextprotocol/protocolVersion": st.sampled_from(REVISIONS) | JSON_VALUES,
                        "io.modelcontextprotocol/clientCapabilities": st.just({}) | JSON_VALUES,
                        "io.modelcontextprotocol/clientInfo": JSON_VALUES,
                    },
                )
                | JSON_VALUES,
            },
        )
        | JSON_VALUES,
        "result": JSON_VALUES,
    },
)
BODIES = st.one_of(
    st.binary(max_size=200),
    MEMBERS.map(lambda value: json.dumps(value).encode()),
    MEMBERS.map(lambda value: json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")),
    st.lists(MEMBERS, max_size=4).map(lambda value: json.dumps(value).encode()),
    st.text(alphabet='{}[]",:0123456789tfn\\u ', max_size=60).map(str.encode),
)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "mcp-protocol-version": st.sampled_from([*REVISIONS, "", "x"]),
        "mcp-method": st.sampled_from(["ping", "tools/call", "=?base64?x?="]),
        "mcp-name": st.sampled_from(["echo", "=?base64?ZWNobw==?=", "=?base64?", "é"]),
        "accept": st.sampled_from(["*/*", "text/event-stream", "application/json;q=0", ";;,,", "application/json"]),
        "traceparent": st.text(st.characters(max_codepoint=255, blacklist_categories=["Cc"]), max_size=60),
    },
)


@settings(max_examples=400, deadline=None)
@given(BODIES, HEADERS)
@example(b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', {})
@example(b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', {})
@example(b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}', {})
@example(b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', {})
@example(b'{"\xff":1,"jsonrpc":"2.0","id":1,"method":"ping"}', {})
@example(b"[1,2", {})
def test_anything_is_answered(body: bytes, changes: dict[str, str]) -> None:
    asyncio.run(_answered(body, changes))


async def _answered(body: bytes, changes: dict[str, str]) -> None:
    toys = Toys()
    headers = replaced(headers_for(None), **{name.replace("-", "_"): value for name, value in changes.items()})
    response = await Client(toys.endpoint()).post(body, headers)
    assert response.status in (200, 202, 400, 404, 406), response.body
    assert toys.admitted == toys.released
    for message in response.messages:
        for one in message if isinstance(message, list) else [message]:
            _check(one, toys.observed[0].revision or changes.get("mcp-protocol-version", "2025-03-26"))


def _check(message: Any, revision: str) -> None:
    assert message["jsonrpc"] == "2.0"
    assert ("error" in message) != ("result" in message)
    if available() and "error" in message:
        check_message(revision if revision in REVISIONS else MODERN, "", message)


@given(JSON_VALUES, st.booleans())
@example(['\\"[', "\\\\", "[{", {'"}': []}], False)
def test_depth(value: Any, ascii_only: bool) -> None:
    assert measure_depth(json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")) == depth(value)


def depth(value: Any) -> int:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return 1 + max((depth(part) for part in inner), default=0)
    return 0


@given(JSON_VALUES, st.booleans())
@example({'a,b:"\\': ['\\",:', ",,,,", "::::", {"}": [1, 2]}]}, True)
@example(":", False)
def test_values_and_fields_are_counted_outside_of_strings(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    separators, fields = counted(value)
    for most in (separators, separators - 1):
        with mock.patch.multiple(jsonrpc, MAX_VALUES=most, MAX_FIELDS=fields):
            assert has_too_many_values([text]) == (separators > most)
    with mock.patch.multiple(jsonrpc, MAX_VALUES=separators, MAX_FIELDS=fields - 1):
        assert has_too_many_values([text])


def counted(value: Any) -> tuple[int, int]:
    """The commas between values, and the fields."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    of_each = [counted(one) for one in inner]
    commas = max(0, len(inner) - 1) + sum(commas for commas, _ in of_each)
    return commas, len(inner) * isinstance(value, dict) + sum(fields for _, fields in of_each)


def request(params: bytes, more: bytes = b"") -> bytes:
    return b'{"jsonrpc":"2.0","id":7,"method":"x",%b"params":%b}' % (more, params)


@pytest.mark.parametrize(
    ("most", "one_more"),
    [
        (b'{"a":[' + b"1," * (MAX_VALUES - 4) + b"1]}", b'{"a":[' + b"1," * (MAX_VALUES - 2) + b"1]}"),
        (
            b"{" + b",".join(b'"%d":1' % n for n in range(MAX_FIELDS - 4)) + b"}",
            b"{" + b",".join(b'"%d":1' % n for n in range(MAX_FIELDS - 3)) + b"}",
        ),
    ],
    ids=["values", "fields"],
)
def test_values_and_fields_are_limited(most: bytes, one_more: bytes) -> None:
    assert parse_message(request(most), 64).method == "x"
    with pytest.raises(MalformedJsonRpc) as refused:
        parse_message(request(one_more), 64)
    assert refused.value.error.code == -32600
    with pytest.raises(MalformedJsonRpc, match="more than"):
        split_batch(b"[" + request(one_more) + b"]", 50)
    assert len(split_batch(b"[" + request(most) + b"]", 50)) == 1


@pytest.mark.parametrize("text", ["a,b,c:" * 200_000, '","' * 200_000, '\\":,' * 200_000, "日本、:," * 200_000])
def test_separators_in_a_text_are_not_limited(text: str) -> None:
    assert parse_message(request(orjson.dumps({"a": text})), 64).params == {"a": text}


def test_members_beside_params_are_limited() -> None:
    few = b"".join(b'"m%d":1,' % n for n in range(MAX_EXTRA_QUOTES // 2))
    assert parse_message(request(b"{}", few), 64).id == b"7"
    with pytest.raises(MalformedJsonRpc, match="too many members") as refused:
        parse_message(request(b"{}", few + b'"one more":1,'), 64)
    assert refused.value.id == b"7"


@given(st.dictionaries(st.text(max_size=5), JSON_VALUES, max_size=3), st.integers() | st.text(max_size=20))
def test_what_is_sent_is_what_is_read(params: dict[str, Any], id: int | str) -> None:
    try:
        body = orjson.dumps({"jsonrpc": "2.0", "id": id, "method": "a/b", "params": params})
        sent = orjson.loads(body)
    except (TypeError, orjson.JSONDecodeError):
        return  # numbers and text that JSON in UTF-8 cannot carry
    message = parse_message(body, 64)
    assert (message.method, message.params, orjson.loads(message.id)) == ("a/b", sent["params"], sent["id"])


@pytest.mark.parametrize("size", [1_000, 1_000_000, 4_000_000])
@pytest.mark.parametrize("shape", ["deep", "chains", "low chains", "wide", "open", "strings", "objects"])
@pytest.mark.timeout(5)
def test_bombs_are_refused_or_read_in_no_time(shape: str, size: int) -> None:
    chain, low = b"[" * 70 + b"]" * 70, b"[" * 60 + b"]" * 60
    content = {
        "deep": b"[" * (size // 2) + b"]" * (size // 2),
        "chains": b"[" + b",".join([chain] * (size // 141)) + b"]",
        "low chains": b"[" + b",".join([low] * (size // 121)) + b"]",
        "wide": b"[" + b",".join([b"[]"] * (size // 3)) + b"]",
        "open": b"[" * size,
        "strings": orjson.dumps(["[{" * 50] * (size // 100)),
        "objects": b'{"a":' * (size // 6) + b"1" + b"}" * (size // 6),
    }[shape]
    body = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":%b}}' % content
    if shape == "strings" or (shape in ("wide", "low chains") and size == 1_000):
        assert parse_message(body, 64).method == "x"
    else:
        with pytest.raises(MalformedJsonRpc):
            parse_message(body, 64)
