"""Interface to revoke vendor accounts when their owner is removed: the control plane itself knows no vendor."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from core.directory.audit_trail import Actor


@dataclass(frozen=True, slots=True)
class RevocationResult:
    """A vendor account that was removed with its owner.

    `still_active`: its tokens could not be revoked at the vendor. `manage_url`: the page to revoke them by hand, or "".
    """

    provider: str
    account: str
    still_active: bool
    manage_url: str


class AccountRevoker(Protocol):
    """Tells the vendors before the rows go. It takes seconds at most, and stops nothing."""

    async def __call__(
        self, actor: Actor, tenant_id: UUID, *, user_id: UUID | None = None, role_id: UUID | None = None
    ) -> Sequence[RevocationResult]:
        """End the accounts of a user or of a role, or of the whole tenant."""
        ...


async def revoke_nothing(
    actor: Actor, tenant_id: UUID, *, user_id: UUID | None = None, role_id: UUID | None = None
) -> Sequence[RevocationResult]:
    """Revoke nothing; for processes without vendor accounts."""
    return ()
