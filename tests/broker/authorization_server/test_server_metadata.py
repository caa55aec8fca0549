"""What clients read first, what browsers among them need, and what is missing where something is switched off."""

import logging
from collections.abc import AsyncIterator

import pytest

from tests.broker.authorization_server.server_app import ISSUER, RESOURCE, AuthorizationServerApp, server_on
from tests.support.postgres import ScratchDatabase

DOCUMENTS = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")


@pytest.fixture
async def app(database: ScratchDatabase, make_tenant) -> AsyncIterator[AuthorizationServerApp]:
    async with server_on(database, await make_tenant(), dynamic_registration=True) as made:
        yield made


async def test_both_documents(app: AuthorizationServerApp) -> None:
    plain, openid = [(await app.http.get(path)).json() for path in DOCUMENTS]
    assert {key: openid[key] for key in plain} == plain
    assert set(openid) - set(plain) == {"subject_types_supported", "id_token_signing_alg_values_supported"}
    assert (plain["issuer"], plain["protected_resources"]) == (ISSUER, [RESOURCE])
    assert plain["code_challenge_methods_supported"] == ["S256"]
    assert plain["authorization_response_iss_parameter_supported"] is True
    assert plain["client_id_metadata_document_supported"] is True
    assert plain["scopes_supported"] == ["mcp:read", "mcp:write"]
    assert "none" in plain["token_endpoint_auth_methods_supported"]
    assert "none" not in plain["token_endpoint_auth_signing_alg_values_supported"]


async def test_every_url_in_them_is_there(app: AuthorizationServerApp) -> None:
    document = (await app.http.get(DOCUMENTS[0])).json()
    for name in (
        "authorization_endpoint",
        "token_endpoint",
        "revocation_endpoint",
        "registration_endpoint",
        "jwks_uri",
    ):
        path = document[name].removeprefix(ISSUER)
        statuses = {(await app.http.get(path)).status_code, (await app.http.post(path)).status_code}
        assert 404 not in statuses, name


async def test_programs_in_browsers_of_any_origin(app: AuthorizationServerApp) -> None:
    programs = dict.fromkeys((*DOCUMENTS, "/oauth/jwks.json"), "GET")
    programs |= dict.fromkeys(("/oauth/token", "/oauth/revoke", "/oauth/register"), "POST")
    origin = {"Origin": "http://localhost:6274"}
    for path, method in programs.items():
        asks = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": "mcp-protocol-version"}
        preflight = await app.http.options(path, headers={**origin, **asks})
        assert preflight.status_code == 204, path
        assert preflight.headers["access-control-allow-origin"] == "*"
        assert method in preflight.headers["access-control-allow-methods"]
        assert "MCP-Protocol-Version" in preflight.headers["access-control-allow-headers"]
        answer = await app.http.request(method, path, headers=origin)
        assert answer.headers["access-control-allow-origin"] == "*", path
        assert "access-control-allow-credentials" not in answer.headers
    page = await app.http.get("/oauth/authorize", headers=origin)
    assert "access-control-allow-origin" not in page.headers


async def test_registration(app: AuthorizationServerApp) -> None:
    """Of a client that then gets its tokens, and is remembered for that."""
    asked = {"redirect_uris": ["http://localhost/back"], "client_name": "New"}
    made = await app.http.post("/oauth/register", json=asked)
    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    ours: dict[str, str | None] = {
        "client_id": made.json()["client_id"],
        "redirect_uri": "http://localhost:5000/back",
    }
    await app.sign_in()
    assert (await app.redeem(await app.code(**ours), ours)).status_code == 200
    assert await app.value("SELECT last_used_at FROM auth.dynamic_clients") == app.clock.now


async def test_wrong_registrations(app: AuthorizationServerApp) -> None:
    for content, kind in ((b"x", "application/json"), (b"[]", "application/json"), (b"{}", "text/plain")):
        wrong = await app.http.post("/oauth/register", content=content, headers={"Content-Type": kind})
        assert (wrong.status_code, wrong.json()["error"]) == (400, "invalid_client_metadata")
    wrong = await app.http.post("/oauth/register", json={"redirect_uris": ["javascript:alert(1)"]})
    assert (wrong.status_code, wrong.json()["error"]) == (400, "invalid_redirect_uri")
    large = await app.http.post("/oauth/register", json={"client_name": "x" * 70_000})
    assert large.status_code == 400


async def test_registration_is_off_unless_switched_on(database: ScratchDatabase, make_tenant) -> None:
    async with server_on(database, await make_tenant(), client_metadata=False) as app:
        document = (await app.http.get(DOCUMENTS[0])).json()
        assert "registration_endpoint" not in document
        assert document["client_id_metadata_document_supported"] is False
        assert (await app.http.post("/oauth/register", json={})).status_code == 403


async def test_a_server_that_is_switched_off_is_not_there(database: ScratchDatabase, make_tenant) -> None:
    async with server_on(database, await make_tenant(), enabled=False) as app:
        for path in (*DOCUMENTS, "/oauth/jwks.json", "/oauth/authorize"):
            assert (await app.http.get(path)).status_code == 404


async def test_libraries_that_log_tokens_are_kept_quiet(app: AuthorizationServerApp) -> None:
    assert app.tenant.id
    for name in ("authlib", "joserfc"):
        assert not logging.getLogger(name).isEnabledFor(logging.DEBUG)
