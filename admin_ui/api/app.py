"""The control plane's part of ``/api/v1`` as an ASGI application."""

from starlette.types import ASGIApp

from admin_ui.api import allow_list, audit, doctor, keys, me, roles, services, tenants, users
from admin_ui.api.parts import AdminParts
from core.api.app import Section, assembled
from core.api.door import Door

ROUTERS = tuple(part.routes for part in (me, tenants, users, roles, allow_list, services, audit, keys, doctor))


def section(parts: AdminParts) -> Section:
    """The control plane's routes, for an application that serves others beside them."""
    return Section(ROUTERS, {"admin": parts})


def api(door: Door, parts: AdminParts, *others: Section, version: str) -> ASGIApp:
    """The application. In one process, the trust zone's own section (broker.web.api.app) is one of the `others`, so
    that both have one OpenAPI document; split, each serves its own.
    """
    return assembled(door, (section(parts), *others), version)
