"""Our requests, and the counterparts' answers, are as the vendors' own descriptions have them, where there is one.

`tests.support.vendor_contract` reads whole descriptions, which takes seconds, and no form encoding.
"""

import functools
import json
import re
from typing import Any
from urllib.parse import parse_qsl

import jsonschema
import pytest

from broker.oauth_client.token_endpoint_client import HttpTokenEndpointClient
from tests.broker.oauth_client.conftest import REDIRECT_URI, VERIFIER, Ways, connected
from tests.broker.oauth_client.test_vendors import of
from tests.support.vendor_contract import DESCRIPTIONS
from tests.support.vendor_tokens import VendorTokens
from tests.support.vendor_tokens.server import Asked

pytestmark = pytest.mark.skipif(
    not DESCRIPTIONS.is_dir(), reason=f"the vendors' descriptions are not at {DESCRIPTIONS}"
)


@functools.cache
def description(vendor: str) -> dict[str, Any]:
    return json.loads((DESCRIPTIONS / f"{vendor}.openapi.json").read_text())


def check(vendor: str, part: dict[str, Any], media: str, body: Any) -> None:
    schema = {**part["content"][media]["schema"], "components": description(vendor)["components"]}
    jsonschema.validate(body, schema, jsonschema.Draft202012Validator)


def check_request(vendor: str, template: str, asked: Asked) -> None:
    operation = description(vendor)["paths"][template][asked.method.lower()]
    media = asked.headers["Content-Type"]
    body = json.loads(asked.body) if media.endswith("json") else dict(parse_qsl(asked.body.decode()))
    check(vendor, operation["requestBody"], media, body)
    assert vendor != "notion" or re.fullmatch(r"\d{4}-\d{2}-\d{2}", asked.headers["Notion-Version"])


async def all_requests(vendor: VendorTokens, way: Ways) -> list[Asked]:
    endpoint = HttpTokenEndpointClient(await way(vendor.url))
    first = await connected(vendor, endpoint, "one")
    assert first.tokens.refresh_token is not None
    await endpoint.refresh(vendor.provider, vendor.client, first.tokens.refresh_token)
    await endpoint.revoke(
        vendor.provider, vendor.client, access=first.tokens.access_token, refresh=first.tokens.refresh_token
    )
    return vendor.asked


@of("notion", "supabase")
async def test_code_refresh_and_revocation_are_as_described(vendor: VendorTokens, way: Ways) -> None:
    asked = await all_requests(vendor, way)
    assert [one.path.rpartition("/")[2] for one in asked] == ["token", "token", "revoke"]
    for one in asked:
        check_request(vendor.style.provider_id, one.path, one)


@of("github")
async def test_githubs_revocation_is_as_described(vendor: VendorTokens, way: Ways) -> None:
    asked = (await all_requests(vendor, way))[-1]
    assert (asked.method, asked.path) == ("DELETE", f"/applications/{vendor.style.client_id}/grant")
    check_request("github", "/applications/{client_id}/grant", asked)
    [(kind, _)] = description("github")["paths"]["/applications/{client_id}/grant"]["delete"]["security"][0].items()
    assert description("github")["components"]["securitySchemes"][kind]["scheme"] == "basic"
    assert asked.headers["Authorization"].startswith("Basic ")


@of("notion", "supabase")
async def test_the_counterparts_answers_are_as_described(vendor: VendorTokens) -> None:
    asked = {"code": vendor.state.consent(["one"], REDIRECT_URI, VERIFIER), "redirect_uri": REDIRECT_URI}
    answer = vendor.state.redeem({**asked, "code_verifier": VERIFIER})
    if vendor.style.provider_id == "supabase":
        answer["token_type"] = "Bearer"  # the description allows no other spelling
    responses = description(vendor.style.provider_id)["paths"][vendor.style.token_path]["post"]["responses"]
    check(vendor.style.provider_id, responses[str(vendor.style.ok_status)], "application/json", answer)


@of("supabase")
async def test_nothing_is_sent_that_nobody_asked_for(vendor: VendorTokens, way: Ways) -> None:
    code, refresh, _ = await all_requests(vendor, way)
    assert dict(parse_qsl(code.body.decode())).keys() == {
        "grant_type", "code", "redirect_uri", "code_verifier", "client_id", "client_secret",
    }  # fmt: skip
    assert dict(parse_qsl(refresh.body.decode())).keys() == {
        "grant_type", "refresh_token", "client_id", "client_secret",
    }  # fmt: skip
    assert "Cookie" not in code.headers
    assert code.headers["Accept"] == "application/json"
