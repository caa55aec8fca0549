"""Access tokens of one deployment, a person with a grant, and the private key that signs: genuine and forged ones."""

import base64
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from joserfc.jwk import RSAKey

from broker.authorization_server import jose
from broker.authorization_server.access_tokens import AccessTokens
from broker.authorization_server.signing_key_store import SigningKeyStore
from broker.authorization_server.signing_keys import SigningKeys, open_signing_keys
from broker.interface import CredentialRefusal, RefusalReason
from core.caller import Credential
from core.db import Database
from core.secret import Secret
from tests.broker.authorization_server.grants import RESOURCE, Grant, add_grant
from tests.broker.broker_harness import BrokerHarness, Person
from tests.support.postgres import PASSWORDS
from tests.support.postgres_proxy import PostgresProxy, postgres_proxy

ISSUER = "https://mcp.example.com"
LIFETIME = timedelta(minutes=10)
UNKNOWN = CredentialRefusal(RefusalReason.UNKNOWN)


@dataclass(slots=True)
class AccessTokenApp:
    """Tokens of one deployment, a person with a grant, and the private key that signs."""

    broker: BrokerHarness
    keys: SigningKeys
    tokens: AccessTokens
    ada: Person
    grant: Grant
    key: RSAKey
    next_key: RSAKey

    async def minted(self, grant: Grant | None = None) -> Secret:
        token, seconds = await self.tokens.mint(grant or self.grant, self.broker.clock())
        assert seconds == LIFETIME.total_seconds()
        return token

    async def claims(self) -> dict[str, Any]:
        return dict(jose.parse_jwt((await self.minted()).reveal()).unverified_claims)

    def header(self, **changes: Any) -> dict[str, Any]:
        return {"alg": "RS256", "typ": "at+jwt", "kid": self.key.kid, **changes}

    async def verdict(self, token: str) -> Credential | CredentialRefusal:
        return await self.tokens.verify(Secret(token))


async def app_on(broker: BrokerHarness) -> AccessTokenApp:
    """Its keys are there, and Ada's grant."""
    keys, store = await open_signing_keys(broker.trusted, broker.keys, clock=broker.clock)
    tokens = AccessTokens(keys, broker.trusted, issuer=ISSUER, resource=RESOURCE, lifetime=LIFETIME, clock=broker.clock)
    tenant = await broker.tenant("acme")
    ada = await broker.person(tenant, "ada@example.test")
    grant = await add_grant(broker.trusted, broker.clock, tenant, ada.id)
    await store.ensure_keys()
    by_state = await private_keys(store)
    return AccessTokenApp(broker, keys, tokens, ada, grant, by_state["active"], by_state["next"])


async def private_keys(store: SigningKeyStore) -> dict[str, RSAKey]:
    return {sealed.state: await store.unwrap_key(sealed) for sealed in await store.list_published()}


def encoded(data: bytes | Mapping[str, Any]) -> str:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def signed(key: RSAKey, header: bytes | Mapping[str, Any], claims: bytes | Mapping[str, Any]) -> str:
    """A genuine RS256 signature over whatever is given, by none of the code under test."""
    said = f"{encoded(header)}.{encoded(claims)}"
    assert key.private_key is not None
    return f"{said}.{encoded(key.private_key.sign(said.encode(), PKCS1v15(), SHA256()))}"


@contextlib.asynccontextmanager
async def watched(app: AccessTokenApp) -> AsyncIterator[tuple[AccessTokens, PostgresProxy]]:
    """The same tokens by way of a proxy that notes each statement; the keys have been read."""
    async with postgres_proxy(app.broker.database.admin) as proxy:
        database = Database(proxy.address.as_role("mcpist_broker", PASSWORDS["mcpist_broker"]))
        await database.open()
        keys, _ = await open_signing_keys(database, app.broker.keys, clock=app.broker.clock)
        tokens = AccessTokens(
            keys, database, issuer=ISSUER, resource=RESOURCE, lifetime=LIFETIME, clock=app.broker.clock
        )
        assert isinstance(await tokens.verify(await app.minted()), Credential)
        proxy.statements.clear()
        yield tokens, proxy
        await database.close()
