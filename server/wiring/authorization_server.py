"""The authorization server's parts, put together as the identity file says."""

import time
from collections.abc import Callable
from datetime import datetime

from broker.authorization_server.authorization_request import AuthorizationRequestParser
from broker.authorization_server.client_authentication import ClientAuthentication, ReplayCache
from broker.authorization_server.client_document_reports import AuditClientDocumentReporter
from broker.authorization_server.client_metadata import ClientMetadataResolver
from broker.authorization_server.client_registry import FIRST_PARTY_CLIENTS, ClientRegistry
from broker.authorization_server.consents import Consents
from broker.authorization_server.dynamic_client_registration import DynamicClientRegistration
from broker.authorization_server.grants import Grants
from broker.authorization_server.id_jag import IdentityAssertionVerifier
from broker.authorization_server.jwks_cache import JwksCache
from broker.authorization_server.token_endpoint import TokenEndpoint, TokenRevocation
from broker.authorization_server.trusted_issuers import TrustedIssuers
from broker.identity.settings import IdentitySettings
from broker.web.oauth_endpoints import AuthorizationServerServices
from core.config.settings import Settings
from core.db import Database
from core.protected_resource import build_resource_identifier
from server.wiring.broker import BrokerRuntime, OwnTokenSigning


def build_grants(database: Database, identity: IdentitySettings, clock: Callable[[], datetime]) -> Grants:
    """Build the store of grants to clients, with the lifetimes that the identity file sets."""
    server = identity.authorization_server
    days = {"refresh_token_days": server.refresh_token_days, "grant_days": server.grant_days}
    return Grants(database, clock=clock, **days)


def build_authorization_server(
    zone: BrokerRuntime, signing: OwnTokenSigning, settings: Settings, grants: Grants
) -> AuthorizationServerServices:
    """Build the services behind the routes of broker.web.oauth_endpoints."""
    database, clock = zone.database, zone.clock
    keys = JwksCache(zone.documents, clock=time.monotonic)
    single_use = ReplayCache(database, clock=clock)
    reports = AuditClientDocumentReporter(database, clock=time.monotonic)
    metadata = ClientMetadataResolver(zone.documents, trust=zone.client_trust, clock=time.monotonic, reports=reports)
    clients = ClientRegistry(database, metadata, clock=clock, trust=zone.client_trust, built_in=FIRST_PARTY_CLIENTS)
    authentication = ClientAuthentication(
        clients,
        zone.peppers,
        single_use,
        keys,
        issuer=settings.public_url,
        token_endpoint=f"{settings.public_url}/oauth/token",
        clock=clock,
    )
    assertions = IdentityAssertionVerifier(
        TrustedIssuers(database, zone.documents, clock=clock),
        keys,
        zone.identity_services.admission,
        single_use,
        issuer=settings.public_url,
        resource=build_resource_identifier(settings.public_url),
        clock=clock,
    )
    endpoint = TokenEndpoint(
        authentication=authentication,
        clients=clients,
        grants=grants,
        access_tokens=signing.access_tokens,
        assertions=assertions,
        resource=build_resource_identifier(settings.public_url),
        clock=clock,
    )
    return AuthorizationServerServices(
        AuthorizationRequestParser(clients, build_resource_identifier(settings.public_url)),
        endpoint,
        TokenRevocation(authentication, grants, signing.access_tokens),
        zone.identity_services.sessions,
        Consents(database, clock=clock),
        grants,
        signing.keys,
        build_registration(zone),
        zone.client_trust,
    )


def build_registration(zone: BrokerRuntime) -> DynamicClientRegistration:
    """Build dynamic client registration."""
    return DynamicClientRegistration(zone.database, trust=zone.client_trust, clock=zone.clock, seconds=time.monotonic)
