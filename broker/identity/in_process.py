"""Whom an operator's command speaks for: known to the process that runs it, and to nobody else."""

import hmac
from dataclasses import dataclass, field
from uuid import UUID

from broker.identity.random_secrets import new_secret
from broker.interface import RefusalReason, Refused
from core.caller import Credential
from core.db import Database
from core.scopes import MCP
from core.secret import Secret

NAME = "operator"
"""The credential's id and kind: what the audit log shows with each call."""


@dataclass(frozen=True, slots=True)
class InProcess:
    """One user. `secret` never leaves the process, is stored nowhere, and ends with it."""

    tenant_id: UUID
    user_id: UUID
    secret: Secret = field(default_factory=new_secret)


class InProcessVerifier:
    """Knows that one secret and no other credential. Implements :class:`broker.interface.Verifier`."""

    def __init__(self, subject: InProcess, database: Database) -> None:
        self._subject = subject
        self._database = database

    async def verify(self, token: Secret) -> Credential | Refused:
        """See :class:`broker.interface.Verifier`."""
        subject = self._subject
        if not hmac.compare_digest(token.reveal().encode(), subject.secret.reveal().encode()):
            return Refused(RefusalReason.UNKNOWN)
        async with self._database.tenant(subject.tenant_id) as work:
            row = await work.fetchrow(_USER, subject.user_id)
        if row is None:
            return Refused(RefusalReason.UNKNOWN)
        if row["tenant_status"] != "active":
            return Refused(RefusalReason.TENANT_SUSPENDED, subject.tenant_id, subject.user_id, NAME)
        if row["user_status"] != "active":
            return Refused(RefusalReason.USER_SUSPENDED, subject.tenant_id, subject.user_id, NAME)
        return Credential(NAME, NAME, subject.tenant_id, subject.user_id, MCP, generation=row["generation"])


_USER = """SELECT u.status AS user_status, t.status AS tenant_status, g.value AS generation
    FROM core.users u JOIN core.tenants t USING (tenant_id) JOIN core.generations g USING (tenant_id)
    WHERE u.tenant_id = $1 AND u.id = $2"""
