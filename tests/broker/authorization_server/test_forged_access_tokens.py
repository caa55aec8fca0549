"""Every way in which an access token does not count, and what refusing it costs
(threat-model.md §2, rows 15 to 17; §5.2)."""

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc.jwk import ECKey, RSAKey

from broker.authorization_server import jose
from broker.interface import CredentialRefusal, RefusalReason
from core.caller import Credential
from core.secret import Secret
from tests.broker.authorization_server.access_token_app import (
    ISSUER,
    UNKNOWN,
    AccessTokenApp,
    app_on,
    encoded,
    signed,
    watched,
)
from tests.broker.authorization_server.grants import CLIENT, RESOURCE
from tests.broker.broker_harness import BrokerHarness


@pytest.fixture
async def app(app: BrokerHarness) -> AccessTokenApp:
    return await app_on(app)


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


@pytest.mark.guarantee("G13")
async def test_claims_that_do_not_count(app: AccessTokenApp) -> None:
    whole, verdicts = await app.claims(), {}
    for name, changes in CLAIMS.items():
        claims = {**whole, **changes}
        verdicts[name] = await app.verdict(signed(app.key, app.header(), without_none(claims)))
        verdicts[f"{name}, null"] = await app.verdict(signed(app.key, app.header(), claims))
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


async def test_headers_that_do_not_count(app: AccessTokenApp) -> None:
    claims = await app.claims()
    verdicts = {
        name: await app.verdict(signed(app.key, without_none(app.header(**changes)), claims))
        for name, changes in HEADERS.items()
    }
    assert verdicts == dict.fromkeys(HEADERS, UNKNOWN)


Forger = Callable[[AccessTokenApp, dict[str, Any]], str]


def _unsigned(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    return f"{encoded({'alg': 'none', 'typ': 'at+jwt'})}.{encoded(claims)}."


def _unsigned_with_kid(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    return f"{encoded(app.header(alg='none'))}.{encoded(claims)}.{encoded(b'x')}"


def _by_the_public_pem(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    pem = app.key.public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    said = f"{encoded(app.header(alg='HS256'))}.{encoded(claims)}"
    return f"{said}.{encoded(hmac.digest(pem, said.encode(), hashlib.sha256))}"


def _by_the_public_jwk(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    jwk = json.dumps(app.key.as_dict(private=False)).encode()
    said = f"{encoded(app.header(alg='HS256'))}.{encoded(claims)}"
    return f"{said}.{encoded(hmac.digest(jwk, said.encode(), hashlib.sha256))}"


def _by_another_key(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    return signed(RSAKey.generate_key(2_048), app.header(), claims)


def _by_the_next_key_in_this_one_s_name(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    return signed(app.next_key, app.header(), claims)


def _by_another_kind_of_key(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    return jose.sign_jwt(ECKey.generate_key("P-256"), {"typ": "at+jwt", "kid": app.key.kid}, claims, "ES256")


def _with_other_claims(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    header, _, signature = signed(app.key, app.header(), claims).split(".")
    return f"{header}.{encoded({**claims, 'scope': 'mcp:read'})}.{signature}"


def _with_other_spelling(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    """The same bytes after decoding, another text: the last digit of base64 has bits that nobody reads."""
    token = signed(app.key, app.header(), claims)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return token[:-1] + alphabet[alphabet.index(token[-1]) ^ 1]


def _cut(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    return signed(app.key, app.header(), claims)[:-4]


def _with_double_claims(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    doubled = json.dumps(claims)[:-1] + f', "sub": "{uuid4()}"}}'
    return signed(app.key, app.header(), doubled.encode())


def _with_double_claims_alike(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    doubled = json.dumps(claims)[:-1] + f', "sub": "{claims["sub"]}"}}'
    return signed(app.key, app.header(), doubled.encode())


def _with_double_headers(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    doubled = json.dumps(app.header())[:-1] + ', "alg": "RS256"}'
    return signed(app.key, doubled.encode(), claims)


def _of_no_object(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    return signed(app.key, app.header(), json.dumps([claims]).encode())


def _of_no_json(app: AccessTokenApp, _claims: dict[str, Any]) -> str:
    return signed(app.key, app.header(), b"\xff\x00")


def _of_no_number(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    return signed(app.key, app.header(), json.dumps({**claims, "exp": float("nan")}).encode())


def _nested(app: AccessTokenApp, _claims: dict[str, Any]) -> str:
    return signed(app.key, app.header(), b"[" * 5_000)


def _of_129_kilobytes(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    return signed(app.key, app.header(), {**claims, "x": "y" * 96_000})


def _of_nine_kilobytes(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    return signed(app.key, app.header(), {**claims, "x": "y" * 6_500})


def _an_id_token(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    said = {"iss": ISSUER, "sub": claims["sub"], "aud": CLIENT, "exp": claims["exp"], "iat": claims["iat"]}
    return signed(app.key, app.header(typ="JWT"), {**said, "nonce": "n"})


def _an_id_token_dressed_up(app: AccessTokenApp, claims: dict[str, Any]) -> str:
    return signed(app.key, app.header(), {**claims, "aud": CLIENT})


def _encrypted(_rig: AccessTokenApp, _claims: dict[str, Any]) -> str:
    return f"{encoded({'alg': 'RSA-OAEP', 'enc': 'A256GCM'})}.a.b.c.d"


FORGERS = (
    _unsigned, _unsigned_with_kid, _by_the_public_pem, _by_the_public_jwk, _by_another_key,
    _by_the_next_key_in_this_one_s_name, _by_another_kind_of_key, _with_other_claims, _with_other_spelling, _cut,
    _with_double_claims, _with_double_claims_alike, _with_double_headers, _of_no_object, _of_no_json, _of_no_number,
    _nested, _of_129_kilobytes, _of_nine_kilobytes, _an_id_token, _an_id_token_dressed_up, _encrypted,
)  # fmt: skip


@pytest.mark.guarantee("G13")
async def test_forged_tokens(app: AccessTokenApp) -> None:
    claims = await app.claims()
    assert isinstance(await app.verdict(signed(app.key, app.header(), claims)), Credential), "the untouched one counts"
    verdicts = {forge.__name__: await app.verdict(forge(app, claims)) for forge in FORGERS}
    wrong = {name: verdict for name, verdict in verdicts.items() if verdict != UNKNOWN}
    assert set(wrong.values()) == {CredentialRefusal(RefusalReason.WRONG_SECRET)}
    assert set(wrong) == {
        "_by_another_key", "_by_the_next_key_in_this_one_s_name", "_with_other_claims", "_with_other_spelling", "_cut",
    }  # fmt: skip


async def test_forged_tokens_cost_no_statement(app: AccessTokenApp) -> None:
    """But for one look at the keys, when the first unknown key id comes."""
    claims = await app.claims()
    async with watched(app) as (tokens, proxy):
        for forge in FORGERS:
            await tokens.verify(Secret(forge(app, claims)))
        assert proxy.statements == []


async def test_a_thousand_unknown_key_ids_cost_one_look(app: AccessTokenApp) -> None:
    claims = await app.claims()
    rest = signed(app.key, app.header(), claims).partition(".")[2]
    async with watched(app) as (tokens, proxy):
        for number in range(1_000):
            forged = f"{encoded(app.header(kid=f'unknown-{number}'))}.{rest}"
            assert await tokens.verify(Secret(forged)) == UNKNOWN
        assert len([sent for sent in proxy.statements if "signing_keys" in sent.sql]) == 1
        assert not [sent for sent in proxy.statements if "auth.grants" in sent.sql]
