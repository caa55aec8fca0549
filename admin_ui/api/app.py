"""The control plane's part of ``/api/v1`` as an ASGI application."""

from starlette.types import ASGIApp

from admin_ui.api import (
    access_requests,
    allow_list,
    audit,
    audit_retention,
    doctor,
    events,
    figures,
    jobs,
    keys,
    me,
    model_views,
    role_mappings,
    roles,
    schedules,
    service_tools,
    services,
    tenants,
    tools,
    users,
)
from admin_ui.api.admin_dependencies import AdminDependencies
from core.api.app import ApiSection, build_application
from core.api.security import ApiSecurity

ROUTERS = tuple(
    part.routes
    for part in (
        me,
        tools,
        access_requests,
        tenants,
        users,
        roles,
        role_mappings,
        model_views,
        allow_list,
        service_tools,
        services,
        jobs,
        schedules,
        figures,
        events,
        audit,
        audit_retention,
        keys,
        doctor,
    )
)


def build_directory_section(dependencies: AdminDependencies) -> ApiSection:
    """Build the control plane's routes, for an application that serves others beside them."""
    return ApiSection(ROUTERS, {"admin": dependencies})


def build_admin_api(
    security: ApiSecurity, dependencies: AdminDependencies, *sections: ApiSection, version: str
) -> ASGIApp:
    """Build the application. In one process, the trust zone's own section (broker.api.app) is one of the `sections`, so
    that both have one OpenAPI document; split, each serves its own.
    """
    return build_application(security, (build_directory_section(dependencies), *sections), version)
