"""Interface of what makes a schedule: a gateway, in the caller's own name."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from core.errors import Unavailable
from core.secret import Secret


class ScheduleCreation(NamedTuple):
    """Identifier of the schedule that a request has made; not `is_new` where the same request had made it before."""

    id: UUID
    is_new: bool


class ScheduleCreator(Protocol):
    """Has a gateway check a call or batch and keep it as a schedule."""

    async def __call__(self, credential: Secret, client_address: str, wanted: Mapping[str, Any]) -> ScheduleCreation:
        """Make what is `wanted`, the parameters of the tool ``create_schedule``, as whoever has the `credential`.

        Raises:
            core.errors.Invalid: it cannot be made; the text says why.
            core.errors.Conflict: the idempotency key belongs to another request.
            core.errors.MCPistError: the gateway refuses the credential, or is away.
        """
        ...


async def create_nothing(credential: Secret, client_address: str, wanted: Mapping[str, Any]) -> ScheduleCreation:
    """Refuse to make a schedule: no gateway is near. Raises core.errors.Unavailable."""
    raise Unavailable("no gateway is here that could make a schedule")
