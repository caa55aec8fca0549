"""Refused sign-ins in the audit log, durable before the person is told."""

import time
from uuid import UUID

from broker.identity.sign_in_state import Browser
from core.audit.event import AuditEvent, AuditEventKind
from core.audit.writer import append_events
from core.db import Database

MAX_TENANTS = 5
"""Limit of tenants whose audit logs record one refused sign-in."""


class FailedSignInLog:
    """Writes behind the broker's own database role."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def record(
        self, method: str, reason: str, email: str, browser: Browser, tenants: tuple[UUID, ...] = ()
    ) -> None:
        """Record one for the tenants whose matter it is; where none is known, for the deployment."""
        detail: dict[str, str | int] = {"method": method, "reason": reason, "address": browser.address, "email": email}
        tenant_ids: list[UUID | None] = list(tenants[:MAX_TENANTS]) or [None]
        kind, at = AuditEventKind.SIGN_IN_REFUSED, time.time_ns()
        events = [
            AuditEvent(at=at, kind=kind, tenant_id=tenant_id, outcome="denied", actor=email, detail=detail)
            for tenant_id in tenant_ids
        ]
        await append_events(self._database, events)
