"""A client that proves itself by a certificate (private_key_jwt): at a counterpart of Entra, and at a real server."""

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc.jwk import ECKey, RSAKey

from broker.oauth_client.client_assertion import build_client_assertion, read_signing_certificate
from broker.oauth_client.token_endpoint_client import HttpTokenEndpointClient
from broker.oauth_client.types import ErrorClass, OAuthClientConfig
from broker.providers.catalogue import load_builtin_providers
from core.errors import Invalid
from core.secret import Secret
from tests.broker.oauth_client.conftest import REDIRECT_URI, VERIFIER, Ways, granted
from tests.broker.oauth_client.test_generic_server import PROVIDER, consented, discovered
from tests.broker.oauth_client.test_generic_server import REDIRECT_URI as GENERIC_REDIRECT_URI
from tests.broker.oauth_client.test_vendors import failed
from tests.support.certificates import make_client_certificate
from tests.support.oauth_provider import oauth_provider
from tests.support.vendor_tokens import STYLES, VendorTokens, vendor_tokens

PEM, CERTIFICATE = make_client_certificate()
OTHER, OTHER_CERTIFICATE = make_client_certificate()
KEY_TYPES = {"rsa": RSAKey, "ec": ECKey}
NOW = datetime(2026, 11, 24, tzinfo=UTC)


@pytest.fixture
async def entra() -> AsyncIterator[VendorTokens]:
    async with vendor_tokens(STYLES["microsoft"]) as vendor:
        vendor.certificate = CERTIFICATE
        yield vendor


def by_certificate(vendor: VendorTokens, pem: str = PEM) -> OAuthClientConfig:
    return replace(vendor.client, secret=Secret(pem), auth_method="private_key_jwt")


async def test_a_code_and_refreshes_with_a_new_assertion_each(entra: VendorTokens, way: Ways) -> None:
    endpoint, client = HttpTokenEndpointClient(await way(entra.url)), by_certificate(entra)
    code = Secret(entra.state.consent(["one"], REDIRECT_URI, VERIFIER))
    refresh = granted(await endpoint.redeem_code(entra.provider, client, code, REDIRECT_URI, Secret(VERIFIER)))
    for _ in range(2):
        token = refresh.tokens.refresh_token
        assert token is not None
        refresh = granted(await endpoint.refresh(entra.provider, client, token))
    assert entra.wrong == []
    assert len(entra.assertion_ids) == 3
    key = PEM.split("-----")[2].strip()[:60]
    assert not any(key.encode() in asked.body or b"BEGIN" in asked.body for asked in entra.asked)


async def test_another_certificate_is_a_matter_of_the_client_and_costs_no_account(
    entra: VendorTokens, way: Ways
) -> None:
    endpoint = HttpTokenEndpointClient(await way(entra.url))
    code = Secret(entra.state.consent(["one"], REDIRECT_URI, VERIFIER))
    told = failed(
        await endpoint.redeem_code(entra.provider, by_certificate(entra, OTHER), code, REDIRECT_URI, Secret(VERIFIER))
    )
    assert told.error_class is ErrorClass.SERVICE
    [wrong] = entra.wrong
    assert "BadSignature" in wrong
    entra.wrong.clear()


@pytest.mark.parametrize("auth_method", ["post", "basic", "basic_raw"])
async def test_a_stored_key_is_never_sent_as_a_secret(entra: VendorTokens, way: Ways, auth_method: str) -> None:
    """Such as when the provider's data says otherwise since."""
    endpoint = HttpTokenEndpointClient(await way(entra.url))
    client = replace(by_certificate(entra), auth_method=auth_method)
    told = failed(await endpoint.refresh(entra.provider, client, Secret("rt_of-somebody")))
    assert told.error_class is ErrorClass.SERVICE
    assert entra.asked == []


@pytest.mark.parametrize("kind", ["rsa", "ec"])
async def test_a_real_server_takes_it(tmp_path: Path, way: Ways, kind: str) -> None:
    pem, certificate = make_client_certificate(kind)
    public = certificate.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    keys = {"keys": [dict(KEY_TYPES[kind].import_key(public).as_dict(private=False))]}
    async with oauth_provider(
        tmp_path,
        redirect_uris=[GENERIC_REDIRECT_URI],
        client_auth="private_key_jwt",
        client_jwks=json.dumps(keys),
    ) as server:
        settings = (await discovered(server)).build_settings()
        client = OAuthClientConfig(server.client_id, Secret(pem), "private_key_jwt", settings)
        endpoint = HttpTokenEndpointClient(await way(server.issuer))
        code = Secret((await consented(client))["code"])
        first = granted(await endpoint.redeem_code(PROVIDER, client, code, GENERIC_REDIRECT_URI, Secret(VERIFIER)))
        token = first.tokens.refresh_token
        assert token is not None
        second = granted(await endpoint.refresh(PROVIDER, client, token))
        wrong = replace(client, secret=Secret(make_client_certificate(kind)[0]))
        assert failed(await endpoint.refresh(PROVIDER, wrong, token)).error_class is ErrorClass.SERVICE
        access, refresh = second.tokens.access_token, second.tokens.refresh_token
        assert (await endpoint.revoke(PROVIDER, client, access=access, refresh=refresh)).done


@pytest.mark.parametrize(
    ("pem", "told"),
    [
        ("", "give a private key"),
        ("a secret", "give a private key"),
        (PEM.partition("-----BEGIN CERTIFICATE")[0], "give a private key"),
        (PEM[PEM.index("-----BEGIN CERTIFICATE") :], "give a private key"),
        (PEM[:400] + PEM[500:], "give a private key"),
        (PEM.partition("-----BEGIN CERTIFICATE")[0] + OTHER[OTHER.index("-----BEGIN CERTIFICATE") :], "another key"),
        ("-----BEGIN PRIVATE KEY-----\n" * 1000, "give a private key"),
    ],
)
def test_what_is_no_key_with_its_certificate(pem: str, told: str) -> None:
    with pytest.raises(Invalid, match=told) as refused:
        read_signing_certificate(Secret(pem))
    assert "BEGIN" not in str(refused.value)


def test_an_assertion_is_dated_by_the_given_time() -> None:
    fields = build_client_assertion("me", Secret(PEM), "https://vendor.test/token", NOW)
    claims = json.loads(base64.urlsafe_b64decode(fields["client_assertion"].split(".")[1] + "=="))
    assert (claims["nbf"], claims["exp"]) == (NOW.timestamp(), (NOW + timedelta(minutes=5)).timestamp())


def test_entra_s_answer_to_an_unknown_certificate_is_known() -> None:
    oauth = load_builtin_providers().get("microsoft").oauth
    assert oauth is not None
    assert [rule.reason for rule in oauth.verdicts if rule.code == 700027] == ["client_refused"]
