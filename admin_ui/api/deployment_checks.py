"""Interface to the checks of keys, folders and vendor accounts, which the control plane cannot reach itself."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from core.errors import Unavailable


class DeploymentChecks(Protocol):
    """Looks, and changes nothing. Values are read by their attributes."""

    async def check_keys(self) -> object:
        """Return the state of the vault's keys (:class:`admin_ui.api.keys.KeysView`)."""
        ...

    async def check_deployment(self) -> Sequence[object]:
        """Findings about what belongs to no tenant (:class:`admin_ui.api.doctor.FindingView`)."""
        ...

    async def check_tenant(self, tenant_id: UUID, user_id: UUID | None) -> Sequence[object]:
        """Findings about a tenant, or only about what is a user's own."""
        ...


class NoDeploymentChecks:
    """Checks of a process without access to the deployment."""

    async def check_keys(self) -> object:
        raise Unavailable("this MCPist cannot look at its keys; ask on its own machine")

    async def check_deployment(self) -> Sequence[object]:
        return ()

    async def check_tenant(self, tenant_id: UUID, user_id: UUID | None) -> Sequence[object]:
        return ()
