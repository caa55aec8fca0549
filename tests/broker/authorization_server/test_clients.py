"""Registered clients: what may be registered, that they are found while they count, and end when told to."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from broker.authorization_server.client_keys import validate_jwks
from broker.authorization_server.client_registry import (
    AUTHORIZATION_CODE,
    BROWSER_GRANTS,
    CLIENT_CREDENTIALS,
    JWT_BEARER,
    REFRESH_TOKEN,
    Client,
    ClientRegistry,
    get_machine_user,
)
from broker.authorization_server.errors import OAuthError
from broker.authorization_server.registered_clients import NewClient
from core.errors import Invalid, LimitReached, NotFound
from core.observability.redaction import redact
from core.token_format import TOKEN_PATTERN
from tests.broker.authorization_server.client_registry_app import (
    ACTOR,
    ClientRegistryApp,
    app_on,
    ec_key,
    public_set,
    rsa_key,
)
from tests.support.postgres import MadeTenant, ScratchDatabase

URI = "https://app.example.com/cb"
APP = NewClient(name="App", redirect_uris=(URI,))
MACHINE = NewClient(name="Robot", auth_method="client_secret_basic", grant_types=frozenset({CLIENT_CREDENTIALS}))


@pytest.fixture
async def app(database: ScratchDatabase) -> AsyncIterator[ClientRegistryApp]:
    async with app_on(database) as made:
        yield made


@pytest.fixture
async def tenant(make_tenant: Any) -> MadeTenant:
    return await make_tenant(users=2)


async def test_a_public_client_is_found_as_it_was_registered(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    client, secret = await app.registered.create(ACTOR, tenant.id, APP)
    assert secret is None
    assert client == await app.clients.find(client.id)
    assert client == Client(
        id=client.id, name="App", kind="registered", tenant_id=tenant.id, redirect_uris=(URI,), auth_method="none"
    )


async def test_a_machine_acts_as_the_user_that_was_named(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    made, secret = await app.registered.create(ACTOR, tenant.id, replace(MACHINE, user_id=tenant.users[1]))
    client = await app.clients.find(made.id)
    assert client is not None
    assert secret is not None
    assert get_machine_user(client) == (tenant.id, tenant.users[1])


@pytest.mark.parametrize(
    "change",
    [
        {"grant_types": BROWSER_GRANTS},
        {"auth_method": "none"},
        {"user_id": None},
        {"tenant_id": None},
    ],
)
def test_others_are_no_machines(change: dict[str, Any]) -> None:
    machine = Client(
        id="client_1234567",
        name="x",
        kind="registered",
        tenant_id=uuid4(),
        auth_method="client_secret_basic",
        grant_types=frozenset({CLIENT_CREDENTIALS}),
        user_id=uuid4(),
    )
    get_machine_user(machine)
    with pytest.raises(OAuthError, match="unauthorized_client"):
        get_machine_user(replace(machine, **change))


async def test_only_a_hash_of_the_secret_is_stored(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    _, secret = await app.registered.create(ACTOR, tenant.id, replace(MACHINE, user_id=tenant.users[0]))
    assert secret is not None
    assert secret.reveal()[-43:] not in str(await app.value("SELECT c::text FROM auth.clients c"))
    assert TOKEN_PATTERN.fullmatch(secret.reveal()) is None
    assert secret.reveal()[20:] not in redact(f"client secret {secret.reveal()}")


UNFIT = (
    replace(APP, name=""),
    replace(APP, name="\u202e\x00"),
    replace(APP, name="x" * 101),
    replace(APP, redirect_uris=()),
    replace(APP, redirect_uris=("http://evil.example/",)),
    replace(APP, redirect_uris=(URI, URI)),
    replace(APP, redirect_uris=tuple(f"{URI}/{n}" for n in range(21))),
    replace(APP, grant_types=frozenset[str]()),
    replace(APP, grant_types=frozenset({"implicit"})),
    replace(APP, grant_types=frozenset({REFRESH_TOKEN}), redirect_uris=()),
    replace(APP, grant_types=BROWSER_GRANTS | {CLIENT_CREDENTIALS}),
    replace(APP, grant_types=BROWSER_GRANTS | {JWT_BEARER}),
    replace(APP, scopes=frozenset[str]()),
    replace(APP, scopes=frozenset({"root"})),
    replace(APP, auth_method="tls_client_auth"),  # type: ignore[arg-type]
    replace(APP, auth_method="private_key_jwt"),
    replace(APP, jwks=public_set(ec_key())),
    replace(APP, user_id=uuid4()),
    MACHINE,
)


async def test_what_does_not_fit_together_is_refused(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    for asked in UNFIT:
        with pytest.raises(Invalid):
            await app.registered.create(ACTOR, tenant.id, asked)
    assert await app.registered.list(tenant.id) == []


@pytest.mark.parametrize(
    "jwks",
    [
        {},
        {"keys": []},
        {"keys": "x"},
        {"keys": [ec_key().as_dict(private=True)]},
        {"keys": [rsa_key().as_dict(private=True)]},
        {"keys": [{"kty": "oct", "k": "AAAA"}]},
        {"keys": [{"kty": "EC", "crv": "P-384", "x": "AA", "y": "AA"}]},
        {"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB"}]},
        {"keys": [{**ec_key().as_dict(private=False), "use": "enc"}]},
        {"keys": [{**ec_key().as_dict(private=False), "alg": "HS256"}]},
        {"keys": [ec_key().as_dict(private=False)] * 11},
    ],
)
def test_keys_are_public_and_of_the_right_kind(jwks: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        validate_jwks(jwks)


async def test_keys_are_kept(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    jwks = public_set(ec_key(), rsa_key())
    made, _ = await app.registered.create(ACTOR, tenant.id, replace(APP, auth_method="private_key_jwt", jwks=jwks))
    client = await app.clients.find(made.id)
    assert client is not None
    assert client.jwks == jwks


async def test_a_machine_acts_as_nobody_of_another_tenant(
    app: ClientRegistryApp, tenant: MadeTenant, make_tenant: Any
) -> None:
    other = await make_tenant()
    for user in (other.users[0], uuid4()):
        with pytest.raises(NotFound):
            await app.registered.create(ACTOR, tenant.id, replace(MACHINE, user_id=user))
    await app.execute("UPDATE core.users SET status = 'suspended'")
    with pytest.raises(NotFound):
        await app.registered.create(ACTOR, tenant.id, replace(MACHINE, user_id=tenant.users[0]))


@pytest.mark.guarantee("G9")
async def test_clients_of_another_tenant_are_like_made_up_ones(
    app: ClientRegistryApp, tenant: MadeTenant, make_tenant: Any
) -> None:
    other = await make_tenant()
    client, _ = await app.registered.create(ACTOR, tenant.id, APP)
    assert await app.registered.list(other.id) == []
    for work in (app.registered.remove(ACTOR, other.id, client.id),
                 app.registered.change(ACTOR, other.id, client.id, enabled=False)):  # fmt: skip
        with pytest.raises(NotFound):
            await work
    assert [one.client for one in await app.registered.list(tenant.id)] == [client]
    assert await app.clients.find(client.id) == client


async def test_off_and_on_again(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    client, _ = await app.registered.create(ACTOR, tenant.id, APP)
    await app.registered.change(ACTOR, tenant.id, client.id, enabled=False)
    assert await app.clients.find(client.id) is None
    assert (await app.registered.list(tenant.id))[0].disabled_at == app.clock.now
    await app.registered.change(ACTOR, tenant.id, client.id, enabled=True)
    assert await app.clients.find(client.id) == client


async def test_clients_of_a_suspended_tenant_are_not_found(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    client, _ = await app.registered.create(ACTOR, tenant.id, APP)
    await app.execute("UPDATE core.tenants SET status = 'suspended'")
    assert await app.clients.find(client.id) is None


@pytest.mark.parametrize("end", ["disable", "remove"])
async def test_what_was_granted_ends_with_the_client(app: ClientRegistryApp, tenant: MadeTenant, end: str) -> None:
    client, _ = await app.registered.create(ACTOR, tenant.id, APP)
    another, _ = await app.registered.create(ACTOR, tenant.id, APP)
    for client_id in (client.id, another.id):
        await app.execute(
            """INSERT INTO auth.grants (tenant_id, user_id, kind, client_id, client_name, scopes, resource, created_at,
            last_used_at, expires_at) VALUES ($1, $2, 'code', $3, '', '{}', 'r', now(), now(), now())""",
            tenant.id,
            tenant.users[0],
            client_id,
        )
    before = await app.value("SELECT value FROM core.generations WHERE tenant_id = $1", tenant.id)
    if end == "disable":
        await app.registered.change(ACTOR, tenant.id, client.id, enabled=False)
    else:
        await app.registered.remove(ACTOR, tenant.id, client.id)
    ended = "SELECT client_id FROM auth.grants WHERE revoked_at IS NOT NULL AND cause <> ''"
    assert await app.value(ended) == client.id
    assert await app.value("SELECT count(*) FROM auth.grants WHERE revoked_at IS NULL") == 1
    assert await app.value("SELECT value FROM core.generations WHERE tenant_id = $1", tenant.id) > before
    if end == "remove":
        assert await app.clients.find(client.id) is None
        assert [one.client.id for one in await app.registered.list(tenant.id)] == [another.id]


async def test_a_tenant_has_no_more_than_500(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    await app.execute(
        """INSERT INTO auth.clients (tenant_id, id, name, auth_method, grant_types, scopes, created_at)
        SELECT $1, 'client_' || n, 'x', 'none', '{}', '{}', now() FROM generate_series(100, 599) n""",
        tenant.id,
    )
    with pytest.raises(LimitReached):
        await app.registered.create(ACTOR, tenant.id, APP)


MADE_UP = ("", "x", "x" * 101, "client_\x00aaaaaaa", "dyn_short", "dyn_" + "a" * 22, "https://a.example/x")


async def test_made_up_ids_are_nobody_s(app: ClientRegistryApp) -> None:
    for client_id in (*MADE_UP, "client_" + "a" * 22):
        assert await app.clients.find(client_id) is None


async def test_what_comes_with_the_product_needs_no_row(app: ClientRegistryApp) -> None:
    own = Client(id="mcpist-cli", name="mcpist", kind="registered", grant_types=frozenset({AUTHORIZATION_CODE}))
    clients = ClientRegistry(app.database, None, clock=app.clock, built_in=[own])
    assert await clients.find("mcpist-cli") is own
    assert await app.clients.find("mcpist-cli") is None
