"""The admin API out of its two parts, the control plane's and identity's. Importing this loads FastAPI."""

from importlib.metadata import version

from starlette.types import ASGIApp

from admin_ui.api.app import api as control_plane_api
from admin_ui.api.checks import NoChecks
from admin_ui.api.parts import AdminParts
from broker.connect.parts import ConnectParts
from broker.oauth.grants import Grants
from broker.oauth.own_clients import OWN_CLIENTS
from broker.oauth.registered_clients import RegisteredClients
from broker.web import requests
from broker.web.api.app import api as identity_api
from broker.web.api.app import section
from broker.web.api.authentication import Authenticator
from broker.web.api.connections import section as connections
from broker.web.api.parts import IdentityParts
from broker.web.parts import WebParts
from core.api.door import Door
from core.db import Database
from core.settings import Settings
from gateway.auth.protected_resource import metadata_url
from gateway.auth.refusals import Refusals
from gateway.catalogue import Catalogue
from gateway.deployment import Deployment
from gateway.single.api_checks import ServerChecks, installed_modules
from gateway.single.bootstrap import modules_of
from gateway.single.trust_zone import TrustZone


def admin_api(
    zone: TrustZone,
    parts: WebParts,
    grants: Grants,
    refusals: Refusals,
    console: Database | None,
    catalogue: Catalogue,
    connect: ConnectParts,
    settings: Settings,
    deployment: Deployment | None,
) -> ASGIApp:
    """What answers under /api/v1; without the control plane's database, identity's part alone. `deployment` is what the
    doctor looks at."""
    release = version("mcpist")
    clients = RegisteredClients(zone.database, zone.peppers, clock=zone.clock)
    identity = IdentityParts(zone.tokens, zone.door.sessions, grants, clients, zone.door.links, zone.door.identities)
    door = _door(zone, parts, refusals)
    if console is None:
        return identity_api(door, identity, connections(connect), version=release)
    sections = section(identity), connections(connect)
    looking = None if deployment is None else ServerChecks(settings, deployment, console, zone.database, catalogue)
    installed, checks = installed_modules(catalogue), looking or NoChecks()
    control = AdminParts(console, modules_of(catalogue), installed, checks, connect.farewell)
    return control_plane_api(door, control, *sections, version=release)


def _door(zone: TrustZone, parts: WebParts, refusals: Refusals) -> Door:
    def address(request: requests.Request) -> str:
        return requests.client_address(request, parts.proxies)

    authenticate = Authenticator(
        zone.database,
        zone.broker,  # its refusals bring the pass for the audit log of their tenant
        zone.door.sessions,
        parts.cookies,
        refusals,
        address,
        parts.settings.operator_tenant,
    )
    challenge = f'Bearer realm="mcpist", resource_metadata="{metadata_url(parts.settings.public_url)}"'
    own = frozenset(client.id for client in OWN_CLIENTS)
    return Door(authenticate, parts.settings.public_url, zone.clock, address, challenge, own)
