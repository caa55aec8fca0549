"""Registering ourselves at a server that answers in its own way; a real one is in test_generic_server."""

import json
from typing import Any

import pytest

from broker.oauth_client.dynamic_registration import (
    RegisteredClient,
    build_client_document,
    build_client_metadata,
    register_client,
    unregister_client,
)
from broker.oauth_client.types import ErrorClass, OAuthClientConfig, VendorFailure
from broker.providers import error_reasons
from core.secret import Secret
from tests.broker.oauth_client.conftest import Ways
from tests.broker.oauth_client.test_wire import answering, listening

REDIRECT_URI = "https://mcpist.example/connect/callback"
SECRET = "vendor-s3cr3t-Zq3v9Xk2Lw8Rt5Yp1Nm7Bc4Hd6Jf0Gs"


async def answered(way: Ways, status: int, body: Any, *methods: str) -> RegisteredClient | VendorFailure:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    serve, _ = answering(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(raw)), raw)
    async with listening(serve) as url:
        method = methods[0] if methods else "basic"
        return await register_client(
            await way(url), f"{url}/register", method, name="MCPist", redirect_uris=[REDIRECT_URI]
        )


@pytest.mark.parametrize("status", [200, 201])
async def test_a_client_with_its_secret(way: Ways, status: int) -> None:
    body = {"client_id": "c1", "client_secret": SECRET, "client_secret_expires_at": 1_900_000_000}
    made = await answered(way, status, body)
    assert isinstance(made, RegisteredClient), made
    assert (made.client.client_id, made.client.auth_method) == ("c1", "basic")
    assert made.client.secret == Secret(SECRET)
    assert made.secret_expires_at == 1_900_000_000
    assert made.management_token is None
    assert SECRET not in repr(made)


async def test_the_server_may_choose_another_way_to_authenticate(way: Ways) -> None:
    made = await answered(way, 201, {"client_id": "c1", "token_endpoint_auth_method": "none"}, "post")
    assert isinstance(made, RegisteredClient)
    assert (made.client.secret, made.client.auth_method) == (None, "none")


@pytest.mark.parametrize(
    "body",
    [
        {"client_id": "c1"},  # it would have to have a secret
        {"client_id": "c1", "client_secret": SECRET, "token_endpoint_auth_method": "tls_client_auth"},
        {"client_id": "c1", "client_secret": SECRET, "token_endpoint_auth_method": ["none"]},
        {"client_id": "", "client_secret": SECRET},
        {"client_id": "x" * 2000, "client_secret": SECRET},
        {"client_id": "c\r\n1", "client_secret": SECRET},
        {"client_secret": SECRET},
        [],
        b"<html>",
        b"",
    ],
)
async def test_a_client_that_cannot_be_used_is_none(way: Ways, body: Any) -> None:
    made = await answered(way, 201, body)
    assert isinstance(made, VendorFailure)
    assert (made.error_class, made.reason) == (ErrorClass.UNCERTAIN, error_reasons.UNREADABLE)


@pytest.mark.parametrize(
    ("status", "body", "cls", "reason", "error"),
    [
        (400, {"error": "invalid_client_metadata"}, ErrorClass.SERVICE, error_reasons.REGISTRATION_REFUSED,
         "invalid_client_metadata"),
        (400, {"error": SECRET}, ErrorClass.SERVICE, error_reasons.REGISTRATION_REFUSED, ""),
        (401, b"", ErrorClass.SERVICE, error_reasons.REGISTRATION_REFUSED, ""),
        (404, b"", ErrorClass.SERVICE, error_reasons.NOT_FOUND, ""),
        (429, b"", ErrorClass.THROTTLED, error_reasons.TOO_MANY, ""),
        (500, b"", ErrorClass.UNCERTAIN, error_reasons.SERVER_ERROR, ""),
    ],
)  # fmt: skip
async def test_a_refusal_is_told(way: Ways, status: int, body: Any, cls: ErrorClass, reason: str, error: str) -> None:
    made = await answered(way, status, body)
    assert isinstance(made, VendorFailure)
    assert (made.error_class, made.reason, made.exchange.vendor_error) == (cls, reason, error)
    assert (made.exchange.grant, made.exchange.path) == ("register", "/register")


async def test_a_client_that_nobody_uses_is_given_back(way: Ways) -> None:
    serve, asked = answering(b"HTTP/1.1 204 X\r\n\r\n")
    async with listening(serve) as url:
        token = Secret("management-token-of-the-registration-tests")
        client = OAuthClientConfig("c1", Secret(SECRET), "basic")
        await unregister_client(await way(url), RegisteredClient(client, None, f"{url}/register/c1", token))
        await unregister_client(await way(url), RegisteredClient(client, None, "", None))
    [request] = asked
    assert request.startswith(b"DELETE /register/c1 ")
    assert token.reveal().encode() in request


@pytest.mark.parametrize(
    ("redirect_uris", "kind"),
    [
        (["https://mcp.example/back"], "web"),
        (["http://127.0.0.1:8000/back", "http://localhost/back"], "native"),
        (["http://127.0.0.1/back", "https://mcp.example/back"], "native"),
        (["http://mcp.example/back"], "web"),
    ],
)
def test_a_client_on_ones_own_machine_is_a_native_one(redirect_uris: list[str], kind: str) -> None:
    assert build_client_metadata("MCPist", redirect_uris, "basic_raw")["application_type"] == kind


def test_our_document_has_what_the_draft_wants() -> None:
    url = "https://mcpist.example/connect/client.json"
    document = build_client_document(url, "MCPist of Acme", [REDIRECT_URI])
    assert document["client_id"] == url
    assert document["redirect_uris"] == [REDIRECT_URI]
    assert document["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in document
