"""Result of a disconnect: the deleted connections, and whether the grant was revoked at the vendor."""

from dataclasses import dataclass
from typing import Literal

DisconnectCause = Literal[
    "asked", "replaced", "declined", "unanswered", "interrupted", "owner_removed", "client_removed"
]
RevocationOutcome = Literal[
    "revoked", "shared_grant", "unsupported", "unreachable", "tokens_unreadable", "timed_out", "api_key"
]
"""revoked: the vendor knows the grant no more. shared_grant: another account of the tenant is the same grant, so it was
left. unsupported: the vendor has no revocation. unreachable: it was asked and did not say yes. tokens_unreadable: the
tokens are lost here. timed_out: there were too many to wait for. api_key: it was pasted, and its owner revokes it where
it was made."""


@dataclass(frozen=True, slots=True)
class DisconnectResult:
    """Disconnected account. Where revocation failed, `manage_url` is the vendor's page for revoking it by hand, if it
    has one.
    """

    modules: tuple[str, ...]
    outcome: RevocationOutcome
    manage_url: str = ""
    provider: str = ""
    account: str = ""

    @property
    def revoked(self) -> bool:
        """Check whether the grant is revoked at the vendor."""
        return self.outcome == "revoked"

    @property
    def still_active(self) -> bool:
        """Check whether the person should revoke the grant at the vendor by hand."""
        return self.outcome not in ("revoked", "shared_grant")
