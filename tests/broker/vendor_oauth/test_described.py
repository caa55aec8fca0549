"""Our requests are as the vendors' own descriptions have them, where there is one."""

import json
import re
from urllib.parse import parse_qsl

import jsonschema
import pytest

from broker.vendor_oauth.token_endpoint import VendorTokenEndpoint
from core.secret import Secret
from tests.broker.vendor_oauth.conftest import REDIRECT_URI, VERIFIER, Ways, connected
from tests.broker.vendor_oauth.test_vendors import of
from tests.support.vendor_contract import DESCRIPTIONS, Sent, contract
from tests.support.vendor_tokens import VendorTokens
from tests.support.vendor_tokens.server import Asked

pytestmark = pytest.mark.skipif(
    not DESCRIPTIONS.is_dir(), reason=f"the vendors' descriptions are not at {DESCRIPTIONS}"
)


def sent(asked: Asked, template: str, **values: str) -> Sent:
    return Sent(asked.method.lower(), template, values, {}, asked.headers, asked.body)


async def all_requests(vendor: VendorTokens, way: Ways) -> list[Asked]:
    endpoint = VendorTokenEndpoint(await way(vendor.url))
    first = await connected(vendor, endpoint, "one")
    assert first.tokens.refresh is not None
    await endpoint.refresh(vendor.provider, vendor.client, first.tokens.refresh)
    await endpoint.revoke(vendor.provider, vendor.client, access=first.tokens.access, refresh=first.tokens.refresh)
    return vendor.asked


def described(vendor: str, path: str, asked: Asked) -> None:
    """Check a body against the description: form encoding and alternatives are beyond `Contract`."""
    document = json.loads((DESCRIPTIONS / f"{vendor}.openapi.json").read_text())
    operation = document["paths"][path]["post"]
    media, _ = asked.headers["Content-Type"].partition(";")[::2]
    schema = operation["requestBody"]["content"][media]["schema"]
    body = json.loads(asked.body) if media.endswith("json") else dict(parse_qsl(asked.body.decode()))
    schema = {**schema, "components": document["components"]}  # what it refers to
    jsonschema.validate(body, schema, jsonschema.Draft202012Validator)
    assert vendor != "notion" or re.fullmatch(r"\d{4}-\d{2}-\d{2}", asked.headers["Notion-Version"])


@of("notion", "supabase")
async def test_code_refresh_and_revocation_are_as_described(vendor: VendorTokens, way: Ways) -> None:
    asked = await all_requests(vendor, way)
    assert [one.path.rpartition("/")[2] for one in asked] == ["token", "token", "revoke"]
    for one in asked:
        described(vendor.style.provider_id, one.path, one)


@of("github")
async def test_githubs_revocation_is_as_described(vendor: VendorTokens, way: Ways) -> None:
    asked = (await all_requests(vendor, way))[-1]
    template = "/applications/{client_id}/grant"
    assert contract("github").wrong(sent(asked, template, client_id=vendor.style.client_id)) is None


@of("notion", "supabase")
async def test_the_counterparts_answers_are_as_described(vendor: VendorTokens, way: Ways) -> None:
    answer = vendor.state.redeem(
        {
            "code": vendor.state.consent(["one"], REDIRECT_URI, VERIFIER),
            "redirect_uri": REDIRECT_URI,
            "code_verifier": VERIFIER,
        }
    )
    if vendor.style.provider_id == "supabase":
        answer["token_type"] = "Bearer"  # the description allows no other spelling
    status, template = vendor.style.ok_status, vendor.style.token_path
    assert contract(vendor.style.provider_id).wrong_answer("post", template, status, answer) is None


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
    assert Secret(VERIFIER).reveal() in code.body.decode()
