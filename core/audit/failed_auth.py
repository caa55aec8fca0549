"""Failed authentication: attempts are limited per address, and the audit log records why each was refused."""

import time
from typing import Protocol
from uuid import UUID

from core.audit.aggregator import EventAggregator
from core.audit.event import AuditEvent, AuditEventKind, CallOutcome
from core.audit.passes import AuditPasses
from core.audit.writer import AuditWriter
from core.concurrency.rate_limits import AttemptLimits
from core.errors import LimitReached

EXPIRED_REASON = "expired"
"""The reason of a credential whose time is over, as `broker.interface.RefusalReason` has it."""


class RefusedCredential(Protocol):
    """A credential that does not count, as `broker.interface.CredentialRefusal` has it."""

    @property
    def reason(self) -> str: ...

    @property
    def tenant_id(self) -> UUID | None: ...

    @property
    def user_id(self) -> UUID | None: ...

    @property
    def credential_id(self) -> str | None: ...

    @property
    def audit_pass(self) -> str: ...


class AuthFailureCounters(Protocol):
    """The metrics that refusals move."""

    def count_refused(self, reason: str) -> None: ...

    def count_malformed(self) -> None: ...

    def count_limited(self, limit: str) -> None: ...


class AuthFailureLog:
    """Records refused credentials: known or well-formed ones each, malformed ones as one event a minute.

    `passes` are those of the `audit` writer: a refusal brings the pass for the log that it is recorded in. Without any,
    the writer needs none.
    """

    def __init__(
        self,
        audit: AuditWriter,
        attempts: AttemptLimits,
        counters: AuthFailureCounters,
        passes: AuditPasses | None = None,
    ) -> None:
        self._audit = audit
        self._passes = passes
        self._attempts = attempts
        self._counters = counters
        self._malformed = EventAggregator(audit, AuditEventKind.AUTH_MALFORMED)

    def admit(self, client: str) -> None:
        """Let a credential that is not known yet be looked at.

        Raises:
            core.errors.LimitReached: `client` has sent too many wrong ones.
        """
        try:
            self._attempts.check(client)
        except LimitReached:
            self._counters.count_limited("address")
            raise

    def record_malformed(self, client: str) -> None:
        """Count a credential that is not one of ours in form; no query, and one event a minute for all of them."""
        self._attempts.record_failure(client)
        self._counters.count_malformed()
        self._malformed.add()

    def record_expired(self) -> None:
        """Count a credential that was good until it expired."""
        self._counters.count_refused(EXPIRED_REASON)

    async def record_refused(self, client: str, refusal: RefusedCredential) -> None:
        """Record a well-formed credential that does not count; durable before the client reads its 401."""
        self._attempts.record_failure(client)
        self._counters.count_refused(refusal.reason)
        if self._passes is not None:
            self._passes.store(refusal.tenant_id, refusal.audit_pass)
        await self._audit.write(
            AuditEvent(
                at=time.time_ns(),
                kind=AuditEventKind.AUTH_REFUSED,
                tenant_id=refusal.tenant_id,
                user_id=refusal.user_id,
                credential_id=refusal.credential_id or "",
                outcome=CallOutcome.DENIED,
                detail={"reason": str(refusal.reason), "address": client},
            )
        )

    def flush(self) -> None:
        """Write what was counted since the last event: before the end."""
        self._malformed.flush()
