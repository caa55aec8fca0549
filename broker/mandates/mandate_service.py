"""Mandates as gateways and workers have them (threat-model.md §3.3).

A gateway asks for one in the presence of its person, with their own credential. A worker presents the reference; alone
it gets nothing, and with it no more than the tools that it names, as far as their person may use them now.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from broker.audit_passes import AuditPassSigner
from broker.interface import (
    CredentialRefusal,
    JobToRetry,
    Mandate,
    MandatePurpose,
    MandateReference,
    MandateRequest,
    MandateTerms,
    RefusalReason,
    Verifier,
)
from broker.mandates import mandate_records
from broker.mandates.mandate_records import StoredMandate, Tool
from broker.user_policy import ToolHints, build_denied_event, is_allowed, load_user_policy
from core.audit.transactional import append_in_transaction
from core.caller import Credential
from core.db import Database, Row, UnitOfWork
from core.observability.metrics import Metrics

LONGEST: Mapping[MandatePurpose, timedelta] = {
    MandatePurpose.JOB: timedelta(days=7),
    MandatePurpose.SCHEDULE: timedelta(days=366),
    MandatePurpose.SYNC: timedelta(days=366),
}
MAX_LIVE = 1_000
"""Of one person; a job that is done has none."""

MAX_TOOLS = 100
MAX_TITLE_LENGTH = 200


class MandateService:
    """Implements :class:`broker.interface.MandateBroker` on the broker's own database role. `tools` are those of every
    module, with or without a vendor."""

    def __init__(
        self,
        verifier: Verifier,
        database: Database,
        tools: ToolHints,
        *,
        clock: Callable[[], datetime],
        signer: AuditPassSigner | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self._verifier = verifier
        self._database = database
        self._tools = tools
        self._clock = clock
        self._signer = signer
        self._metrics = metrics or Metrics()
        self._metrics.begin_at_zero("mandates", MandatePurpose)
        self._metrics.begin_at_zero("mandates_refused", RefusalReason)

    async def create_mandate(self, request: MandateRequest) -> Mandate | CredentialRefusal:
        """See :meth:`broker.interface.MandateBroker.create_mandate`."""
        caller = await self._verifier.verify(request.subject)
        if isinstance(caller, CredentialRefusal):
            return self._count_refusal(caller)
        return await self._create(caller, request.terms)

    async def permit_retry(self, caller: Credential, job: JobToRetry) -> UUID | CredentialRefusal:
        """Give a job a mandate once more, for a caller whom the broker has verified; return its id. A job of a schedule
        has the schedule's, if that is theirs and counts.

        Raises:
            core.errors.Unavailable: the database cannot be reached.
        """
        if job.schedule is None:
            until = self._clock() + job.lifetime
            made = await self._create(caller, MandateTerms(MandatePurpose.JOB, job.id, job.title, job.tools, until))
            return made if isinstance(made, CredentialRefusal) else made.id
        async with self._database.tenant(caller.tenant_id) as work:
            mandate = await mandate_records.find_mandate(work, job.schedule, self._clock())
            if mandate is None or mandate.credential.user_id != caller.user_id:
                return self._count_refusal(_refuse(caller, RefusalReason.UNKNOWN))
            verdict = await self._judge(work, mandate, None)
        return self._count_refusal(verdict) if isinstance(verdict, CredentialRefusal) else mandate.id

    async def _create(self, caller: Credential, terms: MandateTerms) -> Mandate | CredentialRefusal:
        made = await self._insert(caller, terms)
        if isinstance(made, CredentialRefusal):
            return self._count_refusal(made)
        self._metrics.count_mandate(made.purpose)
        return made

    async def _insert(self, caller: Credential, terms: MandateTerms) -> Mandate | CredentialRefusal:
        now = self._clock()
        expires_at = min(terms.expires_at, now + LONGEST[terms.purpose])
        if expires_at <= now:
            return _refuse(caller, RefusalReason.EXPIRED)
        if not 1 <= len(set(terms.tools)) <= MAX_TOOLS:
            return _refuse(caller, RefusalReason.FORBIDDEN)
        async with self._database.tenant(caller.tenant_id) as work:
            forbidden = await self._find_forbidden_tool(work, caller, terms.tools)
            if forbidden is not None:
                await append_in_transaction(work, build_denied_event(caller, *forbidden))
                return _refuse(caller, RefusalReason.FORBIDDEN)
            if await mandate_records.count_live_mandates(work, caller.user_id, now) >= MAX_LIVE:
                return _refuse(caller, RefusalReason.TOO_MANY)
            title = _truncate(terms.title)
            made = await mandate_records.insert_mandate(work, caller, terms, title, expires_at, now)
        return made or _refuse(caller, RefusalReason.FORBIDDEN)

    async def verify_mandate(self, reference: MandateReference) -> Credential | CredentialRefusal:
        """See :meth:`broker.interface.MandateBroker.verify_mandate`."""
        return await self._verify(reference, None)

    async def verify_for_tool(
        self, reference: MandateReference, module: str, tool: str
    ) -> Credential | CredentialRefusal:
        """Verify a mandate for the lease of one tool. It has to name the tool; whether the person may still use that,
        the lease asks itself."""
        return await self._verify(reference, (module, tool))

    async def end_mandate(self, reference: MandateReference) -> None:
        """See :meth:`broker.interface.MandateBroker.end_mandate`."""
        for row in await self._find_tenant(reference):
            async with self._database.tenant(row["tenant_id"]) as work:
                await mandate_records.end_mandate(
                    work,
                    reference.mandate_id,
                    mandate_records.COMPLETED,
                    self._clock(),
                    purpose_id=reference.purpose_id,
                )

    async def _verify(self, reference: MandateReference, asked: Tool | None) -> Credential | CredentialRefusal:
        verdict: Credential | CredentialRefusal = CredentialRefusal(RefusalReason.UNKNOWN)
        for row in await self._find_tenant(reference):
            async with self._database.tenant(row["tenant_id"]) as work:
                mandate = await mandate_records.find_mandate(work, reference, self._clock())
                if mandate is not None:
                    verdict = await self._judge(work, mandate, asked)
        if isinstance(verdict, CredentialRefusal):
            self._count_refusal(verdict)
        return verdict if self._signer is None else self._signer.add_pass(verdict)

    def _count_refusal(self, refusal: CredentialRefusal) -> CredentialRefusal:
        self._metrics.count_mandate_refusal(refusal.reason)
        return refusal

    async def _judge(
        self, work: UnitOfWork, mandate: StoredMandate, asked: Tool | None
    ) -> Credential | CredentialRefusal:
        """The person's roles are read for a whole mandate only: a lease reads them for its tool."""
        caller, now = mandate.credential, self._clock()
        if mandate.refusal is not None:
            return _refuse(caller, mandate.refusal)
        if asked is not None and asked not in mandate.tools:
            await append_in_transaction(work, build_denied_event(caller, *asked))
            return _refuse(caller, RefusalReason.FORBIDDEN)
        lost = await self._find_forbidden_tool(work, caller, mandate.tools) if asked is None else None
        if lost is not None:
            if lost in self._tools:  # a broker of another version may not know it
                await mandate_records.end_mandate(work, mandate.id, mandate_records.PERMISSION_LOST, now)
            return _refuse(caller, RefusalReason.FORBIDDEN)
        await mandate_records.record_use(work, mandate, now)
        return caller

    async def _find_forbidden_tool(self, work: UnitOfWork, caller: Credential, tools: Iterable[Tool]) -> Tool | None:
        """A tool that does not exist for whom the credential speaks for, or that its scopes are not for."""
        access = await load_user_policy(work, caller.user_id)
        for module, tool in tools:
            read_only = self._tools.get((module, tool))
            if read_only is None or not is_allowed(access, caller, module, tool, read_only):
                return module, tool
        return None

    async def _find_tenant(self, reference: MandateReference) -> Sequence[Row]:
        return await self._database.lookup("lookup_mandate", str(reference.mandate_id), _TENANT, reference.mandate_id)


def _refuse(caller: Credential, reason: RefusalReason) -> CredentialRefusal:
    return CredentialRefusal(reason, caller.tenant_id, caller.user_id, caller.id, caller.audit_pass)


def _truncate(title: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in title[:MAX_TITLE_LENGTH])


_TENANT = "SELECT tenant_id FROM auth.mandates WHERE id = $1"
