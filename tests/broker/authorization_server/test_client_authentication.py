"""Which client speaks: right proofs, and every wrong one that could be thought of."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote_plus

import pytest
from joserfc.jwk import ECKey, OctKey

from broker.authorization_server.client_authentication import ASSERTION_TYPE, ClientAuthentication
from broker.authorization_server.client_metadata import ClientMetadataResolver
from broker.authorization_server.client_registry import Client, ClientRegistry
from broker.authorization_server.errors import OAuthError
from broker.authorization_server.registered_clients import NewClient
from broker.identity.peppers import Peppers
from tests.broker.authorization_server.client_registry_app import (
    ACTOR,
    ISSUER,
    TOKEN_ENDPOINT,
    ClientRegistryApp,
    app_on,
    ec_key,
    fresh_id,
    public_set,
    rsa_key,
    signed,
)
from tests.gateway.vendor_session.doubles import Exchange, RawVendor
from tests.support.postgres import MadeTenant, ScratchDatabase

APP = NewClient(name="App", redirect_uris=("https://app.example.com/cb",))
SECRET = replace(APP, auth_method="client_secret_basic")
SIGNER = replace(APP, auth_method="private_key_jwt", jwks=public_set(ec_key(), rsa_key()))


@pytest.fixture
async def app(database: ScratchDatabase) -> AsyncIterator[ClientRegistryApp]:
    async with app_on(database) as made:
        yield made


@pytest.fixture
async def tenant(make_tenant: Any) -> MadeTenant:
    return await make_tenant()


def basic(client_id: str, secret: str) -> dict[str, str]:
    joined = f"{quote_plus(client_id)}:{quote_plus(secret)}".encode()
    return {"authorization": "Basic " + base64.b64encode(joined).decode()}


async def refused(
    app: ClientRegistryApp, headers: dict[str, str], form: dict[str, str], code: str = "invalid_client"
) -> str:
    with pytest.raises(OAuthError) as error:
        await app.authentication.authenticate(headers, form)
    assert error.value.code == code
    assert error.value.status == (401 if code == "invalid_client" else 400)
    assert ("WWW-Authenticate" in error.value.headers) is (code == "invalid_client")
    return error.value.description


async def made(app: ClientRegistryApp, tenant: MadeTenant, asked: NewClient) -> tuple[Client, str]:
    client, secret = await app.registered.create(ACTOR, tenant.id, asked)
    return client, secret.reveal() if secret else ""


async def test_a_public_client_names_itself(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    client, _ = await made(app, tenant, APP)
    assert await app.authentication.authenticate({}, {"client_id": client.id}) == client
    assert await app.authentication.authenticate({}, {"client_id": client.id, "client_secret": ""}) == client
    for headers, form in (
        ({}, {}),
        ({}, {"client_id": ""}),
        ({}, {"client_id": client.id + "x"}),
        ({}, {"client_id": client.id, "client_secret": "x"}),
        (basic(client.id, "x"), {}),
        (basic(client.id, ""), {}),
    ):
        await refused(app, headers, form)


async def test_a_secret_in_the_header_or_in_the_body(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    for method in ("client_secret_basic", "client_secret_post"):
        client, secret = await made(app, tenant, replace(APP, auth_method=method))  # type: ignore[arg-type]
        for headers, form in (
            (basic(client.id, secret), {}),
            (basic(client.id, secret), {"client_id": client.id}),
            ({"authorization": basic(client.id, secret)["authorization"].replace("Basic", "bAsIc")}, {}),
            ({}, {"client_id": client.id, "client_secret": secret}),
        ):
            assert await app.authentication.authenticate(headers, form) == client


async def test_a_wrong_secret_is_like_an_unknown_client(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    client, secret = await made(app, tenant, SECRET)
    _, of_another = await made(app, tenant, SECRET)
    told = {
        await refused(app, {}, {"client_id": client.id}),
        await refused(app, {}, {"client_id": client.id, "client_secret": of_another}),
        await refused(app, {}, {"client_id": client.id, "client_secret": secret + " "}),
        await refused(app, {}, {"client_id": client.id, "client_secret": secret[:-1]}),
        await refused(app, basic(client.id, secret.upper()), {}),
        await refused(app, basic(client.id, "\ud7ff\x00"), {}),
        await refused(app, {}, {"client_id": "client_" + "a" * 22, "client_secret": secret}),
        await refused(app, {}, {"client_id": "c" * 5000, "client_secret": secret}),
    }
    assert len(told) == 1
    await app.registered.change(ACTOR, tenant.id, client.id, enabled=False)
    told.add(await refused(app, basic(client.id, secret), {}))
    assert len(told) == 1


async def test_unknown_and_known_clients_cost_one_comparison_each(
    app: ClientRegistryApp, tenant: MadeTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The structure behind the constant time: both ways hash and compare once (threat-model.md §2, row 32)."""
    client, _ = await made(app, tenant, SECRET)
    compared: list[int] = []
    real = ClientAuthentication._is_secret_valid  # pyright: ignore[reportPrivateUsage]

    def counted(*given: Any) -> bool:
        compared.append(1)
        return real(*given)

    monkeypatch.setattr(ClientAuthentication, "_is_secret_valid", counted)
    await refused(app, {}, {"client_id": client.id, "client_secret": "x"})
    await refused(app, {}, {"client_id": "client_" + "a" * 22, "client_secret": "x"})
    assert len(compared) == 2


async def test_another_pepper_refuses_it(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    client, secret = await made(app, tenant, SECRET)
    for peppers in (Peppers("p1", {"p1": b"q" * 32}), Peppers("p2", {"p2": b"p" * 32})):
        app.authentication._peppers = peppers  # pyright: ignore[reportPrivateUsage]
        await refused(app, basic(client.id, secret), {})


async def test_two_proofs_or_two_names_are_too_many(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    client, secret = await made(app, tenant, SECRET)
    other, _ = await made(app, tenant, APP)
    header = basic(client.id, secret)
    for headers, form in (
        (header, {"client_secret": secret}),
        (header, {"client_id": client.id, "client_secret": secret}),
        (header, {"client_assertion": "x", "client_assertion_type": ASSERTION_TYPE}),
        ({}, {"client_secret": secret, "client_assertion": "x", "client_assertion_type": ASSERTION_TYPE}),
        (header, {"client_id": other.id}),
        (header, {"client_id": ""}),
    ):
        await refused(app, headers, form, "invalid_request")


async def test_headers_that_cannot_be_read(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    client, secret = await made(app, tenant, SECRET)
    whole = basic(client.id, secret)["authorization"].removeprefix("Basic ")
    for value in (
        "",
        "Basic",
        "Basic ",
        "Basic !!!",
        f"Basic {whole[:-3]}!",
        f"Bearer {whole}",
        f"Basic é{whole}",
        "Basic " + base64.b64encode(b"no colon").decode(),
        "Basic " + base64.b64encode(b"\xff:\xff").decode(),
        "Basic " + base64.b64encode(b"%ff:x").decode(),
        "Basic " + "A" * 5000,
    ):
        await refused(app, {"authorization": value}, {})


def claims(app: ClientRegistryApp, client: Client, **changed: Any) -> dict[str, Any]:
    now = int(app.clock.seconds())
    whole = {"iss": client.id, "sub": client.id, "aud": ISSUER, "exp": now + 60, "iat": now, "jti": fresh_id()}
    return {name: value for name, value in {**whole, **changed}.items() if value is not None}


def asserted(text: str, **more: str) -> dict[str, str]:
    return {"client_assertion_type": ASSERTION_TYPE, "client_assertion": text, **more}


async def test_a_signed_assertion(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    client, _ = await made(app, tenant, SIGNER)
    now = int(app.clock.seconds())
    for text in (
        signed(ec_key(), claims(app, client)),
        signed(rsa_key(), claims(app, client, aud=TOKEN_ENDPOINT)),
        signed(ec_key(), claims(app, client, aud=[ISSUER])),
        signed(ec_key(), claims(app, client), kid=""),
        signed(rsa_key(), claims(app, client), kid=""),
        signed(ec_key(), claims(app, client, exp=now + 300), typ="JWT"),
        signed(ec_key(), claims(app, client, iat=None)),
    ):
        assert await app.authentication.authenticate({}, asserted(text)) == client
    again = asserted(signed(ec_key(), claims(app, client)), client_id=client.id)
    assert await app.authentication.authenticate({}, again) == client


async def test_an_assertion_counts_once(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    client, _ = await made(app, tenant, SIGNER)
    form = asserted(signed(ec_key(), claims(app, client)))
    outcomes = await asyncio.gather(
        *(app.authentication.authenticate({}, form) for _ in range(20)), return_exceptions=True
    )
    assert sum(isinstance(one, Client) for one in outcomes) == 1
    other, _ = await made(app, tenant, SIGNER)
    for who in (client, other):  # an id is a client's own
        assert (
            await app.authentication.authenticate({}, asserted(signed(ec_key(), claims(app, who, jti="same")))) == who
        )
    await refused(app, {}, asserted(signed(rsa_key(), claims(app, client, jti="same"))))


async def test_an_assertion_that_is_refused_uses_nothing_up(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    client, _ = await made(app, tenant, SIGNER)
    await refused(app, {}, asserted(signed(ec_key("other"), claims(app, client, jti="j"), kid="e1")))
    assert await app.authentication.authenticate({}, asserted(signed(ec_key(), claims(app, client, jti="j")))) == client


async def test_forged_assertions(app: ClientRegistryApp, tenant: MadeTenant) -> None:
    client, _ = await made(app, tenant, SIGNER)
    other, _ = await made(app, tenant, replace(SIGNER, jwks=public_set(ec_key("other"))))
    public, _ = await made(app, tenant, APP)
    now = int(app.clock.seconds())
    good = signed(ec_key(), claims(app, client))
    head, body, signature = good.split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    secret = OctKey.import_key(ec_key().as_pem(private=False).hex())
    forged = {
        "another's key": signed(ec_key("other"), claims(app, client)),
        "another's key under our kid": signed(ec_key("other"), claims(app, client), kid="e1"),
        "unknown kid": signed(ec_key(), claims(app, client), kid="e2"),
        "kid of the other algorithm": signed(ec_key(), claims(app, client), kid="r1"),
        "none": f"{none}.{body}.",
        "none with a signature": f"{none}.{body}.{signature}",
        "hmac": signed(secret, claims(app, client), "HS256", kid="e1"),
        "another algorithm": signed(rsa_key(), claims(app, client), "PS256"),
        "another curve": signed(ECKey.generate_key("P-384", {"kid": "e1"}), claims(app, client), "ES384"),
        "another body": f"{head}.{signed(ec_key(), claims(app, client)).split('.')[1]}.{signature}",
        "a cut signature": good[:-4],
        "a jwk of its own": signed(ec_key("other"), claims(app, client), jku="https://evil.example/keys"),
        "iss": signed(ec_key(), claims(app, client, iss=other.id)),
        "no iss": signed(ec_key(), claims(app, client, iss=None)),
        "sub": signed(ec_key(), claims(app, client, sub=other.id)),
        "a public client": signed(ec_key(), claims(app, client, sub=public.id, iss=public.id)),
        "aud": signed(ec_key(), claims(app, client, aud="https://evil.example")),
        "aud with a slash": signed(ec_key(), claims(app, client, aud=ISSUER + "/")),
        "two aud": signed(ec_key(), claims(app, client, aud=[ISSUER, "https://evil.example"])),
        "no aud": signed(ec_key(), claims(app, client, aud=None)),
        "expired": signed(ec_key(), claims(app, client, exp=now)),
        "too long": signed(ec_key(), claims(app, client, exp=now + 331)),
        "no exp": signed(ec_key(), claims(app, client, exp=None)),
        "text exp": signed(ec_key(), claims(app, client, exp=str(now + 60))),
        "of the future": signed(ec_key(), claims(app, client, iat=now + 31)),
        "not yet": signed(ec_key(), claims(app, client, nbf=now + 31)),
        "no jti": signed(ec_key(), claims(app, client, jti=None)),
        "long jti": signed(ec_key(), claims(app, client, jti="j" * 257)),
        "nothing": "",
        "noise": "a.b.c",
        "too large": good + "a" * 8192,
    }
    for name, text in forged.items():
        told = await refused(app, {}, asserted(text))
        assert told, name
    await refused(app, {}, {"client_id": client.id})
    await refused(app, {}, {"client_assertion": good, "client_assertion_type": "x"}, "invalid_request")
    await refused(app, {}, {"client_assertion": good}, "invalid_request")
    await refused(app, {}, asserted(good, client_id=other.id), "invalid_request")
    assert await app.authentication.authenticate({}, asserted(good)) == client


async def test_a_client_whose_document_names_its_keys(database: ScratchDatabase) -> None:
    """Document and keys are on one server; a key that is not there yet is looked for once a minute."""
    async with RawVendor() as server:
        url, keys = f"{server.url}/client.json", [ec_key()]

        async def serve(exchange: Exchange) -> None:
            client = {
                "client_id": url,
                "client_name": "App",
                "redirect_uris": ["https://app.example.com/cb"],
                "token_endpoint_auth_method": "private_key_jwt",
                "jwks_uri": f"{server.url}/keys",
            }
            body = client if exchange.request.target == "/client.json" else public_set(*keys)
            exchange.send(200, json.dumps(body).encode(), content_type="application/json")

        server.scripts = [serve]
        async with app_on(database, f"127.0.0.1:{server.port}") as app:
            clients = ClientRegistry(
                app.database, ClientMetadataResolver(app.documents, clock=app.clock.seconds), clock=app.clock
            )
            app.authentication._clients = clients  # pyright: ignore[reportPrivateUsage]
            client = await clients.find(url)
            assert client is not None
            assert await app.authentication.authenticate({}, asserted(signed(ec_key(), claims(app, client)))) == client
            await refused(app, {}, {"client_id": url})
            await refused(app, {}, asserted(signed(ec_key(), claims(app, client), kid="")))
            for _ in range(3):
                await refused(app, {}, asserted(signed(ec_key("new"), claims(app, client))))
            assert len(server.requests) == 2
            keys.append(ec_key("new"))
            app.clock.go(seconds=61)
            assert (
                await app.authentication.authenticate({}, asserted(signed(ec_key("new"), claims(app, client))))
                == client
            )
