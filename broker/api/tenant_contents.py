"""``/tenants/{id}/contents``: what ends with a tenant; for the operator."""

from typing import Annotated
from uuid import UUID

from fastapi import Path
from pydantic import Field

from broker.api.deployment_dependencies import DeploymentDeps
from core.api.app import create_router
from core.api.dependencies import OperatorRead
from core.api.schemas import ResponseModel

routes = create_router("tenants")


class TenantContentsView(ResponseModel):
    """How much a tenant has of what ends when it is removed."""

    users: int = Field(description="Number of users.")
    roles: int = Field(description="Number of roles.")
    sessions: int = Field(description="Number of browser sessions that have not ended.")
    tokens: int = Field(description="Number of API tokens that work.")
    grants: int = Field(description="Number of clients that users have let in.")
    accounts: int = Field(description="Number of stored credentials for services, personal and shared.")
    oauth_clients: int = Field(description="Number of OAuth clients at vendors.")
    clients: int = Field(description="Number of OAuth clients that are registered here.")


@routes.get("/tenants/{tenant_id}/contents")
async def count_tenant_contents(
    tenant_id: Annotated[UUID, Path(description="Identifier of the tenant.")],
    caller: OperatorRead,
    parts: DeploymentDeps,
) -> TenantContentsView:
    """Count what ends with a tenant.

    Only numbers: what the tenant calls its things stays its own.
    """
    return TenantContentsView.model_validate(await parts.tenant_contents.count(tenant_id))
