"""Signs the passes by which gateways append to the audit logs of the tenants that they serve."""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar
from uuid import UUID

from broker.interface import CredentialRefusal, Verifier
from core.caller import Credential
from core.db import Database
from core.secret import Secret

PASS_LIFETIME_SECONDS = 7 * 86_400
"""Seconds: longer than records wait in a gateway for a database that is away."""

PASS_STEP_SECONDS = 3_600
"""Seconds in which all passes of a tenant are the same, so that the database checks one for many records."""

MAX_CACHED_PASSES = 100_000
Verdict = TypeVar("Verdict", Credential, CredentialRefusal, Credential | CredentialRefusal)
_KEY = "SELECT inner_pad, outer_pad FROM auth.audit_key"


class AuditPassSigner:
    """`inner_pad` and `outer_pad` are the padded keys of HMAC-SHA256 (RFC 2104); `clock` gives seconds since 1970."""

    def __init__(self, inner_pad: bytes, outer_pad: bytes, *, clock: Callable[[], float] = time.time) -> None:
        self._inner = inner_pad
        self._outer = outer_pad
        self._clock = clock
        self._step = 0
        self._signed: dict[UUID, str] = {}

    def sign(self, tenant_id: UUID) -> str:
        """A pass for the tenant's log: until when it counts, ten digits, and the MAC (migration 0015)."""
        step = int(self._clock()) // PASS_STEP_SECONDS
        if step != self._step or len(self._signed) >= MAX_CACHED_PASSES:
            self._step, self._signed = step, {}
        if (signed := self._signed.get(tenant_id)) is not None:
            return signed
        until = f"{step * PASS_STEP_SECONDS + PASS_STEP_SECONDS + PASS_LIFETIME_SECONDS:010d}"
        inner = hashlib.sha256(self._inner + f"{tenant_id}{until}".encode()).digest()
        signature = self._signed[tenant_id] = until + hashlib.sha256(self._outer + inner).hexdigest()
        return signature

    def add_pass(self, verdict: Verdict) -> Verdict:
        """Add the pass for the log of whoever a verdict is about; where that is nobody, it has none."""
        return verdict if verdict.tenant_id is None else replace(verdict, audit_pass=self.sign(verdict.tenant_id))


async def load_signer(database: Database) -> AuditPassSigner:
    """The signer with this deployment's key.

    Raises:
        core.errors.Unavailable: the database is away.
    """
    (key,) = await database.fetch(_KEY)
    return AuditPassSigner(key["inner_pad"], key["outer_pad"])


class SigningVerifier:
    """Implements :class:`broker.interface.Verifier` on another one, and adds the pass for the log of whoever it speaks
    for: also to a refusal, because that stands in the log too."""

    def __init__(self, verifier: Verifier, signer: AuditPassSigner) -> None:
        self._verifier = verifier
        self._signer = signer

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        """See :class:`broker.interface.Verifier`."""
        return self._signer.add_pass(await self._verifier.verify(token))

    async def verify_again(self, tenant_id: UUID, tokens: Sequence[Secret]) -> Sequence[Credential | None]:
        """See :class:`broker.interface.Verifier`."""
        verdicts = await self._verifier.verify_again(tenant_id, tokens)
        return [None if verdict is None else self._signer.add_pass(verdict) for verdict in verdicts]
