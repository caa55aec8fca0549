"""What the gateway knows of the broker. One contract suite runs against every implementation."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from core.caller import Credential
from core.secret import Secret


class RefusalReason(StrEnum):
    """Why a credential is refused: for the audit log only, never for the client."""

    UNKNOWN = "unknown"
    WRONG_SECRET = "wrong_secret"  # noqa: S105 a reason's name
    EXPIRED = "expired"
    REVOKED = "revoked"
    USER_SUSPENDED = "user_suspended"
    TENANT_SUSPENDED = "tenant_suspended"


@dataclass(frozen=True, slots=True)
class Refused:
    """The credential does not count. Whose it was is known when its id was: the tenant's audit log gets the event."""

    reason: RefusalReason
    tenant_id: UUID | None = None
    user_id: UUID | None = None
    credential_id: str | None = None


class Broker(Protocol):
    """The trust zone's services to the data plane."""

    async def verify(self, token: Secret) -> Credential | Refused:
        """Check an API token against what is stored.

        Raises:
            core.errors.Unavailable: the broker or its database cannot be reached.
        """
        ...
