"""Identity's part of ``/api/v1`` as an ASGI application, or as a section of one that serves others too."""

from starlette.types import ASGIApp

from broker.api import (
    grants,
    identities,
    mandates,
    notification_settings,
    registered_clients,
    scim_tokens,
    secret_scanning,
    session_tokens,
    sessions,
    sign_in_links,
    sign_in_providers,
    tokens,
    trusted_issuers,
)
from broker.api.identity_dependencies import IdentityDependencies
from core.api.app import ApiSection, build_application
from core.api.security import ApiSecurity

ROUTERS = tuple(
    part.routes
    for part in (
        sessions,
        session_tokens,
        identities,
        grants,
        mandates,
        registered_clients,
        trusted_issuers,
        tokens,
        sign_in_links,
        sign_in_providers,
        secret_scanning,
        notification_settings,
        scim_tokens,
    )
)


def build_identity_section(parts: IdentityDependencies) -> ApiSection:
    """Identity's routes."""
    return ApiSection(ROUTERS, {"identity": parts})


def build_identity_api(
    security: ApiSecurity, parts: IdentityDependencies, *others: ApiSection, version: str
) -> ASGIApp:
    """An application of these routes, and of `others`."""
    return build_application(security, (build_identity_section(parts), *others), version)
