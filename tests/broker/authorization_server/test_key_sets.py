"""Somebody else's keys: what is taken from a set, and how seldom it is fetched."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from broker.authorization_server.jwks_cache import (
    FRESH_SECONDS,
    MAX_REMOTE_KEYS,
    MAX_STALE_SECONDS,
    MAX_UNCHECKED_SECONDS,
    MIN_FETCH_INTERVAL_SECONDS,
    RemoteKeySet,
    parse_jwks,
)
from core.errors import Unavailable


def made(kid: str, kind: Any = ECKey, size: Any = "P-256") -> dict[str, Any]:
    return {**kind.generate_key(size).as_dict(private=False), "kid": kid}


def document(*keys: Any) -> bytes:
    return json.dumps({"keys": keys}).encode()


@dataclass
class Server:
    """Says what the test has it say, and counts."""

    body: bytes = b""
    asked: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    now: float = 1_000.0

    async def fetch(self, _url: str) -> bytes:
        self.asked += 1
        await self.gate.wait()
        if not self.body:
            raise ConnectionRefusedError
        return self.body


@pytest.fixture
def server() -> Server:
    server = Server(document(made("a"), made("b")))
    server.gate.set()
    return server


@pytest.fixture
def keys(server: Server) -> RemoteKeySet:
    return RemoteKeySet("https://as.example.com/jwks", server.fetch, clock=lambda: server.now)


async def test_known_ids_cost_one_fetch(server: Server, keys: RemoteKeySet) -> None:
    found = [await keys.find(kid) for kid in ("a", "b", "a")]
    assert found[0] is found[2] is not None
    assert server.asked == 1


async def test_a_thousand_unknown_ids_cost_one_fetch_a_minute(server: Server, keys: RemoteKeySet) -> None:
    await keys.find("a")
    server.now += MIN_FETCH_INTERVAL_SECONDS
    assert not any([await keys.find(f"unknown-{number}") for number in range(1_000)])
    assert server.asked == 2
    server.body = document(made("new"))
    assert await keys.find("new") is None
    server.now += MIN_FETCH_INTERVAL_SECONDS
    assert await keys.find("new") is not None
    assert await keys.find("a") is None, "a key that the server has taken back"
    assert server.asked == 3


async def test_a_thousand_at_once_cost_one_fetch(server: Server, keys: RemoteKeySet) -> None:
    server.gate.clear()
    waiting = [asyncio.create_task(keys.find(f"unknown-{number}")) for number in range(1_000)]
    await asyncio.sleep(0)
    waiting[0].cancel()  # who asked first goes away: the others do not
    server.gate.set()
    assert not any(await asyncio.gather(*waiting[1:]))
    assert server.asked == 1


async def test_while_the_server_is_away_known_keys_count(server: Server, keys: RemoteKeySet) -> None:
    known = await keys.find("a")
    server.body = b""
    server.now += FRESH_SECONDS
    server.gate.clear()
    assert await keys.find("a") is known, "it does not wait for the fetch"
    server.gate.set()
    assert await keys.find("unknown") is None
    assert await keys.find("a") is known
    assert server.asked == 2


async def test_a_set_that_was_never_fetched_is_an_outage_and_no_refusal(server: Server, keys: RemoteKeySet) -> None:
    server.body = b""
    for _ in range(10):
        with pytest.raises(Unavailable):
            await keys.find("a")
    assert server.asked == 1
    server.body, server.now = document(made("a")), server.now + MIN_FETCH_INTERVAL_SECONDS
    assert await keys.find("a") is not None


async def test_a_set_is_renewed_now_and_then(server: Server, keys: RemoteKeySet) -> None:
    before = await keys.find("a")
    server.body = document(made("a"))
    server.now += FRESH_SECONDS
    await keys.find("a")
    await keys.find("wait for the fetch")
    assert await keys.find("a") is not before
    assert server.asked == 2


async def test_a_key_that_was_withdrawn_is_noticed_after_an_hour(server: Server, keys: RemoteKeySet) -> None:
    await keys.find("a")
    server.body = document(made("b"))
    server.now += MAX_UNCHECKED_SECONDS
    assert await keys.find("a") is None
    assert server.asked == 2


async def test_a_set_counts_for_a_day_while_its_server_is_away(server: Server, keys: RemoteKeySet) -> None:
    known = await keys.find("a")
    server.body = b""
    server.now += MAX_STALE_SECONDS - 1
    assert await keys.find("a") is known
    server.now += 1
    with pytest.raises(Unavailable):
        await keys.find("a")


def test_what_is_taken_from_a_set() -> None:
    listed = [
        made("ec"),
        made("rsa", RSAKey, 2048),
        made("okp", OKPKey, "Ed25519"),
        {**made("x25519", OKPKey, "X25519"), "use": "enc"},
        {**OctKey.generate_key(256).as_dict(private=True), "kid": "symmetric"},
        {**made("x"), "kid": ""},
        {name: value for name, value in made("x").items() if name != "kid"},
        {"kty": "RSA", "kid": "short", "n": "AQAB", "e": "AQAB"},
        {"kty": "RSA", "kid": "huge", "n": "f" * 100_000, "e": "AQAB"},
        {"kty": "RSA", "kid": "number", "n": 7, "e": "AQAB"},
        {"kty": "EC", "kid": "nowhere", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "ML-DSA", "kid": "new"},
        {"kty": ["RSA"], "kid": "list"},
        "no object",
        None,
    ]
    found = parse_jwks(document(*listed))
    assert set(found.by_id) == {"ec", "rsa", "okp"}
    assert [key.kid for key in found.unnamed] == [None], "it is tried where a token names no key"


def test_a_private_key_that_stands_there_by_mistake_is_taken_as_a_public_one() -> None:
    private = {**ECKey.generate_key("P-256").as_dict(private=True), "kid": "a"}
    assert not parse_jwks(document(private)).by_id["a"].is_private


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"keys": {}}',
        b"\xff",
        b'{"keys": ' + b"[" * 100_000,
        b'{"keys": []}' + b" " * 300_000,
        document(*[{"kty": "none"}] * (MAX_REMOTE_KEYS + 1)),
        document(made("a"), made("a")),
    ],
)
def test_what_is_no_usable_set(body: bytes) -> None:
    with pytest.raises(ValueError):
        parse_jwks(body)
