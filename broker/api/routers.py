"""The routes of connecting accounts, as a section of the admin API."""

from broker.api import (
    audit_streams,
    connect_sessions,
    connections,
    credentials,
    oauth_clients,
    providers,
    service_credentials,
    service_oauth_clients,
    tenant_keys,
)
from broker.connect.connect_services import ConnectServices
from core.api.app import ApiSection

ROUTERS = tuple(
    part.routes
    for part in (
        providers,
        oauth_clients,
        service_oauth_clients,
        credentials,
        service_credentials,
        connections,
        connect_sessions,
        audit_streams,
        tenant_keys,
    )
)


def build_connect_section(parts: ConnectServices) -> ApiSection:
    """Providers, OAuth clients at vendors, credentials and how they stand, connect sessions, the stream of the log,
    tenant keys."""
    return ApiSection(ROUTERS, {"connect": parts})
