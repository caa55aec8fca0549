"""Call tools as a user from the command line: the same sieve, the same runner and the same audit log as a client's."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from broker.identity.in_process_verifier import InProcessSubject
from broker.interface import CredentialRefusal
from core.audit.passes import AuditPasses
from core.audit.writer import AuditWriter
from core.caller import Caller
from core.config.settings import Settings
from core.db import Database
from core.errors import NotFound, Unavailable
from core.generations import Generations
from core.observability.tracing import NoopTracer
from core.secret import Secret
from gateway.auth.caller_loader import load_caller
from gateway.catalogue import Catalogue, CatalogueTool
from gateway.connection_messages import ConnectMessages
from gateway.lease_cache import LeaseCache
from gateway.mcp.authority import Authority
from gateway.mcp.request_context import Params, RequestContext, Result
from gateway.meta_tools.get_module_schema import get_module_schema
from gateway.module_lifespans import open_module_lifespans
from gateway.module_manifests import build_module_manifests
from gateway.service_settings import ServiceSettingsReader
from gateway.sieve.sieve import Sieve
from gateway.tool_run import ToolRun
from gateway.tool_runner import ToolOutcome, ToolRunner
from gateway.vendor_connections import VendorConnections
from modules.kit import OUTCOME_UNKNOWN
from server.operator_context import OperatorContext
from server.role_database import GATEWAY_ROLE, open_role_database
from server.tool_translations import load_translations
from server.wiring.broker import open_broker_runtime
from server.wiring.gateway import open_vendor_sessions
from server.wiring.search import open_search_engine

CLIENT_NAME = "mcpist call"


@dataclass(frozen=True, slots=True)
class LocalCaller:
    """One user, for whom the operator calls."""

    caller: Caller
    sieve: Sieve
    runner: ToolRunner
    vendors: VendorConnections
    subject: Secret
    timeout: float
    catalogue: Catalogue

    async def call(self, module: str, tool: str, params: dict[str, Any]) -> ToolOutcome:
        """Run one tool.

        Raises:
            Unavailable: it took longer than a call may.
        """
        request = self._create_request()
        try:
            async with asyncio.timeout(self.timeout):
                return await self.runner.run(request, module, tool, params)
        except TimeoutError:
            hint = OUTCOME_UNKNOWN if request.changes else "MCPIST_CALL_TIMEOUT gives it more time"
            raise Unavailable(f"the call took too long; {hint}") from None

    def list_tools(self, module: str) -> tuple[CatalogueTool, ...]:
        """List the tools of a module that this user may use; none where the module does not exist for them."""
        view = self.sieve.get_view(self.caller)
        declared = self.catalogue.tools.get(module, ())
        return tuple(one for one in declared if view.find(module, one.tool.name) is not None)

    async def get_schema(self, params: Params) -> Result:
        """Return the answer of ``get_module_schema`` to this user."""
        return await get_module_schema(
            self.sieve.get_view(self.caller),
            self._create_request(),
            params,
            self.runner.record_lookups,
            self.vendors.describe_connection,
        )

    def _create_request(self) -> RequestContext:
        deadline = asyncio.get_running_loop().time() + self.timeout
        return RequestContext(
            Authority(self.caller), str(uuid4()), deadline, client_name=CLIENT_NAME, find_subject=lambda: self.subject
        )


@contextlib.asynccontextmanager
async def open_local_caller(
    context: OperatorContext, settings: Settings, tenant_id: UUID, user_id: UUID
) -> AsyncGenerator[LocalCaller]:
    """Open a caller as the gateway makes one of a verified token; at the end the audit log has everything.

    The broker hands out leases for a caller's own credential only. This caller's credential is known to this process
    alone.

    Raises:
        NotFound: the user or the tenant is suspended or gone.
    """
    deployment, catalogue, passes = context.deployment, context.catalogue, AuditPasses()
    subject = InProcessSubject(tenant_id, user_id)
    async with (
        open_role_database(deployment, GATEWAY_ROLE, max_connections=6) as database,
        open_broker_runtime(deployment, settings, build_module_manifests(catalogue), only_for=subject) as zone,
        open_vendor_sessions(settings) as sessions,
        open_module_lifespans(catalogue.modules),
        open_search_engine(settings, database, zone.broker) as search,
        _open_audit_writer(database, passes) as audit,
    ):
        verdict = await zone.broker.verify(subject.secret)
        passes.store(verdict.tenant_id, verdict.audit_pass)
        result = None if isinstance(verdict, CredentialRefusal) else await load_caller(database, verdict)
        if result is None:
            raise NotFound("this user, or the whole tenant, is suspended")
        generations = Generations(
            deployment.get_role_address(GATEWAY_ROLE), database
        )  # not listened to: nothing is kept for long
        links = ConnectMessages(settings.public_url)
        vendors = VendorConnections(
            zone.broker, generations, LeaseCache(zone.broker, generations, links), sessions, links
        )
        sieve = Sieve(catalogue, load_translations=load_translations)
        runner = ToolRunner(
            sieve,
            database,
            vendors,
            ServiceSettingsReader(database, generations.current),
            audit,
            deployment.digest_key,
            _NoObserver(),
            NoopTracer(),
            _charge_nothing,
            search=search.engine,
        )
        yield LocalCaller(result[0], sieve, runner, vendors, subject.secret, settings.call_timeout, catalogue)


@contextlib.asynccontextmanager
async def _open_audit_writer(database: Database, passes: AuditPasses) -> AsyncGenerator[AuditWriter]:
    audit = AuditWriter(database, pass_of=passes.get)
    task = asyncio.create_task(audit.run(), name="audit writer")
    try:
        yield audit
    finally:
        await audit.close()
        await task


class _NoObserver:
    """One call of an operator needs no metrics."""

    def on_run_start(self) -> None: ...

    def on_run_end(self, run: ToolRun) -> None: ...

    def on_run_refused(self, run: ToolRun) -> None: ...

    def on_names_denied(self, run: ToolRun, names: int) -> None: ...


def _charge_nothing(caller: Caller, names: int) -> None:
    """Calls of the operator are not rate-limited."""
