"""The trust zone in this process: the vault opened, and everything that verifies, leases, signs people in and issues
tokens, on the broker's own database role."""

import contextlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from broker.audit_passes import SigningVerifier, load_signer
from broker.direct import DirectBroker
from broker.identity.api_tokens import ApiTokens
from broker.identity.front_door import FrontDoor, front_door
from broker.identity.pepper import Peppers, load_or_create
from broker.identity.settings import FILE, IdentitySettings, load
from broker.identity.verifier import Verifiers
from broker.interface import Verifier
from broker.leases import Leases
from broker.oauth.access_tokens import AccessTokens
from broker.oauth.external_issuer import ExternalIssuer
from broker.oauth.signing_keys import SigningKeys, open_signing_keys
from broker.vault.keys import KeyProvider
from broker.vault.upkeep import kept_up
from broker.vault.vault import Vault, open_vault
from broker.vendor_oauth.wire import VendorHttp
from core.db import Database
from core.outbound.addresses import AllowedAddresses
from core.outbound.documents import Documents
from core.settings import Settings
from gateway.auth.protected_resource import resource
from gateway.catalogue import Catalogue
from gateway.deployment import Deployment
from gateway.single.home import keepers
from gateway.single.operator import BROKER, connected, now
from gateway.single.vault_access import guard_of, opened_keys
from gateway.single.vendor_oauth import vendor_accounts, vendor_http

CONNECTIONS = 8


@dataclass(frozen=True, slots=True)
class OwnTokens:
    """What our own authorization server signs with."""

    keys: SigningKeys
    access_tokens: AccessTokens


@dataclass(frozen=True, slots=True)
class TrustZone:
    """The opened trust zone. `http` leads to vendors' OAuth servers; `own_tokens` is None where another authorization
    server makes the tokens; `clock` is that of everything in it."""

    broker: DirectBroker
    database: Database
    vault: Vault
    http: VendorHttp
    peppers: Peppers
    identity: IdentitySettings
    tokens: ApiTokens
    verifier: Verifiers
    door: FrontDoor
    documents: Documents
    own_tokens: OwnTokens | None
    clock: Callable[[], datetime]


@contextlib.asynccontextmanager
async def trust_zone(
    deployment: Deployment, settings: Settings, catalogue: Catalogue, *, clock: Callable[[], datetime] = now
) -> AsyncGenerator[TrustZone]:
    """Open the vault, whose key file is made at the first start, and read the identity file.

    Raises:
        core.errors.Invalid: a key is missing, wrong or readable by others, or the identity file is wrong; the text
            names it.
    """
    identity = load(settings.identity_file or deployment.home / FILE)
    async with (
        opened_keys(deployment, keepers(settings)) as keys,
        connected(deployment, BROKER, most=CONNECTIONS) as database,
        _documents(settings) as documents,
    ):
        guard = await guard_of(deployment, database)
        vault = await open_vault(database, keys, clock=clock, guard=guard)
        peppers = load_or_create(deployment.peppers)
        tokens = ApiTokens(database, peppers, clock=clock)
        own = await _own_tokens(database, keys, settings, identity, clock)
        verifier = Verifiers(tokens, _jwts(own, database, settings, identity, documents, clock))
        door = front_door(database, identity.providers, settings.public_url, clock=clock)
        async with (
            kept_up(vault, database, guard),
            vendor_http(settings) as http,
            vendor_accounts(deployment, database, vault, http) as accounts,
        ):
            tools, urls = vendor_tools(catalogue), vendor_urls(catalogue)
            leases = Leases(verifier, database, vault, tools, base_urls=urls, clock=clock, accounts=accounts)
            broker = DirectBroker(SigningVerifier(verifier, await load_signer(database)), leases)
            yield TrustZone(
                broker, database, vault, http, peppers, identity, tokens, verifier, door, documents, own, clock
            )


@contextlib.asynccontextmanager
async def _documents(settings: Settings) -> AsyncGenerator[Documents]:
    documents = Documents(AllowedAddresses.of(settings.allowed_private_hosts))
    await documents.open()
    try:
        yield documents
    finally:
        await documents.close()


def vendor_urls(catalogue: Catalogue) -> dict[str, str]:
    """The vendors' base URLs that the modules' code names."""
    return {module.name: module.vendor.base_url for module in catalogue.modules if module.vendor is not None}


def vendor_tools(catalogue: Catalogue) -> dict[tuple[str, str], bool]:
    """Whether each tool only reads, for the modules that have a vendor: all that the broker knows of modules."""
    return {
        (module.name, entry.tool.name): entry.tool.hints.read_only
        for module in catalogue.modules
        if module.vendor is not None
        for entry in catalogue.tools[module.name]
    }


async def _own_tokens(
    database: Database,
    provider: KeyProvider,
    settings: Settings,
    identity: IdentitySettings,
    clock: Callable[[], datetime],
) -> OwnTokens | None:
    server = identity.authorization_server
    if not server.enabled:
        return None
    keys, _ = await open_signing_keys(database, provider, clock=clock)
    lifetime = timedelta(minutes=server.access_token_minutes)
    return OwnTokens(
        keys,
        AccessTokens(
            keys,
            database,
            issuer=settings.public_url,
            resource=resource(settings.public_url),
            lifetime=lifetime,
            clock=clock,
        ),
    )


def _jwts(
    own: OwnTokens | None,
    database: Database,
    settings: Settings,
    identity: IdentitySettings,
    documents: Documents,
    clock: Callable[[], datetime],
) -> Verifier | None:
    if own is not None:
        return own.access_tokens
    if identity.external is None:
        return None
    return ExternalIssuer(identity.external, database, documents, resource=resource(settings.public_url), clock=clock)
