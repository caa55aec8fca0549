"""The control plane's part of ``/api/v1`` as an ASGI application."""

from starlette.types import ASGIApp

from admin_ui.api import allow_list, audit, doctor, keys, me, roles, services, tenants, users
from admin_ui.api.admin_dependencies import AdminDependencies
from core.api.app import ApiSection, build_application
from core.api.security import ApiSecurity

ROUTERS = tuple(part.routes for part in (me, tenants, users, roles, allow_list, services, audit, keys, doctor))


def build_directory_section(parts: AdminDependencies) -> ApiSection:
    """The control plane's routes, for an application that serves others beside them."""
    return ApiSection(ROUTERS, {"admin": parts})


def build_admin_api(door: ApiSecurity, parts: AdminDependencies, *others: ApiSection, version: str) -> ASGIApp:
    """The application. In one process, the trust zone's own section (broker.api.app) is one of the `others`, so
    that both have one OpenAPI document; split, each serves its own.
    """
    return build_application(door, (build_directory_section(parts), *others), version)
