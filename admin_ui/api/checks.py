"""What is looked at where the control plane has no access itself: keys, folders, vendor accounts. The composition root
gives it."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from core.errors import Unavailable


class Checks(Protocol):
    """Looks, and changes nothing. Values are read by their attributes."""

    async def keys(self) -> object:
        """How the vault's keys stand (:class:`admin_ui.api.keys.KeysView`)."""
        ...

    async def deployment(self) -> Sequence[object]:
        """Findings about what belongs to no tenant (:class:`admin_ui.api.doctor.FindingView`)."""
        ...

    async def tenant(self, tenant_id: UUID, user_id: UUID | None) -> Sequence[object]:
        """Findings about a tenant, or only about what is a user's own."""
        ...


class NoChecks:
    """For where nobody can look."""

    async def keys(self) -> object:
        raise Unavailable("this MCPist cannot look at its keys; ask on its own machine")

    async def deployment(self) -> Sequence[object]:
        return ()

    async def tenant(self, tenant_id: UUID, user_id: UUID | None) -> Sequence[object]:
        return ()
