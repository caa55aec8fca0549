"""Who administers, and how a change is recorded."""

import time
from dataclasses import dataclass
from uuid import UUID

from core.audit.event import DEPLOYMENT, Event, Kind
from core.audit.inline import record
from core.db import UnitOfWork


@dataclass(frozen=True, slots=True)
class Actor:
    """Whoever makes an administrative change: a user, or the operator at the command line (no user id)."""

    name: str
    user_id: UUID | None = None
    credential_id: str = ""


async def recorded(work: UnitOfWork, actor: Actor, kind: Kind, **detail: str | int) -> None:
    """Append the audit record of a change to the change's own transaction: both happen or neither does."""
    await record(work, _event(work.tenant_id, actor, kind, detail))


async def recorded_of_deployment(work: UnitOfWork, actor: Actor, kind: Kind, **detail: str | int) -> None:
    """Like :func:`recorded`, in the chain of what concerns the whole deployment."""
    await record(work, _event(DEPLOYMENT, actor, kind, detail))


def _event(tenant_id: UUID, actor: Actor, kind: Kind, detail: dict[str, str | int]) -> Event:
    return Event(
        at=time.time_ns(),
        kind=kind,
        tenant_id=tenant_id,
        user_id=actor.user_id,
        credential_id=actor.credential_id,
        outcome="ok",
        actor=actor.name,
        detail=detail,
    )
