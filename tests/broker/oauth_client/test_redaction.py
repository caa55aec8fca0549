"""Nothing that a vendor says or is told gets anywhere but into the tokens (threat-model.md §2, row 31)."""

import dataclasses
import json
import logging

import pytest

from broker.oauth_client.token_endpoint_client import HttpTokenEndpointClient
from broker.oauth_client.types import RedactedExchange, TokenResponse, VendorFailure
from core.secret import Secret
from tests.broker.oauth_client.conftest import REDIRECT_URI, VERIFIER, connected
from tests.broker.oauth_client.test_vendors import failed, of, refreshed
from tests.support.vendor_tokens import Fault, VendorTokens

TOLD = "what-the-vendor-tells-of-ada@acme.example"


@of("github", "notion", "microsoft")
async def test_the_exchange_names_host_path_status_and_nothing_else(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    first = await connected(vendor, endpoint, "one")
    assert first.exchange.as_json().keys() == {"host", "path", "grant", "status", "seconds"}
    assert first.exchange.host == vendor.url.partition("//")[2]
    assert first.exchange.path == vendor.style.token_path
    vendor.state.grants[0].dead = True
    answer = failed(await refreshed(vendor, endpoint, first.tokens.refresh_token))
    told = answer.exchange.as_json()
    assert told.keys() == {"host", "path", "grant", "status", "class", "reason", "vendor_error", "seconds"}
    assert json.loads(json.dumps(told)) == told


@of("github")
@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 429, 500, 503])
async def test_no_word_of_the_vendors_is_kept(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    refresh = Secret("ghr_of-the-redaction-tests-0123456789")
    body = {"error": TOLD, "error_description": f"{TOLD} {refresh.reveal()}", "error_uri": TOLD, "x": refresh.reveal()}
    vendor.faults.append(Fault("status", status, {"X-Told": TOLD, "Location": f"https://x.example/{TOLD}"}, body))
    answer = failed(await endpoint.refresh(vendor.provider, vendor.client, refresh))
    everything = repr(answer) + json.dumps(answer.exchange.as_json()) + caplog.text
    for secret in (TOLD, refresh.reveal(), vendor.secret, "acme.example"):
        assert secret not in everything


@of("notion")
async def test_a_granted_answer_prints_no_token(vendor: VendorTokens, endpoint: HttpTokenEndpointClient) -> None:
    code = Secret(vendor.state.consent(["one"], REDIRECT_URI, VERIFIER))
    answer = await endpoint.redeem_code(vendor.provider, vendor.client, code, REDIRECT_URI, None)
    assert isinstance(answer, TokenResponse)
    assert answer.tokens.access_token.reveal() not in repr(answer)
    assert vendor.secret not in repr(vendor.client)


def test_an_exchange_has_no_room_for_more() -> None:
    assert {one.name for one in dataclasses.fields(RedactedExchange)} == {
        "host", "path", "grant", "seconds", "status", "error_class", "reason", "vendor_error",
    }  # fmt: skip
    assert {one.name for one in dataclasses.fields(VendorFailure)} == {
        "error_class",
        "reason",
        "exchange",
        "retry_after",
        "status",
    }
