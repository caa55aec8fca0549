"""Registering ourselves at a server that answers in its own way; a real one is in test_generic_server."""

import json
from typing import Any

import pytest

from broker.providers.discovery import ServerMetadata
from broker.vendor_oauth import reasons
from broker.vendor_oauth.exchange import ErrorClass, Failed
from broker.vendor_oauth.registration import Registered, client_document, register
from core.secret import Secret
from tests.broker.vendor_oauth.conftest import Ways
from tests.broker.vendor_oauth.test_wire import answering, listening

REDIRECT_URI = "https://mcpist.example/connect/callback"
SECRET = "secret-of-the-registration-tests-0123456789"


def server(url: str, *methods: str) -> ServerMetadata:
    places = {name: f"{url}/{name}" for name in ("authorize", "token", "register")}
    return ServerMetadata(
        issuer=url,
        authorize_url=places["authorize"],
        token_url=places["token"],
        revoke_url="",
        userinfo_url="",
        registration_url=places["register"],
        auth_methods=methods or ("basic",),
        scopes=(),
        names_itself=False,
        takes_documents=False,
        is_open_id=False,
    )


async def answered(way: Ways, status: int, body: Any, *methods: str) -> Registered | Failed:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    serve, _ = answering(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(raw)), raw)
    async with listening(serve) as url:
        return await register(await way(url), server(url, *methods), name="MCPist", redirect_uris=[REDIRECT_URI])


@pytest.mark.parametrize("status", [200, 201])
async def test_a_client_with_its_secret(way: Ways, status: int) -> None:
    body = {"client_id": "c1", "client_secret": SECRET, "client_secret_expires_at": 1_900_000_000}
    made = await answered(way, status, body)
    assert isinstance(made, Registered), made
    assert (made.client.client_id, made.client.auth_method) == ("c1", "basic")
    assert made.client.secret == Secret(SECRET)
    assert made.secret_expires_at == 1_900_000_000
    assert made.management_token is None
    assert SECRET not in repr(made)


async def test_the_server_may_choose_another_way_to_authenticate(way: Ways) -> None:
    made = await answered(way, 201, {"client_id": "c1", "token_endpoint_auth_method": "none"}, "post")
    assert isinstance(made, Registered)
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
    assert isinstance(made, Failed)
    assert (made.cls, made.reason) == (ErrorClass.UNCERTAIN, reasons.UNREADABLE)


@pytest.mark.parametrize(
    ("status", "body", "cls", "reason", "error"),
    [
        (400, {"error": "invalid_client_metadata"}, ErrorClass.SERVICE, reasons.REGISTRATION_REFUSED,
         "invalid_client_metadata"),
        (400, {"error": SECRET}, ErrorClass.SERVICE, reasons.REGISTRATION_REFUSED, ""),
        (401, b"", ErrorClass.SERVICE, reasons.REGISTRATION_REFUSED, ""),
        (404, b"", ErrorClass.SERVICE, reasons.NOT_FOUND, ""),
        (429, b"", ErrorClass.THROTTLED, reasons.TOO_MANY, ""),
        (500, b"", ErrorClass.UNCERTAIN, reasons.SERVER_ERROR, ""),
    ],
)  # fmt: skip
async def test_a_refusal_is_told(way: Ways, status: int, body: Any, cls: ErrorClass, reason: str, error: str) -> None:
    made = await answered(way, status, body)
    assert isinstance(made, Failed)
    assert (made.cls, made.reason, made.exchange.vendor_error) == (cls, reason, error)
    assert (made.exchange.grant, made.exchange.path) == ("register", "/register")


def test_our_document_has_what_the_draft_wants() -> None:
    url = "https://mcpist.example/connect/client.json"
    document = client_document(url, "MCPist of Acme", [REDIRECT_URI])
    assert document["client_id"] == url
    assert document["redirect_uris"] == [REDIRECT_URI]
    assert document["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in document
