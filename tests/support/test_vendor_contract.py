"""A description refuses the fields that it does not name (tests/support/vendor_contract.py)."""

from typing import Any

import orjson
import pytest

from tests.support.vendor_contract import Contract, Sent

PART = {"type": "object", "properties": {"name": {"type": "string"}}}
BODY = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "part": PART,
        "parts": {"type": "array", "items": PART},
        "open": {**PART, "additionalProperties": True},
        "choice": {"oneOf": [PART]},
    },
}


def find_wrong(body: dict[str, Any]) -> str | None:
    operation = {
        "requestBody": {"content": {"application/json": {"schema": BODY}}},
        "responses": {"200": {"description": "made"}},
    }
    contract = Contract(
        {
            "openapi": "3.0.3",
            "info": {"title": "Shop", "version": "1"},
            "servers": [{"url": "https://shop.test"}],
            "paths": {"/things": {"post": operation}},
            "components": {"schemas": {}},
        }
    )
    sent = Sent("post", "/things", {}, {}, {"Content-Type": "application/json"}, orjson.dumps(body))
    return contract.wrong(sent)


@pytest.mark.parametrize(
    ("body", "unknown"),
    [
        ({"titel": "x"}, "titel"),
        ({"title": "x", "part": {"nam": "x"}}, "part.nam"),
        ({"parts": [{"name": "x"}, {"nam": "x"}]}, "parts[].nam"),
    ],
)
def test_an_unknown_field_is_refused_at_any_depth(body: dict[str, Any], unknown: str) -> None:
    assert find_wrong(body) == f"unknown fields ['{unknown}']"


@pytest.mark.parametrize(
    "body", [{"title": "x", "part": {"name": "x"}, "parts": []}, {"open": {"x": 1}}, {"choice": {"x": 1}}]
)
def test_what_is_described_or_open_is_not(body: dict[str, Any]) -> None:
    assert find_wrong(body) is None
