"""The authorization server's parts, put together as the identity file says."""

import time

from broker.oauth.authorization import Authorization
from broker.oauth.client_authentication import ClientAuthentication
from broker.oauth.client_keys import PublishedKeys
from broker.oauth.client_metadata import ClientMetadata
from broker.oauth.clients import Clients
from broker.oauth.consents import Consents
from broker.oauth.grants import Grants
from broker.oauth.id_jag import IdentityAssertions
from broker.oauth.own_clients import OWN_CLIENTS
from broker.oauth.registration import Registration
from broker.oauth.revocation import Revocation
from broker.oauth.single_use import SingleUse
from broker.oauth.token_endpoint import TokenEndpoint
from broker.oauth.trusted_issuers import TrustedIssuers
from broker.oauth.unusable_documents import DocumentReports
from broker.web.oauth import AuthorizationServer
from core.settings import Settings
from gateway.auth.protected_resource import resource
from gateway.single.trust_zone import OwnTokens, TrustZone


def grants_of(zone: TrustZone) -> Grants:
    """What people have let clients do, for as long as the identity file says."""
    server = zone.identity.authorization_server
    days = {"refresh_token_days": server.refresh_token_days, "grant_days": server.grant_days}
    return Grants(zone.database, clock=zone.clock, **days)


def authorization_server(zone: TrustZone, own: OwnTokens, settings: Settings, grants: Grants) -> AuthorizationServer:
    """What the routes of broker.web.oauth lead to."""
    database, clock, server = zone.database, zone.clock, zone.identity.authorization_server
    keys = PublishedKeys(zone.documents, clock=time.monotonic)
    single_use = SingleUse(database, clock=clock)
    hosts = server.client_metadata_hosts if server.takes_documents else ()
    reports = DocumentReports(database, clock=time.monotonic)
    metadata = ClientMetadata(zone.documents, hosts=hosts, clock=time.monotonic, reports=reports)
    clients = Clients(database, metadata, clock=clock, dynamic=server.dynamic_registration, built_in=OWN_CLIENTS)
    authentication = ClientAuthentication(
        clients,
        zone.peppers,
        single_use,
        keys,
        issuer=settings.public_url,
        token_endpoint=f"{settings.public_url}/oauth/token",
        clock=clock,
    )
    assertions = IdentityAssertions(
        TrustedIssuers(database, zone.documents, clock=clock),
        keys,
        zone.door.admission,
        single_use,
        issuer=settings.public_url,
        resource=resource(settings.public_url),
        clock=clock,
    )
    endpoint = TokenEndpoint(
        authentication=authentication,
        clients=clients,
        grants=grants,
        access_tokens=own.access_tokens,
        assertions=assertions,
        resource=resource(settings.public_url),
        clock=clock,
    )
    return AuthorizationServer(
        Authorization(clients, resource(settings.public_url)),
        endpoint,
        Revocation(authentication, grants, own.access_tokens),
        zone.door.sessions,
        Consents(database, clock=clock),
        grants,
        own.keys,
        registration_of(zone),
    )


def registration_of(zone: TrustZone) -> Registration:
    """Where clients register themselves, if they may."""
    enabled = zone.identity.authorization_server.dynamic_registration
    return Registration(zone.database, enabled=enabled, clock=zone.clock, seconds=time.monotonic)
