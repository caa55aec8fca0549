"""Authentication of a mandate: the caller that a job runs for, as they are now."""

from dataclasses import replace

from broker.interface import CredentialRefusal, MandateBroker, MandateReference
from core.audit.passes import AuditPasses
from core.caller import Caller
from core.db import Database
from core.generations import Generations
from gateway.auth.caller_loader import load_caller
from gateway.mcp.errors import Unauthenticated

_NO_CHALLENGE = "Bearer"


class MandateAuthenticator:
    """Verifies mandates. Nothing is kept: a job asks at its start, and when its tenant has changed."""

    def __init__(
        self, mandates: MandateBroker, database: Database, generations: Generations, passes: AuditPasses
    ) -> None:
        self._mandates = mandates
        self._database = database
        self._generations = generations
        self._passes = passes

    async def authenticate(self, reference: MandateReference) -> Caller:
        """Return the person in their current state, with the scopes of the credential that made the mandate.

        Raises:
            Unauthenticated: the mandate has ended, or its person or tenant is suspended or gone.
            core.errors.Unavailable: the broker or the database is away.
        """
        server = self._generations.server
        verdict = await self._mandates.verify_mandate(reference)
        if isinstance(verdict, CredentialRefusal):
            raise Unauthenticated(_NO_CHALLENGE)
        self._passes.store(verdict.tenant_id, verdict.audit_pass)
        result = await load_caller(self._database, verdict)
        if result is None:
            raise Unauthenticated(_NO_CHALLENGE)
        caller, value = result
        generation = self._generations.observe(caller.tenant_id, value, server)
        return replace(caller, credential=replace(verdict, generation=generation))

    def is_current(self, caller: Caller) -> bool:
        """Check whether the caller's tenant is unchanged since they were verified."""
        return self._generations.current(caller.tenant_id) == caller.credential.generation
