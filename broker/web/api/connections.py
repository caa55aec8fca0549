"""The routes of connecting accounts, as a section of the admin API."""

from broker.connect.parts import ConnectServices
from broker.web.api import (
    connect_sessions,
    credentials,
    health,
    oauth_clients,
    pasted_keys,
    providers,
    service_clients,
)
from core.api.app import ApiSection

ROUTERS = tuple(
    part.routes
    for part in (providers, oauth_clients, service_clients, credentials, pasted_keys, health, connect_sessions)
)


def build_connect_section(parts: ConnectServices) -> ApiSection:
    """Providers, OAuth clients at vendors, credentials and how they stand, connect sessions."""
    return ApiSection(ROUTERS, {"connect": parts})
