"""The token and revocation endpoints as clients meet them: by HTTP, in parallel, with all that can be wrong."""

import asyncio
import base64
from collections.abc import AsyncIterator
from types import SimpleNamespace
from urllib.parse import quote

import httpx2
import pytest

from broker.authorization_server.client_registry import CLIENT_CREDENTIALS, JWT_BEARER
from broker.interface import CredentialRefusal, RefusalReason
from core.caller import Credential
from core.secret import Secret
from tests.broker.authorization_server.server_app import BOTH, RESOURCE, WEB, AuthorizationServerApp, server_on
from tests.support.postgres import ScratchDatabase

NO_ERROR = "none"


@pytest.fixture
async def app(database: ScratchDatabase, make_tenant) -> AsyncIterator[AuthorizationServerApp]:
    async with server_on(database, await make_tenant(users=2)) as made:
        await made.sign_in()
        yield made


def refusal(response: httpx2.Response) -> str:
    """The error of an answer, which has all that RFC 6749 §5.2 asks of it."""
    if response.status_code == 200:
        return NO_ERROR
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["access-control-allow-origin"] == "*"
    body = response.json()
    assert set(body) == {"error", "error_description"}
    return body["error"]


async def tokens(app: AuthorizationServerApp, **changes: str | None) -> dict[str, str]:
    response = await app.redeem(await app.code(**changes))
    assert response.status_code == 200, response.text
    return response.json()


async def test_an_answer_is_complete_and_never_stored(app: AuthorizationServerApp) -> None:
    response = await app.redeem(await app.code())
    assert response.status_code == 200
    assert (response.headers["cache-control"], response.headers["pragma"]) == ("no-store", "no-cache")
    assert set(response.json()) == {"access_token", "token_type", "expires_in", "scope", "refresh_token"}


async def test_another_form_of_the_resource_has_its_audience(app: AuthorizationServerApp) -> None:
    """Metadata of each form name it as the resource, which the client repeats at both endpoints (RFC 8707 §2)."""
    code = await app.code(resource=RESOURCE + "/plain/github,notion")
    response = await app.redeem(code, {"resource": RESOURCE + "/plain/github,notion"})
    assert response.status_code == 200, response.text
    assert await app.value("SELECT resource FROM auth.grants") == RESOURCE
    token = response.json()["refresh_token"]
    assert (await app.refresh(token, resource=RESOURCE + "?view=both&modules=lab")).status_code == 200


WRONG: list[tuple[dict[str, str | None], str]] = [
    ({"grant_type": None}, "invalid_request"),
    ({"grant_type": ""}, "invalid_request"),
    ({"grant_type": "password"}, "unsupported_grant_type"),
    ({"grant_type": "implicit"}, "unsupported_grant_type"),
    ({"grant_type": CLIENT_CREDENTIALS}, "unauthorized_client"),
    ({"grant_type": JWT_BEARER, "assertion": "x"}, "unauthorized_client"),
    ({"code": None}, "invalid_request"),
    ({"code": "x" * 43}, "invalid_grant"),
    ({"code_verifier": None}, "invalid_request"),
    ({"code_verifier": "short"}, "invalid_request"),
    ({"code_verifier": "x" * 129}, "invalid_request"),
    ({"code_verifier": "é" * 50}, "invalid_request"),
    ({"code_verifier": "x" * 43}, "invalid_grant"),
    ({"redirect_uri": "https://agent.example/other"}, "invalid_grant"),
    ({"redirect_uri": "x" * 2001}, "invalid_request"),
    ({"resource": "https://other.example/mcp"}, "invalid_target"),
    ({"client_id": None}, "invalid_client"),
    ({"client_id": "https://other.example/client.json"}, "invalid_client"),
    ({"client_secret": "guessed"}, "invalid_client"),
]


async def test_what_is_wrong_is_named_and_costs_no_code(app: AuthorizationServerApp) -> None:
    code = await app.code()
    for changes, error in WRONG:
        response = await app.redeem(code, changes)
        assert refusal(response) == error, changes
        assert response.status_code == (401 if error == "invalid_client" else 400), changes
        assert "www-authenticate" not in response.headers
    assert refusal(await app.redeem(code)) == NO_ERROR


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'{"grant_type": "refresh_token"}', "application/json"),
        (b"grant_type=refresh_token&grant_type=refresh_token&client_id=x", "application/x-www-form-urlencoded"),
        (b"a=" + b"x" * 65_536, "application/x-www-form-urlencoded"),
        (b"&".join(b"a%d=b" % number for number in range(51)), "application/x-www-form-urlencoded"),
        (b"a=%ff", "application/x-www-form-urlencoded"),
        (b"\xff", "application/x-www-form-urlencoded"),
        (b"", "application/x-www-form-urlencoded"),
        (b"", ""),
    ],
    ids=["json", "twice", "large", "many", "not-utf8", "not-ascii", "empty", "no-type"],
)
async def test_only_forms_of_a_certain_size_are_read(app: AuthorizationServerApp, content: bytes, kind: str) -> None:
    for path in ("/oauth/token", "/oauth/revoke"):
        response = await app.http.post(path, content=content, headers={"Content-Type": kind} if kind else {})
        assert refusal(response) in ("invalid_request", "invalid_client")
        assert response.status_code in (400, 401)


async def test_only_posts(app: AuthorizationServerApp) -> None:
    for path in ("/oauth/token", "/oauth/revoke"):
        assert (await app.http.get(path)).status_code == 405


async def test_twenty_redemptions_at_once(app: AuthorizationServerApp) -> None:
    code = await app.code()
    answers = await asyncio.gather(*(app.redeem(code) for _ in range(20)))
    good = [answer for answer in answers if answer.status_code == 200]
    assert len(good) == 1
    assert {refusal(answer) for answer in answers if answer not in good} == {"invalid_grant"}
    assert refusal(await app.refresh(good[0].json()["refresh_token"])) == "invalid_grant"


async def test_refreshing(app: AuthorizationServerApp) -> None:
    first = (await tokens(app))["refresh_token"]
    narrow = (await app.refresh(first, scope="mcp:read", resource=RESOURCE)).json()
    assert narrow["scope"] == "mcp:read"
    assert (await app.refresh(narrow["refresh_token"])).json()["scope"] == BOTH
    assert refusal(await app.refresh(first)) == "invalid_grant"
    assert await app.value("SELECT cause FROM auth.grants") == "reuse"


async def test_a_refresh_token_serves_its_own_client_only(app: AuthorizationServerApp) -> None:
    token = (await tokens(app))["refresh_token"]
    other, _ = await app.client()
    assert refusal(await app.refresh(token, client_id=other.id)) == "invalid_grant"
    assert refusal(await app.refresh(token, scope="admin:read")) == "invalid_scope"
    assert refusal(await app.refresh(token, resource=RESOURCE + "/x")) == "invalid_target"
    assert refusal(await app.refresh(token)) == NO_ERROR


def basic(name: str, secret: str) -> dict[str, str]:
    joined = f"{quote(name, safe='')}:{quote(secret, safe='')}"
    return {"Authorization": "Basic " + base64.b64encode(joined.encode()).decode()}


async def test_a_client_with_a_secret(app: AuthorizationServerApp) -> None:
    """Only whoever has tried Basic is challenged for it: a browser would ask the person for a password."""
    client, secret = await app.client(auth_method="client_secret_basic")
    assert secret is not None
    ours: dict[str, str | None] = {"client_id": client.id, "redirect_uri": client.redirect_uris[0]}
    code = await app.code(**ours)
    without = await app.redeem(code, ours)
    wrong = await app.redeem(code, {**ours, "client_secret": "wrong"})
    for response in (without, wrong):
        assert (response.status_code, refusal(response)) == (401, "invalid_client")
        assert "www-authenticate" not in response.headers
    challenged = await app.redeem(code, {**ours, "client_id": None}, basic(client.id, "wrong"))
    assert (challenged.status_code, refusal(challenged)) == (401, "invalid_client")
    assert challenged.headers["www-authenticate"].startswith("Basic ")
    right = await app.redeem(code, {**ours, "client_id": None}, basic(client.id, secret.reveal()))
    token = right.json()["refresh_token"]
    assert refusal(await app.refresh(token, client_id=client.id)) == "invalid_client"
    again = await app.refresh(token, client_id=client.id, client_secret=secret.reveal())
    assert refusal(again) == NO_ERROR


async def machine(app: AuthorizationServerApp, **options: object) -> dict[str, str]:
    """The credentials of a program that acts as the first user."""
    filled = {
        "auth_method": "client_secret_post",
        "grant_types": frozenset({CLIENT_CREDENTIALS}),
        "redirect_uris": (),
        "user_id": app.user,
        **options,
    }
    client, secret = await app.client(**filled)
    assert secret is not None
    return {"grant_type": CLIENT_CREDENTIALS, "client_id": client.id, "client_secret": secret.reveal()}


async def test_a_machine(app: AuthorizationServerApp) -> None:
    credentials = await machine(app)
    first = (await app.token(credentials)).json()
    assert (first["scope"], "refresh_token" in first) == (BOTH, False)
    await asyncio.gather(*(app.token(credentials) for _ in range(3)))
    assert await app.value("SELECT count(*) FROM auth.grants") == 1
    assert (await app.token({**credentials, "scope": "mcp:read"})).json()["scope"] == "mcp:read"
    assert refusal(await app.token({**credentials, "scope": "admin:read"})) == "invalid_scope"
    app.clock.go(hours=23)
    await app.token(credentials)
    assert await app.value("SELECT count(*) FROM auth.grants") == 3
    await app.execute("UPDATE core.users SET status = 'suspended'")
    assert refusal(await app.token(credentials)) == "invalid_grant"


async def test_a_machine_that_was_switched_off(app: AuthorizationServerApp) -> None:
    credentials = await machine(app)
    await app.execute("UPDATE auth.clients SET disabled_at = now()")
    assert refusal(await app.token(credentials)) == "invalid_client"


async def test_an_assertion_of_the_tenants_own_provider(app: AuthorizationServerApp) -> None:
    credentials = await machine(app, grant_types=frozenset({JWT_BEARER}), user_id=None)
    asserted = {**credentials, "grant_type": JWT_BEARER, "assertion": "a.b.c"}
    speaks = SimpleNamespace(
        tenant_id=app.tenant.id,
        user_id=app.tenant.users[1],
        scopes=frozenset({"mcp:read"}),
        resource=RESOURCE,
        issuer="https://idp.example",
    )
    await app.execute(
        "INSERT INTO auth.trusted_issuers VALUES ($1, 'https://idp.example', 'https://idp.example/keys', now())",
        app.tenant.id,
    )
    app.assertions.known["a.b.c"] = speaks
    answer = (await app.token(asserted)).json()
    assert (answer["scope"], "refresh_token" in answer) == ("mcp:read", False)
    sql = "SELECT user_id FROM auth.grants WHERE kind = 'id_jag' AND issuer = 'https://idp.example'"
    assert await app.value(sql) == app.tenant.users[1]
    assert refusal(await app.token({**asserted, "scope": "mcp:write"})) == "invalid_scope"
    speaks.scopes = frozenset()
    assert (await app.token(asserted)).json()["scope"] == BOTH
    speaks.resource = "https://other.example/mcp"
    assert refusal(await app.token(asserted)) == "invalid_target"
    assert refusal(await app.token({**asserted, "assertion": "forged"})) == "invalid_grant"
    assert refusal(await app.token({**asserted, "assertion": "x" * 16_385})) == "invalid_grant"


async def revoke(app: AuthorizationServerApp, **form: str) -> httpx2.Response:
    return await app.http.post("/oauth/revoke", data={"client_id": WEB.id, **form})


@pytest.mark.parametrize("which", ["refresh_token", "access_token"])
async def test_either_token_gives_everything_back(app: AuthorizationServerApp, which: str) -> None:
    mine, others = await tokens(app), await tokens(app)
    response = await revoke(app, token=mine[which], token_type_hint="unknown")
    assert (response.status_code, response.content) == (200, b"")
    assert refusal(await app.refresh(mine["refresh_token"])) == "invalid_grant"
    assert refusal(await app.refresh(others["refresh_token"])) == NO_ERROR
    assert (await revoke(app, token=mine[which])).status_code == 200
    assert [event.detail["cause"] for event in await app.events("grant.revoked") if event.detail] == ["client"]
    assert (await app.authorize()).status_code == 302  # what the person agreed to stays


async def test_nothing_is_said_of_a_token_that_is_not_ones_own(app: AuthorizationServerApp) -> None:
    mine = await tokens(app)
    other, _ = await app.client()
    for token in (mine["refresh_token"], mine["access_token"], "made-up", "a.b.c", "x" * 9000):
        assert (await revoke(app, token=token, client_id=other.id)).status_code == 200
    assert refusal(await app.refresh(mine["refresh_token"])) == NO_ERROR
    assert refusal(await revoke(app, token=mine["refresh_token"], client_id="nobody")) == "invalid_client"
    assert refusal(await revoke(app)) == "invalid_request"


async def test_whoever_is_refused_too_often_has_to_wait(app: AuthorizationServerApp) -> None:
    made = await tokens(app)
    for _ in range(20):
        assert (await revoke(app, token="x", client_id="nobody")).status_code == 401
    waiting = await revoke(app, token=made["refresh_token"])
    assert (waiting.status_code, refusal(waiting)) == (429, "temporarily_unavailable")
    assert int(waiting.headers["retry-after"]) > 0
    for _ in range(100):
        assert (await app.refresh("mcpist_refresh_" + "x" * 43)).status_code == 400
    waiting = await app.refresh(made["refresh_token"])
    assert (waiting.status_code, refusal(waiting)) == (429, "temporarily_unavailable")
    app.clock.go(minutes=1)
    assert refusal(await app.refresh(made["refresh_token"])) == NO_ERROR


async def test_a_signed_token_dies_with_its_grant(database: ScratchDatabase, make_tenant) -> None:
    async with server_on(database, await make_tenant(users=1), signing=True) as app:
        await app.sign_in()
        code = await app.code(scope="mcp:read")
        made = (await app.redeem(code)).json()
        token = Secret(made["access_token"])
        verified = await app.access_tokens.verify(token)
        assert isinstance(verified, Credential)
        assert (verified.user_id, verified.scopes, verified.client) == (app.user, {"mcp:read"}, WEB.name)
        assert (await app.http.get("/oauth/jwks.json")).json()["keys"][0]["kty"] == "RSA"
        assert refusal(await app.redeem(code)) == "invalid_grant"
        dead = await app.access_tokens.verify(token)
        assert isinstance(dead, CredentialRefusal)
        assert dead.reason is RefusalReason.REVOKED
        other = await tokens(app, scope="mcp:read")
        app.clock.go(minutes=11)
        assert (await revoke(app, token=other["access_token"])).status_code == 200  # also when it has expired
        assert refusal(await app.refresh(other["refresh_token"])) == "invalid_grant"
