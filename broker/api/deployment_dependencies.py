"""Dependencies of the routes that are about the whole deployment."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from broker.authorization_server.client_trust import ClientTrustAdministration
from broker.disconnect.tenant_contents import TenantContentsCounter
from broker.identity.stored_providers import ProviderAdministration
from broker.notifications.stored_senders import SenderAdministration


@dataclass(frozen=True, slots=True)
class DeploymentDependencies:
    """What the operator sees and changes while everything runs."""

    identity_providers: ProviderAdministration
    notification_senders: SenderAdministration
    tenant_contents: TenantContentsCounter
    client_trust: ClientTrustAdministration
    public_url: str
    has_own_authorization_server: bool = True
    """False where another one makes the access tokens."""


async def _get_dependencies(request: Request) -> DeploymentDependencies:
    return request.app.state.deployment


DeploymentDeps = Annotated[DeploymentDependencies, Depends(_get_dependencies)]
