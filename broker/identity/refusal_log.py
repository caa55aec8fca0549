"""Refused sign-ins in the audit log, durable before the person is told."""

import time
from uuid import UUID

from broker.identity.sign_in_outcomes import Browser
from core.audit.event import Event, Kind
from core.audit.writer import append
from core.db import Database

MOST_TENANTS = 5
"""That are told of one refused sign-in."""


class RefusalLog:
    """Writes behind the broker's own database role."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def refused(
        self, method: str, reason: str, email: str, browser: Browser, tenants: tuple[UUID, ...] = ()
    ) -> None:
        """Record one for the tenants whose matter it is; where none is known, for the deployment."""
        detail: dict[str, str | int] = {"method": method, "reason": reason, "address": browser.address, "email": email}
        told: list[UUID | None] = list(tenants[:MOST_TENANTS]) or [None]
        kind, at = Kind.SIGN_IN_REFUSED, time.time_ns()
        events = [Event(at=at, kind=kind, tenant_id=one, outcome="denied", actor=email, detail=detail) for one in told]
        await append(self._database, events)
