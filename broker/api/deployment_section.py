"""The routes of the operator, as a section of the admin API."""

from broker.api import client_trust, identity_providers, notification_senders, tenant_contents
from broker.api.deployment_dependencies import DeploymentDependencies
from core.api.app import ApiSection

ROUTERS = (identity_providers.routes, notification_senders.routes, tenant_contents.routes, client_trust.routes)


def build_deployment_section(parts: DeploymentDependencies) -> ApiSection:
    """Settings of the whole deployment."""
    return ApiSection(ROUTERS, {"deployment": parts})
