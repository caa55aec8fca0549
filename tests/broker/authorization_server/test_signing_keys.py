"""Our signing keys on a real database: made once, sealed, published before they sign and after."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from joserfc.jwk import RSAKey

from broker.authorization_server import jose
from broker.authorization_server.jose import InvalidToken
from broker.authorization_server.signing_key_store import ALGORITHM, MIN_PUBLISHED_TIME, PUBLISHED_FOR, SigningKeyStore
from broker.authorization_server.signing_keys import FRESH_SECONDS, SigningKeys, open_signing_keys
from broker.vault.envelope import DecryptionError
from broker.vault.key_wrapping import InMemoryKeyProvider
from core.audit.event import DEPLOYMENT_CHAIN
from core.db import Database
from core.errors import Conflict, Invalid, Unavailable
from tests.broker.broker_harness import ACTOR, BrokerHarness
from tests.support.postgres import PASSWORDS
from tests.support.postgres_proxy import PostgresProxy, postgres_proxy

MINUTE = timedelta(minutes=1)
CLAIMS = {"sub": "ada"}


@dataclass
class Process:
    """One process's view of the keys; nothing but `now` passes."""

    store: SigningKeyStore
    now: float = 0.0
    keys: SigningKeys = field(init=False)

    def __post_init__(self) -> None:
        self.keys = SigningKeys(self.store, monotonic=lambda: self.now)

    async def signed(self) -> str:
        return await self.keys.sign("at+jwt", CLAIMS)

    async def accepts(self, token: str) -> bool:
        jwt = jose.parse_jwt(token)
        key = await self.keys.find(jwt.kid)
        return key is not None and jwt.verify_claims(key, {ALGORITHM}) == CLAIMS

    async def accepts_forged(self, token: str) -> bool:
        try:
            return await self.accepts(token)
        except InvalidToken:
            return False

    async def published(self) -> list[str]:
        return [key["kid"] for key in json.loads(await self.keys.get_jwks())["keys"]]


@pytest.fixture
async def store(app: BrokerHarness) -> SigningKeyStore:
    _, store = await open_signing_keys(app.trusted, app.keys, clock=app.clock)
    await store.ensure_keys()
    return store


async def state(store: SigningKeyStore) -> list[str]:
    return sorted(key.state for key in await store.list())


async def test_one_key_signs_and_one_follows(app: BrokerHarness, store: SigningKeyStore) -> None:
    assert await state(store) == ["active", "next"]
    await asyncio.gather(*(store.ensure_keys() for _ in range(8)))
    assert await state(store) == ["active", "next"]
    one, other = Process(store), Process(store)
    assert await other.accepts(await one.signed())
    assert len(await one.published()) == 2


async def test_the_first_keys_are_made_when_first_needed_and_once(app: BrokerHarness) -> None:
    opened = [await open_signing_keys(app.trusted, app.keys, clock=app.clock) for _ in range(4)]
    assert await state(opened[0][1]) == []
    tokens = await asyncio.gather(*(keys.sign("at+jwt", CLAIMS) for keys, _ in opened))
    assert await state(opened[0][1]) == ["active", "next"]
    assert len({jose.parse_jwt(token).kid for token in tokens}) == 1


async def test_the_document_shows_public_keys_only(store: SigningKeyStore) -> None:
    keys = json.loads(await Process(store).keys.get_jwks())["keys"]
    assert len(keys) == 2, "one signs and one follows"
    for key in keys:
        assert set(key) == {"kty", "n", "e", "kid", "use", "alg"}
        assert (key["kty"], key["use"], key["alg"]) == ("RSA", "sig", "RS256")


async def test_a_rotation_that_no_client_notices(app: BrokerHarness, store: SigningKeyStore) -> None:
    """Three processes, of which one looks at the latest possible moment."""
    signer, quick, slow = Process(store), Process(store), Process(store)
    old = await signer.signed()
    assert await slow.accepts(old)
    app.clock.ahead += MIN_PUBLISHED_TIME
    kid = await store.rotate(ACTOR)
    slow.now += FRESH_SECONDS - 1  # its set is from before the rotation
    signer.now += FRESH_SECONDS
    new = await signer.signed()
    assert jose.parse_jwt(new).kid == kid != jose.parse_jwt(old).kid
    for process in (signer, quick, slow):
        assert await process.accepts(new)
        assert await process.accepts(old)
    assert await state(store) == ["active", "next", "retired"]
    assert await slow.published() != await signer.published()
    slow.now += 1
    assert await slow.published() == await signer.published()
    assert jose.parse_jwt(await slow.signed()).kid == kid


async def test_a_key_that_nobody_can_know_yet_does_not_sign(app: BrokerHarness, store: SigningKeyStore) -> None:
    with pytest.raises(Conflict, match="try again later"):
        await store.rotate(ACTOR)
    app.clock.ahead += MIN_PUBLISHED_TIME
    await store.rotate(ACTOR)
    with pytest.raises(Conflict):
        await store.rotate(ACTOR)
    assert await state(store) == ["active", "next", "retired"]


async def test_a_retired_key_counts_until_its_last_token_is_over(app: BrokerHarness, store: SigningKeyStore) -> None:
    process = Process(store)
    old = await process.signed()
    app.clock.ahead += MIN_PUBLISHED_TIME
    await store.rotate(ACTOR)
    app.clock.ahead += PUBLISHED_FOR - MINUTE
    process.now += FRESH_SECONDS
    assert await process.accepts(old)
    app.clock.ahead += MINUTE
    process.now += FRESH_SECONDS
    assert not await process.accepts(old)
    assert len(await process.published()) == 2
    assert [key.published for key in await store.list() if key.state == "retired"] == [False]


async def test_many_rotations_at_once_are_one(app: BrokerHarness, store: SigningKeyStore) -> None:
    app.clock.ahead += MIN_PUBLISHED_TIME
    ended = await asyncio.gather(*(store.rotate(ACTOR) for _ in range(5)), return_exceptions=True)
    assert [type(one) for one in ended].count(Conflict) == 4
    assert await state(store) == ["active", "next", "retired"]


async def test_keys_that_others_may_know_are_replaced_at_once(app: BrokerHarness, store: SigningKeyStore) -> None:
    signer, verifier = Process(store), Process(store)
    old = await signer.signed()
    assert await verifier.accepts(old)
    await store.replace_all(ACTOR)
    assert await state(store) == ["active", "distrusted", "distrusted", "next"]
    new = await signer.signed()  # within the minute in which it would not look at the keys by itself
    assert jose.parse_jwt(new).kid != jose.parse_jwt(old).kid
    assert await verifier.accepts(new), "an unknown id makes it look"
    assert not await verifier.accepts(old)
    assert not await signer.accepts(old)


@contextlib.asynccontextmanager
async def behind(app: BrokerHarness, proxy: PostgresProxy) -> AsyncIterator[SigningKeyStore]:
    """The keys by way of a proxy."""
    database = Database(proxy.address.as_role("mcpist_broker", PASSWORDS["mcpist_broker"]))
    await database.open()
    try:
        yield (await open_signing_keys(database, app.keys, clock=app.clock))[1]
    finally:
        await database.close()


async def test_unknown_ids_cost_one_look_a_minute(app: BrokerHarness) -> None:
    async with postgres_proxy(app.database.admin) as proxy, behind(app, proxy) as store:
        process = Process(store)
        await process.signed()
        proxy.statements.clear()
        for number in range(1_000):
            assert await process.keys.find(f"unknown-{number}") is None
        looked = [sent for sent in proxy.statements if "signing_keys" in sent.sql]
        assert len(looked) <= 1


async def test_what_was_read_goes_on_counting_while_the_database_is_away(app: BrokerHarness) -> None:
    async with postgres_proxy(app.database.admin) as proxy, behind(app, proxy) as store:
        process = Process(store)
        token = await process.signed()
        proxy.hang_up()
        process.now += FRESH_SECONDS
        assert await process.accepts(token)
        with pytest.raises(Unavailable):
            await Process(store).signed()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE auth.signing_keys SET wrapped = set_byte(wrapped, 20, get_byte(wrapped, 20) # 1)",
        "UPDATE auth.signing_keys SET wrapped = (SELECT wrapped FROM auth.signing_keys WHERE state = 'next')",
        "UPDATE auth.signing_keys SET kid = 'other' WHERE state = 'active'",
    ],
)
async def test_a_row_that_was_changed_signs_nothing(app: BrokerHarness, store: SigningKeyStore, change: str) -> None:
    await app.execute(change)
    with pytest.raises(Unavailable, match="cannot be decrypted"):
        await Process(store).signed()


async def test_a_public_key_that_somebody_has_written_there_is_not_believed(
    app: BrokerHarness, store: SigningKeyStore
) -> None:
    mine = RSAKey.generate_key(2_048)
    await app.execute("UPDATE auth.signing_keys SET public = $1", json.dumps(mine.as_dict(private=False)))
    process = Process(store)
    assert await process.accepts(await process.signed())
    kid = jose.parse_jwt(await process.signed()).kid
    assert not await process.accepts_forged(jose.sign_jwt(mine, {"typ": "at+jwt", "kid": kid}, CLAIMS, ALGORITHM))


async def test_keys_of_another_deployment_do_not_open(app: BrokerHarness, store: SigningKeyStore) -> None:
    await app.execute("UPDATE core.deployment SET id = gen_random_uuid()")
    keys, moved = await open_signing_keys(app.trusted, app.keys, clock=app.clock)
    with pytest.raises(Unavailable):
        await keys.sign("at+jwt", CLAIMS)
    (sealed, *_) = await moved.list_published()
    with pytest.raises(DecryptionError):
        await moved.unwrap_key(sealed)


async def test_the_vault_s_key_is_noted_as_needed(app: BrokerHarness, store: SigningKeyStore) -> None:
    async with app.database.admin_connection() as admin:
        assert await admin.fetchval("SELECT array_agg(kek_id) FROM vault.key_checks") == ["k1"]
    wrong = SigningKeyStore(
        app.trusted,
        InMemoryKeyProvider("k1", {"k1": b"x" * 32}),
        await app.trusted.call("SELECT id FROM core.deployment"),
        clock=app.clock,
    )
    app.clock.ahead += MIN_PUBLISHED_TIME
    with pytest.raises(Invalid, match="not the one that was used before"):
        await wrong.rotate(ACTOR)
    assert await state(store) == ["active", "next"]


async def test_no_private_key_lies_in_the_database(app: BrokerHarness, store: SigningKeyStore) -> None:
    opened = [await store.unwrap_key(sealed) for sealed in await store.list_published()]
    async with app.database.admin_connection() as admin:
        rows = await admin.fetch("SELECT wrapped, public FROM auth.signing_keys")
    for key in opened:
        secret = key.as_dict(private=True)
        for row in rows:
            assert secret["d"] not in row["public"]
            assert secret["p"] not in row["public"]
            assert key.as_der(private=True)[-64:] not in row["wrapped"]
            assert "d" not in json.loads(row["public"])


async def test_the_audit_log_tells_of_keys(app: BrokerHarness, store: SigningKeyStore) -> None:
    app.clock.ahead += MIN_PUBLISHED_TIME
    kid = await store.rotate(ACTOR)
    await store.replace_all(ACTOR)
    rotated = await app.events(DEPLOYMENT_CHAIN, "key.rotated")
    assert [(event.actor, (event.detail or {})["purpose"]) for event in rotated] == [("tests", "signing")] * 2
    assert (rotated[0].detail or {})["key"] == kid
    assert (rotated[1].detail or {})["distrusted"] == 3
    assert len(await app.events(DEPLOYMENT_CHAIN, "key.created")) == 2


async def test_another_key_s_signature_is_none(store: SigningKeyStore) -> None:
    process = Process(store)
    token = await process.signed()
    (other,) = [kid for kid in await process.published() if kid != jose.parse_jwt(token).kid]
    key = await process.keys.find(other)
    assert key is not None
    with pytest.raises(InvalidToken, match="signature"):
        jose.parse_jwt(token).verify_claims(key, {ALGORITHM})
