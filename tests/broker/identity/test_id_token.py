"""ID tokens: what one has to be, and everything that it must not."""

import json
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import ECKey, OctKey, RSAKey

from broker.authorization_server.jwks_cache import RemoteKeySet
from broker.identity.providers import id_token
from broker.identity.providers.identity_provider import SignInFailed
from broker.identity.providers.provider_metadata import read_metadata
from core.http.json_documents import DocumentUnavailable

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
ISSUER, CLIENT, NONCE = "https://idp.test", "mcpist", "n" * 43
RSA = RSAKey.generate_key(2048, {"kid": "rsa"}, auto_kid=False)
OTHER = RSAKey.generate_key(2048, {"kid": "rsa"}, auto_kid=False)
EC = ECKey.generate_key("P-256", {"kid": "ec"}, auto_kid=False)
EXPECTED = id_token.ExpectedClaims(ISSUER, CLIENT, NONCE, frozenset({"RS256", "ES256"}))
FRESH = int(NOW.timestamp())
CLAIMS: dict[str, Any] = {
    "iss": ISSUER,
    "aud": CLIENT,
    "sub": "1",
    "nonce": NONCE,
    "iat": FRESH - 1,
    "exp": FRESH + 300,
    "email": "ada@acme.test",
}


def signed(claims: dict[str, Any], key: Any = RSA, **header: Any) -> str:
    said = {"alg": "RS256", "kid": "rsa", **header}
    said = {name: value for name, value in said.items() if value is not None}
    registry = jws.JWSRegistry(algorithms=[said["alg"]], strict_check_header=False)
    return jws.serialize_compact(said, json.dumps(claims), key, registry=registry)


def raw(header: dict[str, Any], claims: dict[str, Any], signature: str = "") -> str:
    parts = (urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in (header, claims))
    return ".".join([*parts, signature])


def keys(*published: Any) -> RemoteKeySet:
    async def fetch(_url: str) -> bytes:
        return json.dumps({"keys": [one.as_dict(private=False) for one in published or (RSA, EC)]}).encode()

    return RemoteKeySet(f"{ISSUER}/jwks", fetch, clock=NOW.timestamp)


async def verified(token: object, published: RemoteKeySet | None = None) -> Any:
    return await id_token.verify_id_token(token, EXPECTED, published or keys(), NOW.timestamp())


@pytest.mark.parametrize(
    "token",
    [
        signed(CLAIMS),
        signed(CLAIMS, kid=None),
        signed(CLAIMS, typ="JWT"),
        signed(CLAIMS, EC, alg="ES256", kid="ec"),
        signed({**CLAIMS, "aud": [CLIENT]}),
        signed({**CLAIMS, "aud": ["other", CLIENT], "azp": CLIENT}),
        signed({**CLAIMS, "iat": FRESH + 59}),
    ],
)
async def test_what_counts(token: str) -> None:
    assert (await verified(token))["sub"] == "1"


WITHOUT = [{name: value for name, value in CLAIMS.items() if name != left_out} for left_out in CLAIMS]
FORGED: dict[str, object] = {
    "no token": None,
    "a number": 5,
    "empty": "",
    "no signature": raw({"alg": "none"}, CLAIMS),
    "none, capital": raw({"alg": "None", "kid": "rsa"}, CLAIMS, "AAAA"),
    "signature of another": signed(CLAIMS, OTHER),
    "unsigned part changed": signed(CLAIMS)[:-8] + "AAAAAAAA",
    "hmac with the public key": signed(CLAIMS, OctKey.import_key("secret" * 8), alg="HS256"),
    "algorithm that the metadata does not name": signed(CLAIMS, alg="PS256"),
    "unknown key": signed(CLAIMS, OTHER, kid="who"),
    "key in the header": signed(CLAIMS, OTHER, jwk=OTHER.as_dict(private=False)),
    "key by URL": signed(CLAIMS, OTHER, jku="https://evil.test/keys"),
    "access token": signed(CLAIMS, typ="at+jwt"),
    "logout token": signed(CLAIMS, typ="logout+jwt"),
    "critical": raw({"alg": "RS256", "kid": "rsa", "crit": ["x"], "x": 1}, CLAIMS, "AAAA"),
    "other issuer": signed({**CLAIMS, "iss": "https://evil.test"}),
    "issuer with a slash": signed({**CLAIMS, "iss": ISSUER + "/"}),
    "issuers": signed({**CLAIMS, "iss": [ISSUER]}),
    "other audience": signed({**CLAIMS, "aud": "other"}),
    "audience in other case": signed({**CLAIMS, "aud": CLIENT.upper()}),
    "several audiences, no party": signed({**CLAIMS, "aud": [CLIENT, "other"]}),
    "other party": signed({**CLAIMS, "azp": "other"}),
    "other party of several": signed({**CLAIMS, "aud": [CLIENT, "other"], "azp": "other"}),
    "other nonce": signed({**CLAIMS, "nonce": "m" * 43}),
    "empty nonce": signed({**CLAIMS, "nonce": ""}),
    "expired": signed({**CLAIMS, "exp": FRESH}),
    "expiry as a text": signed({**CLAIMS, "exp": str(FRESH + 300)}),
    "expiry true": signed({**CLAIMS, "exp": True}),
    "from the future": signed({**CLAIMS, "iat": FRESH + 120}),
    "not before": signed({**CLAIMS, "nbf": FRESH + 120}),
    "old": signed({**CLAIMS, "iat": FRESH - 700}),
    "empty subject": signed({**CLAIMS, "sub": ""}),
    "subject as a number": signed({**CLAIMS, "sub": 1}),
    "subject that no database takes": signed({**CLAIMS, "sub": "1\x002"}),
    "half a character as subject": signed({**CLAIMS, "sub": "\ud800"}),
    "long subject": signed({**CLAIMS, "sub": "x" * 256}),
    "too large": signed({**CLAIMS, "x": "x" * 20_000}),
    "JSON that is no object": raw({"alg": "RS256"}, [], "AAAA"),  # type: ignore[arg-type]
    **{f"without {name}": signed(claims) for name, claims in zip(CLAIMS, WITHOUT, strict=True) if name != "email"},
}


@pytest.mark.guarantee("G13")
@pytest.mark.parametrize("token", FORGED.values(), ids=FORGED.keys())
async def test_what_does_not(token: object) -> None:
    with pytest.raises(SignInFailed) as refused:
        await verified(token)
    assert refused.value.failure == "provider"
    assert refused.value.why.startswith("id_token ")


async def test_unknown_keys_are_asked_for_once_a_minute() -> None:
    asked = 0
    now = NOW

    async def fetch(_url: str) -> bytes:
        nonlocal asked
        asked += 1
        return json.dumps({"keys": [RSA.as_dict(private=False)]}).encode()

    published = RemoteKeySet(f"{ISSUER}/jwks", fetch, clock=lambda: now.timestamp())
    for number in range(50):
        assert await published.find_candidates(f"unknown {number}") == ()
    assert asked == 1
    assert len(await published.find_candidates("rsa")) == 1
    now = NOW.replace(minute=2)
    for number in range(50):
        assert await published.find_candidates(f"unknown {number}") == ()
    assert asked == 2


async def test_known_keys_outlive_their_source_for_a_day() -> None:
    now, away = NOW, False

    async def fetch(_url: str) -> bytes:
        if away:
            raise DocumentUnavailable("unreachable")
        return json.dumps({"keys": [RSA.as_dict(private=False)]}).encode()

    published = RemoteKeySet(f"{ISSUER}/jwks", fetch, clock=lambda: now.timestamp())
    await published.find_candidates("rsa")
    away, now = True, NOW.replace(hour=23)
    assert len(await published.find_candidates("rsa")) == 1
    now = NOW.replace(day=23, hour=13)
    with pytest.raises(SignInFailed) as refused:
        await verified(signed(CLAIMS), published)
    assert refused.value.failure == "provider_away"


METADATA: dict[str, Any] = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/auth",
    "token_endpoint": f"{ISSUER}/token",
    "jwks_uri": f"{ISSUER}/jwks",
}


def test_metadata_with_what_is_left_out_filled_as_the_book_says() -> None:
    found = read_metadata(METADATA, ISSUER)
    assert (found.algorithms, found.auth_methods) == ({"RS256"}, {"client_secret_basic"})
    assert (found.userinfo_endpoint, found.sends_issuer) == ("", False)


@pytest.mark.parametrize(
    "wrong",
    [
        {"token_endpoint": None},
        {"token_endpoint": "http://idp.test/token"},
        {"token_endpoint": "file:///etc/passwd"},
        {"token_endpoint": 5},
        {"jwks_uri": "https://"},
        {"jwks_uri": "https://[idp.test/"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "https://idp.test/auth#x"},
        {"userinfo_endpoint": "http://127.0.0.1/"},
        {"issuer": ""},
        {"id_token_signing_alg_values_supported": ["HS256", "none"]},
        {"id_token_signing_alg_values_supported": []},
    ],
)
def test_metadata_that_nothing_is_asked_by(wrong: dict[str, Any]) -> None:
    with pytest.raises(SignInFailed):
        read_metadata({**METADATA, **wrong}, ISSUER)
