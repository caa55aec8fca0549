"""Identity's part of ``/api/v1`` as an ASGI application, or as a section of one that serves others too."""

from starlette.types import ASGIApp

from broker.web.api import clients, grants, identities, leaked, links, sessions, tokens
from broker.web.api.parts import IdentityParts
from core.api.app import Section, assembled
from core.api.door import Door

ROUTERS = tuple(part.routes for part in (sessions, identities, grants, clients, tokens, links, leaked))


def section(parts: IdentityParts) -> Section:
    """Identity's routes."""
    return Section(ROUTERS, {"identity": parts})


def api(door: Door, parts: IdentityParts, *others: Section, version: str) -> ASGIApp:
    """An application of these routes, and of `others`."""
    return assembled(door, (section(parts), *others), version)
