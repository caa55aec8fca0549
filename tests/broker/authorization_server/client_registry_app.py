"""What tests of OAuth clients share: services on a real database, a clock, keys, signed assertions."""

import contextlib
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from joserfc.jwk import ECKey, Key, RSAKey

from broker.authorization_server.client_authentication import ClientAuthentication, ReplayCache
from broker.authorization_server.client_registry import ClientMetadataLookup, ClientRegistry
from broker.authorization_server.jose import sign_jwt
from broker.authorization_server.jwks_cache import JwksCache
from broker.authorization_server.registered_clients import RegisteredClients
from broker.identity.peppers import Peppers
from core.db import Database
from core.directory.audit_trail import Actor
from core.http.json_documents import JsonDocumentFetcher
from core.http.outbound_addresses import AllowedAddresses
from tests.support.postgres import ScratchDatabase

ACTOR = Actor("tests")
ISSUER = "https://mcpist.example"
RESOURCE = f"{ISSUER}/mcp"
TOKEN_ENDPOINT = f"{ISSUER}/oauth/token"
PEPPERS = Peppers("p1", {"p1": b"p" * 32})


@dataclass(slots=True)
class Clock:
    """A time of day that stands still, and the seconds of a clock that never goes back."""

    now: datetime = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def seconds(self) -> float:
        return self.now.timestamp()

    def go(self, **how_long: float) -> None:
        self.now += timedelta(**how_long)


@dataclass(slots=True)
class ClientRegistryApp:
    """The services of one deployment."""

    database: Database
    scratch: ScratchDatabase
    clock: Clock
    documents: JsonDocumentFetcher
    registered: RegisteredClients
    single_use: ReplayCache
    published_keys: JwksCache
    clients: ClientRegistry
    authentication: ClientAuthentication
    listed: list[str] = field(default_factory=list[str])

    async def execute(self, sql: str, *args: object) -> None:
        """Change something behind the product's back."""
        async with self.scratch.admin_connection() as admin:
            await admin.execute(sql, *args)

    async def value(self, sql: str, *args: object) -> Any:
        async with self.scratch.admin_connection() as admin:
            return await admin.fetchval(sql, *args)


@contextlib.asynccontextmanager
async def app_on(
    scratch: ScratchDatabase, *listed: str, metadata: ClientMetadataLookup | None = None
) -> AsyncIterator[ClientRegistryApp]:
    """Everything on one database; `listed` are the private hosts that may be asked for documents."""
    clock = Clock()
    async with scratch.open("mcpist_broker") as database:
        documents = JsonDocumentFetcher(AllowedAddresses.from_hosts(listed), seconds=2)
        await documents.open()
        single_use = ReplayCache(database, clock=clock)
        published = JwksCache(documents, clock=clock.seconds)
        clients = ClientRegistry(database, metadata, clock=clock)
        authentication = ClientAuthentication(
            clients, PEPPERS, single_use, published, issuer=ISSUER, token_endpoint=TOKEN_ENDPOINT, clock=clock
        )
        registered = RegisteredClients(database, PEPPERS, clock=clock)
        yield ClientRegistryApp(
            database,
            scratch,
            clock,
            documents,
            registered,
            single_use,
            published,
            clients,
            authentication,
            list(listed),
        )
        await documents.close()


@cache
def rsa_key(kid: str = "r1") -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid})


@cache
def ec_key(kid: str = "e1") -> ECKey:
    return ECKey.generate_key("P-256", {"kid": kid})


def public_set(*keys: Key) -> dict[str, Any]:
    return {"keys": [key.as_dict(private=False) for key in keys]}


def signed(key: Key, claims: dict[str, Any], algorithm: str = "", **header: str) -> str:
    """A JWT; its header names the key unless told otherwise."""
    algorithm = algorithm or ("RS256" if isinstance(key, RSAKey) else "ES256")
    named = {"kid": str(key.kid), **header}
    return sign_jwt(key, {name: value for name, value in named.items() if value}, claims, algorithm)


def fresh_id() -> str:
    return secrets.token_urlsafe(16)
