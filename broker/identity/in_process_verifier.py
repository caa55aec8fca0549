"""Verifier of in-process operator credentials, which are valid only in the process that created them."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from broker.identity.random_secrets import new_secret
from broker.interface import CredentialRefusal, RefusalReason
from core.caller import Credential
from core.db import Database
from core.scopes import MCP_SCOPES
from core.secret import Secret

OPERATOR_CREDENTIAL = "operator"
"""The credential's id and kind: what the audit log shows with each call."""


@dataclass(frozen=True, slots=True)
class InProcessSubject:
    """User that an in-process credential authenticates. `secret` never leaves the process and is never stored."""

    tenant_id: UUID
    user_id: UUID
    secret: Secret = field(default_factory=new_secret)


class InProcessVerifier:
    """Knows that one secret and no other credential. Implements :class:`broker.interface.Verifier`."""

    def __init__(self, subject: InProcessSubject, database: Database) -> None:
        self._subject = subject
        self._database = database

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        """See :class:`broker.interface.Verifier`."""
        subject = self._subject
        if not hmac.compare_digest(token.reveal().encode(), subject.secret.reveal().encode()):
            return CredentialRefusal(RefusalReason.UNKNOWN)
        async with self._database.tenant(subject.tenant_id) as work:
            row = await work.fetchrow(_USER, subject.user_id)
        if row is None:
            return CredentialRefusal(RefusalReason.UNKNOWN)
        if row["tenant_status"] != "active":
            return CredentialRefusal(
                RefusalReason.TENANT_SUSPENDED, subject.tenant_id, subject.user_id, OPERATOR_CREDENTIAL
            )
        if row["user_status"] != "active":
            return CredentialRefusal(
                RefusalReason.USER_SUSPENDED, subject.tenant_id, subject.user_id, OPERATOR_CREDENTIAL
            )
        return Credential(
            OPERATOR_CREDENTIAL,
            OPERATOR_CREDENTIAL,
            subject.tenant_id,
            subject.user_id,
            MCP_SCOPES,
            generation=row["generation"],
        )

    async def verify_again(self, tenant_id: UUID, tokens: Sequence[Secret]) -> Sequence[Credential | None]:
        """See :class:`broker.interface.Verifier`."""
        return [None] * len(tokens)


_USER = """SELECT u.status AS user_status, t.status AS tenant_status, g.value AS generation
    FROM core.users u JOIN core.tenants t USING (tenant_id) JOIN core.generations g USING (tenant_id)
    WHERE u.tenant_id = $1 AND u.id = $2"""
