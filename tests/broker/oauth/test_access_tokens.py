"""Our access tokens: what one says, whom it speaks for, and every way in which one does not count
(broker-security.md §2, rows 15 to 17; §5.2)."""

import base64
import contextlib
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc.jwk import ECKey, RSAKey

from broker.direct import DirectBroker
from broker.identity.verifier import Verifiers
from broker.interface import Lease, RefusalReason, Refused
from broker.leases import Leases
from broker.oauth import jose
from broker.oauth.access_tokens import AccessTokens
from broker.oauth.signing_key_store import SigningKeyStore
from broker.oauth.signing_keys import SigningKeys, open_signing_keys
from core.caller import Credential
from core.db import Database
from core.directory.tenants import set_status as set_tenant_status
from core.directory.users import set_status
from core.secret import Secret
from core.token_format import MOST_JWT
from tests.broker.oauth.grants import CLIENT, RESOURCE, Grant, add_grant, revoke
from tests.broker.world import ACTOR, READ, TOOL_HINTS, WRITE, Person, World
from tests.support.http_broker import served_over_http
from tests.support.postgres import PASSWORDS
from tests.support.postgres_proxy import PostgresProxy, postgres_proxy

ISSUER = "https://mcp.example.com"
LIFETIME = timedelta(minutes=10)
UNKNOWN = Refused(RefusalReason.UNKNOWN)


@dataclass(slots=True)
class Rig:
    """Tokens of one deployment, a person with a grant, and the private key that signs."""

    world: World
    keys: SigningKeys
    tokens: AccessTokens
    ada: Person
    grant: Grant
    key: RSAKey
    next_key: RSAKey

    async def minted(self, grant: Grant | None = None) -> Secret:
        token, seconds = await self.tokens.mint(grant or self.grant, self.world.clock())
        assert seconds == LIFETIME.total_seconds()
        return token

    async def claims(self) -> dict[str, Any]:
        return dict(jose.read((await self.minted()).reveal()).unverified)

    def header(self, **changes: Any) -> dict[str, Any]:
        return {"alg": "RS256", "typ": "at+jwt", "kid": self.key.kid, **changes}

    async def verdict(self, token: str) -> Credential | Refused:
        return await self.tokens.verify(Secret(token))


@pytest.fixture
async def rig(world: World) -> Rig:
    keys, store = await open_signing_keys(world.trusted, world.keys, clock=world.clock)
    tokens = AccessTokens(keys, world.trusted, issuer=ISSUER, resource=RESOURCE, lifetime=LIFETIME, clock=world.clock)
    tenant = await world.tenant("acme")
    ada = await world.person(tenant, "ada@example.test")
    grant = await add_grant(world.trusted, world.clock, tenant, ada.id)
    await store.ensure()
    by_state = await private_keys(store)
    return Rig(world, keys, tokens, ada, grant, by_state["active"], by_state["next"])


async def private_keys(store: SigningKeyStore) -> dict[str, RSAKey]:
    return {sealed.state: await store.opened(sealed) for sealed in await store.published()}


def encoded(data: bytes | Mapping[str, Any]) -> str:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def signed(key: RSAKey, header: bytes | Mapping[str, Any], claims: bytes | Mapping[str, Any]) -> str:
    """A genuine RS256 signature over whatever is given, by none of the code under test."""
    said = f"{encoded(header)}.{encoded(claims)}"
    assert key.private_key is not None
    return f"{said}.{encoded(key.private_key.sign(said.encode(), PKCS1v15(), SHA256()))}"


# What one says, and whom it speaks for ---------------------------------------------------------------------------


async def test_a_token_says_what_rfc_9068_asks_for(rig: Rig) -> None:
    jwt = jose.read((await rig.minted()).reveal())
    assert jwt.header == rig.header()
    claims = dict(jwt.unverified)
    assert claims.pop("exp") - claims.pop("iat") == 600
    assert len(claims.pop("jti")) >= 22
    assert claims == {
        "iss": ISSUER,
        "aud": RESOURCE,
        "sub": str(rig.ada.id),
        "tid": str(rig.ada.tenant_id),
        "gid": str(rig.grant.id),
        "client_id": CLIENT,
        "scope": "mcp:read mcp:write",
    }
    assert len({(await rig.claims())["jti"] for _ in range(20)}) == 20


async def test_whom_it_speaks_for(rig: Rig) -> None:
    verdict = await rig.tokens.verify(await rig.minted())
    assert isinstance(verdict, Credential)
    assert (verdict.kind, verdict.id) == ("oauth", str(rig.grant.id))
    assert (verdict.tenant_id, verdict.user_id) == (rig.ada.tenant_id, rig.ada.id)
    assert (verdict.scopes, verdict.client) == ({"mcp:read", "mcp:write"}, "Example client")
    assert verdict.generation == await rig.world.generation(rig.ada.tenant_id)
    assert verdict.expires_at is not None
    assert timedelta(minutes=9) < verdict.expires_at - rig.world.clock() <= LIFETIME


async def test_verifying_changes_nothing(rig: Rig) -> None:
    before = await rig.world.generation(rig.ada.tenant_id)
    await rig.tokens.verify(await rig.minted())
    assert await rig.world.generation(rig.ada.tenant_id) == before


async def test_a_narrowed_token_does_less_than_its_grant_and_no_token_does_more(rig: Rig) -> None:
    assert await scopes_of(rig, "mcp:read") == {"mcp:read"}
    assert await scopes_of(rig, "mcp:read", "admin:read") == {"mcp:read"}, "not in the grant"
    assert await scopes_of(rig) == set()


async def scopes_of(rig: Rig, *scopes: str) -> frozenset[str]:
    verdict = await rig.tokens.verify(await rig.minted(rig.grant.with_scopes(*scopes)))
    assert isinstance(verdict, Credential)
    return verdict.scopes


async def test_what_administers_ends_with_the_role(rig: Rig) -> None:
    rig.grant = await add_grant(rig.world.trusted, rig.world.clock, rig.ada.tenant_id, rig.ada.id, "admin:write")
    assert await scopes_of(rig, "admin:write") == set()
    await rig.world.execute("UPDATE core.users SET system_role = 'admin'")
    assert await scopes_of(rig, "admin:write") == {"admin:write"}


# What ends it ----------------------------------------------------------------------------------------------------


async def reason(rig: Rig, token: Secret) -> RefusalReason:
    verdict = await rig.tokens.verify(token)
    assert isinstance(verdict, Refused)
    assert (verdict.tenant_id, verdict.user_id) == (rig.ada.tenant_id, rig.ada.id)
    assert verdict.credential_id == str(rig.grant.id)
    return verdict.reason


async def test_it_ends_in_its_second(rig: Rig) -> None:
    token = await rig.minted()
    rig.world.clock.ahead = LIFETIME - timedelta(seconds=2)
    assert isinstance(await rig.tokens.verify(token), Credential)
    rig.world.clock.ahead = LIFETIME
    assert await reason(rig, token) is RefusalReason.EXPIRED


async def test_a_revoked_grant(rig: Rig) -> None:
    token = await rig.minted()
    await revoke(rig.world.trusted, rig.world.clock, rig.grant)
    assert await reason(rig, token) is RefusalReason.REVOKED


async def test_a_grant_that_is_over(rig: Rig) -> None:
    rig.grant = await add_grant(rig.world.trusted, rig.world.clock, rig.ada.tenant_id, rig.ada.id, days=1)
    rig.world.clock.ahead = timedelta(days=1)
    assert await reason(rig, await rig.minted()) is RefusalReason.EXPIRED


async def test_a_suspended_user_and_tenant(rig: Rig) -> None:
    token = await rig.minted()
    await set_status(rig.world.console, ACTOR, rig.ada.tenant_id, rig.ada.email, "suspended")
    assert await reason(rig, token) is RefusalReason.USER_SUSPENDED
    await set_tenant_status(rig.world.console, ACTOR, rig.ada.tenant_id, "suspended")
    assert await reason(rig, token) is RefusalReason.TENANT_SUSPENDED


async def test_a_grant_a_user_a_tenant_that_is_gone(rig: Rig) -> None:
    token = await rig.minted()
    gone = Refused(RefusalReason.REVOKED)
    assert await rig.verdict((await rig.minted(replace(rig.grant, id=uuid4()))).reveal()) == gone
    await rig.world.execute("DELETE FROM core.tenants")
    assert await rig.tokens.verify(token) == gone


@pytest.mark.parametrize("foreign", ["tenant_id", "user_id", "client_id"])
async def test_what_a_token_says_and_its_grant_does_not_is_refused(rig: Rig, foreign: str) -> None:
    """Nobody but us can sign such a token; if we ever do by mistake, it opens nothing."""
    bob = await rig.world.person(await rig.world.tenant("evil"), "bob@example.test")
    value: Any = {"tenant_id": bob.tenant_id, "user_id": bob.id, "client_id": "another"}[foreign]
    changed = replace(rig.grant, **{foreign: value})
    assert await rig.tokens.verify(await rig.minted(changed)) == Refused(RefusalReason.REVOKED)


# The table: none of these counts, though each but the marked ones is signed by our own key -----------------------

CLAIMS: dict[str, Mapping[str, Any]] = {
    "another issuer": {"iss": "https://evil.example.com"},
    "issuer with a slash": {"iss": ISSUER + "/"},
    "no issuer": {"iss": None},
    "issuer as a list": {"iss": [ISSUER]},
    "another resource": {"aud": "https://other.example.com/mcp"},
    "a list of audiences": {"aud": [RESOURCE]},
    "a list with others": {"aud": [RESOURCE, "https://other.example.com/mcp"]},
    "a trailing slash": {"aud": RESOURCE + "/"},
    "an upper-case host": {"aud": "https://MCP.example.com/mcp"},
    "an upper-case path": {"aud": "https://mcp.example.com/MCP"},
    "the origin only": {"aud": ISSUER},
    "no audience": {"aud": None},
    "an empty audience": {"aud": ""},
    "no expiry": {"exp": None},
    "expiry as a text": {"exp": "9999999999"},
    "expiry as true": {"exp": True},
    "an endless expiry": {"exp": 10**30},
    "a negative expiry": {"exp": -1},
    "no beginning": {"iat": None},
    "from the future": {"iat": 9_999_999_999},
    "no subject": {"sub": None},
    "a subject that is no id": {"sub": "ada@example.test"},
    "subject as a list": {"sub": ["x"]},
    "no jti": {"jti": None},
    "an empty jti": {"jti": ""},
    "a huge jti": {"jti": "x" * 200},
    "no tenant": {"tid": None},
    "a tenant that is no id": {"tid": "acme"},
    "no grant": {"gid": None},
    "a grant that is no id": {"gid": "1 OR 1=1"},
    "no client": {"client_id": None},
    "no scope": {"scope": None},
    "scope as a list": {"scope": ["mcp:read"]},
}


async def test_claims_that_do_not_count(rig: Rig) -> None:
    whole, verdicts = await rig.claims(), {}
    for name, changes in CLAIMS.items():
        claims = {**whole, **changes}
        verdicts[name] = await rig.verdict(signed(rig.key, rig.header(), without_none(claims)))
        verdicts[f"{name}, null"] = await rig.verdict(signed(rig.key, rig.header(), claims))
    assert verdicts == dict.fromkeys(verdicts, UNKNOWN)


def without_none(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


HEADERS: dict[str, Mapping[str, Any]] = {
    "typ JWT": {"typ": "JWT"},
    "no typ": {"typ": None},
    "the long typ": {"typ": "application/at+jwt"},
    "typ of an ID-JAG": {"typ": "oauth-id-jag+jwt"},
    "upper-case typ": {"typ": "AT+JWT"},
    "typ as a list": {"typ": ["at+jwt"]},
    "no kid": {"kid": None},
    "an unknown kid": {"kid": "unknown"},
    "kid as a number": {"kid": 1},
    "kid as a path": {"kid": "../../../dev/null"},
    "kid as SQL": {"kid": "' UNION SELECT 1 --"},
    "jku": {"jku": "https://evil.example.com/jwks"},
    "jwk": {"jwk": {"kty": "RSA", "n": "AQAB", "e": "AQAB"}},
    "x5u": {"x5u": "https://evil.example.com/cert"},
    "x5c": {"x5c": ["MIIB"]},
    "crit": {"crit": ["exp"]},
    "b64": {"b64": False, "crit": ["b64"]},
    "zip": {"zip": "DEF"},
    "cty": {"cty": "JWT"},
    "anything else": {"x": 1},
    "a header of 600 bytes": {"x": "y" * 600},
    "alg none": {"alg": "none"},
    "alg NONE": {"alg": "NONE"},
    "alg HS256": {"alg": "HS256"},
    "alg RS512": {"alg": "RS512"},
    "alg PS256": {"alg": "PS256"},
    "alg ES256": {"alg": "ES256"},
    "alg as a list": {"alg": ["RS256"]},
    "no alg": {"alg": None},
}


async def test_headers_that_do_not_count(rig: Rig) -> None:
    claims = await rig.claims()
    verdicts = {
        name: await rig.verdict(signed(rig.key, without_none(rig.header(**changes)), claims))
        for name, changes in HEADERS.items()
    }
    assert verdicts == dict.fromkeys(HEADERS, UNKNOWN)


Forger = Callable[[Rig, dict[str, Any]], str]


def _unsigned(rig: Rig, claims: dict[str, Any]) -> str:
    return f"{encoded({'alg': 'none', 'typ': 'at+jwt'})}.{encoded(claims)}."


def _unsigned_with_kid(rig: Rig, claims: dict[str, Any]) -> str:
    return f"{encoded(rig.header(alg='none'))}.{encoded(claims)}.{encoded(b'x')}"


def _by_the_public_pem(rig: Rig, claims: dict[str, Any]) -> str:
    pem = rig.key.public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    said = f"{encoded(rig.header(alg='HS256'))}.{encoded(claims)}"
    return f"{said}.{encoded(hmac.digest(pem, said.encode(), hashlib.sha256))}"


def _by_the_public_jwk(rig: Rig, claims: dict[str, Any]) -> str:
    jwk = json.dumps(rig.key.as_dict(private=False)).encode()
    said = f"{encoded(rig.header(alg='HS256'))}.{encoded(claims)}"
    return f"{said}.{encoded(hmac.digest(jwk, said.encode(), hashlib.sha256))}"


def _by_another_key(rig: Rig, claims: dict[str, Any]) -> str:
    return signed(RSAKey.generate_key(2_048), rig.header(), claims)


def _by_the_next_key_in_this_one_s_name(rig: Rig, claims: dict[str, Any]) -> str:
    return signed(rig.next_key, rig.header(), claims)


def _by_another_kind_of_key(rig: Rig, claims: dict[str, Any]) -> str:
    return jose.sign(ECKey.generate_key("P-256"), {"typ": "at+jwt", "kid": rig.key.kid}, claims, "ES256")


def _with_other_claims(rig: Rig, claims: dict[str, Any]) -> str:
    header, _, signature = signed(rig.key, rig.header(), claims).split(".")
    return f"{header}.{encoded({**claims, 'scope': 'mcp:read'})}.{signature}"


def _with_other_spelling(rig: Rig, claims: dict[str, Any]) -> str:
    """The same bytes after decoding, another text: the last digit of base64 has bits that nobody reads."""
    token = signed(rig.key, rig.header(), claims)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return token[:-1] + alphabet[alphabet.index(token[-1]) ^ 1]


def _cut(rig: Rig, claims: dict[str, Any]) -> str:
    return signed(rig.key, rig.header(), claims)[:-4]


def _with_double_claims(rig: Rig, claims: dict[str, Any]) -> str:
    doubled = json.dumps(claims)[:-1] + f', "sub": "{uuid4()}"}}'
    return signed(rig.key, rig.header(), doubled.encode())


def _with_double_claims_alike(rig: Rig, claims: dict[str, Any]) -> str:
    doubled = json.dumps(claims)[:-1] + f', "sub": "{claims["sub"]}"}}'
    return signed(rig.key, rig.header(), doubled.encode())


def _with_double_headers(rig: Rig, claims: dict[str, Any]) -> str:
    doubled = json.dumps(rig.header())[:-1] + ', "alg": "RS256"}'
    return signed(rig.key, doubled.encode(), claims)


def _of_no_object(rig: Rig, claims: dict[str, Any]) -> str:
    return signed(rig.key, rig.header(), json.dumps([claims]).encode())


def _of_no_json(rig: Rig, _claims: dict[str, Any]) -> str:
    return signed(rig.key, rig.header(), b"\xff\x00")


def _of_no_number(rig: Rig, claims: dict[str, Any]) -> str:
    return signed(rig.key, rig.header(), json.dumps({**claims, "exp": float("nan")}).encode())


def _nested(rig: Rig, _claims: dict[str, Any]) -> str:
    return signed(rig.key, rig.header(), b"[" * 5_000)


def _of_129_kilobytes(rig: Rig, claims: dict[str, Any]) -> str:
    return signed(rig.key, rig.header(), {**claims, "x": "y" * 96_000})


def _of_nine_kilobytes(rig: Rig, claims: dict[str, Any]) -> str:
    return signed(rig.key, rig.header(), {**claims, "x": "y" * 6_500})


def _an_id_token(rig: Rig, claims: dict[str, Any]) -> str:
    said = {"iss": ISSUER, "sub": claims["sub"], "aud": CLIENT, "exp": claims["exp"], "iat": claims["iat"]}
    return signed(rig.key, rig.header(typ="JWT"), {**said, "nonce": "n"})


def _an_id_token_dressed_up(rig: Rig, claims: dict[str, Any]) -> str:
    return signed(rig.key, rig.header(), {**claims, "aud": CLIENT})


def _encrypted(_rig: Rig, _claims: dict[str, Any]) -> str:
    return f"{encoded({'alg': 'RSA-OAEP', 'enc': 'A256GCM'})}.a.b.c.d"


FORGERS = (
    _unsigned, _unsigned_with_kid, _by_the_public_pem, _by_the_public_jwk, _by_another_key,
    _by_the_next_key_in_this_one_s_name, _by_another_kind_of_key, _with_other_claims, _with_other_spelling, _cut,
    _with_double_claims, _with_double_claims_alike, _with_double_headers, _of_no_object, _of_no_json, _of_no_number,
    _nested, _of_129_kilobytes, _of_nine_kilobytes, _an_id_token, _an_id_token_dressed_up, _encrypted,
)  # fmt: skip


async def test_forged_tokens(rig: Rig) -> None:
    claims = await rig.claims()
    assert isinstance(await rig.verdict(signed(rig.key, rig.header(), claims)), Credential), "the untouched one counts"
    verdicts = {forge.__name__: await rig.verdict(forge(rig, claims)) for forge in FORGERS}
    wrong = {name: verdict for name, verdict in verdicts.items() if verdict != UNKNOWN}
    assert set(wrong.values()) == {Refused(RefusalReason.WRONG_SECRET)}
    assert set(wrong) == {
        "_by_another_key", "_by_the_next_key_in_this_one_s_name", "_with_other_claims", "_with_other_spelling", "_cut",
    }  # fmt: skip


@contextlib.asynccontextmanager
async def watched(rig: Rig) -> AsyncIterator[tuple[AccessTokens, PostgresProxy]]:
    """The same tokens by way of a proxy that notes each statement; the keys have been read."""
    async with postgres_proxy(rig.world.database.admin) as proxy:
        database = Database(proxy.address.as_role("mcpist_broker", PASSWORDS["mcpist_broker"]))
        await database.open()
        keys, _ = await open_signing_keys(database, rig.world.keys, clock=rig.world.clock)
        tokens = AccessTokens(
            keys, database, issuer=ISSUER, resource=RESOURCE, lifetime=LIFETIME, clock=rig.world.clock
        )
        assert isinstance(await tokens.verify(await rig.minted()), Credential)
        proxy.statements.clear()
        yield tokens, proxy
        await database.close()


async def test_a_genuine_token_costs_one_statement(rig: Rig) -> None:
    async with watched(rig) as (tokens, proxy):
        assert isinstance(await tokens.verify(await rig.minted()), Credential)
        asked = [sent.sql for sent in proxy.statements if not sent.sql.startswith(("BEGIN", "SELECT set_", "COMMIT"))]
        assert len(asked) == 1
        assert "FROM auth.grants" in asked[0]


async def test_a_key_that_others_may_know_counts_no_more_where_it_is_still_known(rig: Rig) -> None:
    before = await rig.minted()
    async with watched(rig) as (tokens, _):  # it has just read the keys
        assert isinstance(await tokens.verify(before), Credential)
        _, store = await open_signing_keys(rig.world.trusted, rig.world.keys, clock=rig.world.clock)
        await store.replace_all(ACTOR)
        assert await tokens.verify(before) == UNKNOWN
        assert await tokens.verify(before) == UNKNOWN
        assert isinstance(await tokens.verify(await rig.minted()), Credential)


async def test_forged_tokens_cost_no_statement(rig: Rig) -> None:
    """But for one look at the keys, when the first unknown key id comes."""
    claims = await rig.claims()
    async with watched(rig) as (tokens, proxy):
        for forge in FORGERS:
            await tokens.verify(Secret(forge(rig, claims)))
        assert proxy.statements == []


async def test_a_thousand_unknown_key_ids_cost_one_look(rig: Rig) -> None:
    claims = await rig.claims()
    rest = signed(rig.key, rig.header(), claims).partition(".")[2]
    async with watched(rig) as (tokens, proxy):
        for number in range(1_000):
            forged = f"{encoded(rig.header(kid=f'unknown-{number}'))}.{rest}"
            assert await tokens.verify(Secret(forged)) == UNKNOWN
        assert len([sent for sent in proxy.statements if "signing_keys" in sent.sql]) == 1
        assert not [sent for sent in proxy.statements if "auth.grants" in sent.sql]


# Who verifies what -----------------------------------------------------------------------------------------------


class Recorder:
    """Counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def verify(self, token: Secret) -> Credential | Refused:
        self.asked.append(token.reveal())
        return UNKNOWN


async def test_the_form_of_a_credential_tells_who_verifies_it() -> None:
    api, jwts = Recorder(), Recorder()
    verifiers = Verifiers(api, jwts)
    for text in ("a.b.c", "mcpist_x", "", "a.b", "a.b.c.d", "a." * 5_000 + "c"):
        assert await verifiers.verify(Secret(text)) == UNKNOWN
    assert jwts.asked == ["a.b.c"]
    assert len(api.asked) == 5
    assert await Verifiers(api).verify(Secret("a.b.c")) == UNKNOWN
    assert len(api.asked) == 5


async def test_leases_in_the_name_of_an_access_token(rig: Rig) -> None:
    world, ada = rig.world, rig.ada
    await world.role(ada.tenant_id, "all", allow=["github.*"])
    await world.join(ada, "all")
    await world.put(ada.tenant_id, ada.own, "own-of-ada")
    leases = Leases(Verifiers(world.tokens, rig.tokens), world.trusted, world.vault, TOOL_HINTS, clock=world.clock)
    reading = replace(ada, token=await rig.minted(rig.grant.with_scopes("mcp:read")))
    lease = await leases.lease(reading.asks(READ))
    assert isinstance(lease, Lease)
    assert lease.access_token == Secret("own-of-ada")
    forbidden = Refused(RefusalReason.FORBIDDEN, ada.tenant_id, ada.id, str(rig.grant.id))
    assert await leases.lease(reading.asks(WRITE)) == forbidden, "the broker asks for the scope too"
    assert isinstance(await leases.lease(replace(ada, token=await rig.minted()).asks(WRITE)), Lease)
    status = await leases.status(reading.token)
    assert not isinstance(status, Refused)
    assert status["github"].account == ""
    await revoke(world.trusted, world.clock, rig.grant)
    assert await leases.lease(reading.asks(READ)) == replace(forbidden, reason=RefusalReason.REVOKED)


async def test_the_longest_token_travels_to_a_broker_that_is_a_process_of_its_own(tmp_path: Path) -> None:
    jwts = Recorder()
    broker = DirectBroker(Verifiers(Recorder(), jwts), cast("Leases", None))
    longest = "a.b." + "c" * (MOST_JWT - 4)
    async with served_over_http(broker, tmp_path) as served:
        assert await served.client.verify(Secret(longest)) == UNKNOWN
    assert jwts.asked == [longest]


async def test_the_grant_of_a_token_is_known_after_its_end_too(rig: Rig) -> None:
    token = await rig.minted()
    rig.world.clock.ahead = timedelta(days=1)
    assert await rig.tokens.grant_of(token) == (rig.grant.tenant_id, rig.grant.id)
    claims = await rig.claims()
    assert await rig.tokens.grant_of(Secret(_by_another_key(rig, claims))) is None
    assert await rig.tokens.grant_of(Secret("nonsense")) is None
