"""Identity's part of ``/api/v1`` as an ASGI application, or as a section of one that serves others too."""

from starlette.types import ASGIApp

from broker.web.api import clients, grants, identities, leaked, links, sessions, tokens
from broker.web.api.parts import IdentityDependencies
from core.api.app import ApiSection, build_application
from core.api.door import ApiSecurity

ROUTERS = tuple(part.routes for part in (sessions, identities, grants, clients, tokens, links, leaked))


def build_identity_section(parts: IdentityDependencies) -> ApiSection:
    """Identity's routes."""
    return ApiSection(ROUTERS, {"identity": parts})


def build_identity_api(door: ApiSecurity, parts: IdentityDependencies, *others: ApiSection, version: str) -> ASGIApp:
    """An application of these routes, and of `others`."""
    return build_application(door, (build_identity_section(parts), *others), version)
