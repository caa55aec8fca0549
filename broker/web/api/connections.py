"""The routes of connecting accounts, as a section of the admin API."""

from broker.connect.parts import ConnectParts
from broker.web.api import connect_sessions, credentials, health, oauth_clients, providers
from core.api.app import Section

ROUTERS = (providers.routes, oauth_clients.routes, credentials.routes, health.routes, connect_sessions.routes)


def section(parts: ConnectParts) -> Section:
    """Providers, OAuth clients at vendors, credentials and how they stand, connect sessions."""
    return Section(ROUTERS, {"connect": parts})
