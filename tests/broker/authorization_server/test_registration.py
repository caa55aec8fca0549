"""Clients that register themselves: what they get, what is refused, and that a flood of them stays a puddle."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from broker.authorization_server.client_registry import BROWSER_GRANTS, Client, ClientRegistry
from broker.authorization_server.client_trust import TRUSTS_ALL, FixedClientTrust
from broker.authorization_server.dynamic_client_registration import MAX_ROWS, DynamicClientRegistration
from broker.authorization_server.errors import OAuthError
from broker.identity.settings import ClientTrust
from core.scopes import MCP_SCOPES
from tests.broker.authorization_server.client_registry_app import ClientRegistryApp, app_on
from tests.support.postgres import ScratchDatabase

LOOP = "http://127.0.0.1:33418/cb"
WEB = "https://app.example.com/cb"
COUNT = "SELECT count(*) FROM auth.dynamic_clients"
FILL = """INSERT INTO auth.dynamic_clients (id, name, redirect_uris, scopes, created_at, last_used_at)
    SELECT 'dyn_' || lpad(n::text, 22, '0'), 'x', '{}', '{}', $2::timestamptz, $3::timestamptz
    FROM generate_series(1, $1::integer) n"""


def body(metadata: Any) -> bytes:
    return metadata if isinstance(metadata, bytes) else json.dumps(metadata).encode()


ONE = body({"redirect_uris": [WEB]})


@pytest.fixture
async def app(database: ScratchDatabase) -> AsyncIterator[ClientRegistryApp]:
    async with app_on(database) as made:
        yield made


def registration(app: ClientRegistryApp, **options: Any) -> DynamicClientRegistration:
    return DynamicClientRegistration(
        app.database, **{"trust": TRUSTS_ALL, "clock": app.clock, "seconds": app.clock.seconds, **options}
    )


async def code(asked: Any) -> tuple[str, int]:
    with pytest.raises(OAuthError) as error:
        await asked
    return error.value.code, error.value.status


async def test_what_a_client_gets(app: ClientRegistryApp) -> None:
    asked = {"client_name": "My App", "redirect_uris": [LOOP, WEB, LOOP], "scope": "openid", "logo_uri": "http://x/"}
    answer = await registration(app).register(body(asked), "192.0.2.1")
    client_id = answer.pop("client_id")
    assert answer == {
        "client_id_issued_at": int(app.clock.seconds()),
        "client_name": "My App",
        "redirect_uris": [LOOP, WEB],
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "application_type": "native",
        "scope": "mcp:read mcp:write",
    }
    assert await app.clients.find(client_id) == Client(
        id=client_id,
        name="My App",
        kind="dynamic",
        redirect_uris=(LOOP, WEB),
        grant_types=BROWSER_GRANTS,
        scopes=MCP_SCOPES,
    )
    assert await app.authentication.authenticate({}, {"client_id": client_id})
    switched_off = ClientRegistry(app.database, None, clock=app.clock, trust=FixedClientTrust(ClientTrust()))
    assert await switched_off.find(client_id) is None


async def test_it_is_off_unless_switched_on(app: ClientRegistryApp) -> None:
    off = registration(app, trust=FixedClientTrust(ClientTrust()))
    assert await code(off.register(ONE, "192.0.2.1")) == ("access_denied", 403)
    assert await app.value(COUNT) == 0


async def test_what_is_asked_for_and_what_is_given(app: ClientRegistryApp) -> None:
    desk = registration(app)
    for asked, name, given in (
        ({"token_endpoint_auth_method": "client_secret_post"}, "token_endpoint_auth_method", "none"),
        ({"grant_types": ["authorization_code"]}, "grant_types", ["authorization_code", "refresh_token"]),
        ({"application_type": "native"}, "application_type", "native"),
        ({"application_type": "web"}, "application_type", "web"),
        ({}, "application_type", "web"),
        ({"application_type": "web", "redirect_uris": [LOOP]}, "application_type", "native"),
        ({"redirect_uris": ["com.example.app:/cb"]}, "application_type", "native"),
        ({"client_name": "a\u202eb\x00\n<script>"}, "client_name", "ab <script>"),
        ({"client_name": "x" * 5000}, "client_name", "x" * 100),
        ({"client_name": 7}, "client_name", "a program without a name"),
        ({"client_name": "\u200b\u2066"}, "client_name", "a program without a name"),
    ):
        assert (await desk.register(body({"redirect_uris": [WEB], **asked}), "192.0.2.1"))[name] == given
        app.clock.go(minutes=1)


async def test_what_is_refused(app: ClientRegistryApp) -> None:
    desk = registration(app)
    for metadata, expected in (
        (None, "invalid_client_metadata"),
        (b"", "invalid_client_metadata"),
        (b"{", "invalid_client_metadata"),
        (b'{"redirect_uris": ["\xff"]}', "invalid_client_metadata"),
        (b"[" * 60_000, "invalid_client_metadata"),
        ([], "invalid_client_metadata"),
        ("x", "invalid_client_metadata"),
        ({}, "invalid_redirect_uri"),
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": WEB}, "invalid_redirect_uri"),
        ({"redirect_uris": [WEB, 1]}, "invalid_redirect_uri"),
        ({"redirect_uris": [WEB, "javascript:alert(1)"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["http://evil.example/cb"]}, "invalid_redirect_uri"),
        ({"redirect_uris": [WEB + "#x"]}, "invalid_redirect_uri"),
        ({"redirect_uris": [WEB + "/" + "a" * 2000]}, "invalid_redirect_uri"),
        ({"redirect_uris": [f"{WEB}/{n}" for n in range(11)]}, "invalid_redirect_uri"),
        ({"redirect_uris": [WEB], "token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"),
        ({"redirect_uris": [WEB], "token_endpoint_auth_method": ["none"]}, "invalid_client_metadata"),
        ({"redirect_uris": [WEB], "grant_types": ["client_credentials"]}, "invalid_client_metadata"),
        ({"redirect_uris": [WEB], "grant_types": "authorization_code"}, "invalid_client_metadata"),
        ({"redirect_uris": [WEB], "response_types": ["token"]}, "invalid_client_metadata"),
        ({"redirect_uris": [WEB], "application_type": "desktop"}, "invalid_client_metadata"),
        ({"redirect_uris": [WEB], "application_type": {}}, "invalid_client_metadata"),
        ({"redirect_uris": [WEB], "software_statement": "x"}, "unapproved_software_statement"),
    ):
        assert await code(desk.register(body(metadata), "192.0.2.1")) == (expected, 400), metadata
        app.clock.go(minutes=1)
    assert await app.value(COUNT) == 0


async def test_a_flood_from_one_place(app: ClientRegistryApp) -> None:
    """An IPv6 network is one place."""
    desk = registration(app)
    codes = [await _registered(desk, f"2001:db8::{n % 4096:x}") for n in range(10_000)]
    assert codes.count(201) == await app.value(COUNT) == 30
    assert codes.count(429) == 9_970
    assert await _registered(desk, "192.0.2.9") == 201
    app.clock.go(seconds=10)
    assert await _registered(desk, "2001:db8::1") == 201


async def test_a_flood_from_everywhere(app: ClientRegistryApp) -> None:
    desk = registration(app)
    codes = [await _registered(desk, f"10.{n // 256 % 256}.{n % 256}.1") for n in range(10_000)]
    assert codes.count(201) == await app.value(COUNT) == 100


async def test_the_table_has_an_end(app: ClientRegistryApp) -> None:
    await app.execute(FILL, MAX_ROWS - 5, app.clock.now, app.clock.now)
    desk = registration(app)
    codes = await asyncio.gather(*(_registered(desk, f"10.0.{n}.1") for n in range(16)))
    assert sorted(codes) == [201] * 5 + [503] * 11
    assert await app.value(COUNT) == MAX_ROWS


async def test_a_full_table_gets_rid_of_what_was_never_used(app: ClientRegistryApp) -> None:
    long_ago = app.clock.now - timedelta(days=2)
    await app.execute(FILL, 30, long_ago, None)
    await app.execute("UPDATE auth.dynamic_clients SET last_used_at = $1 WHERE id LIKE '%1'", long_ago)
    desk = registration(app, most_rows=30)
    assert await _registered(desk, "192.0.2.1") == 201
    assert await app.value(COUNT) == 3 + 1  # those that were used stay


async def test_unused_clients_are_forgotten_after_90_days(app: ClientRegistryApp) -> None:
    desk = registration(app)
    kept, gone = [(await desk.register(ONE, "192.0.2.1"))["client_id"] for _ in range(2)]
    app.clock.go(days=89)
    client = await app.clients.find(kept)
    assert client is not None
    await app.clients.record_use(client)
    assert await desk.sweep() == 0
    app.clock.go(days=1, seconds=1)
    assert await desk.sweep() == 1
    assert await app.clients.find(gone) is None
    assert await app.clients.find(kept) == client


async def test_use_is_remembered_to_the_day(app: ClientRegistryApp) -> None:
    desk = registration(app)
    client = await app.clients.find((await desk.register(ONE, "192.0.2.1"))["client_id"])
    assert client is not None
    start = app.clock.now
    for hours, expected in ((0, 0), (23, 0), (2, 25)):
        app.clock.go(hours=hours)
        await app.clients.record_use(client)
        assert await app.value("SELECT last_used_at FROM auth.dynamic_clients") == start + timedelta(hours=expected)


async def _registered(desk: DynamicClientRegistration, address: str) -> int:
    """The status of the answer."""
    try:
        await desk.register(ONE, address)
    except OAuthError as refused:
        waits = int(refused.headers.get("Retry-After", "0")) > 0
        return refused.status if waits and refused.code == "temporarily_unavailable" else 0
    return 201
