"""Call tools as a user from the command line: the same sieve, the same runner and the same audit log as a client's."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from broker.identity.api_tokens import SCOPES
from core.audit.writer import AuditWriter
from core.caller import Caller, Credential
from core.errors import NotFound
from gateway.auth.policies import load_caller
from gateway.mcp.context import Params, RequestContext, Result
from gateway.meta_tools.get_module_schema import get_module_schema
from gateway.operations.tracing import NoTraces
from gateway.sieve.sieve import Sieve
from gateway.single.operator import GATEWAY, Operator, connected
from gateway.tool_runner import ToolOutcome, ToolRun, ToolRunner

CLIENT = "mcpist call"


@dataclass(frozen=True, slots=True)
class LocalCaller:
    """One user, for whom the operator calls."""

    caller: Caller
    sieve: Sieve
    runner: ToolRunner
    timeout: float

    async def call(self, module: str, tool: str, params: dict[str, Any]) -> ToolOutcome:
        """Run one tool.

        Raises:
            TimeoutError: it took longer than a call may.
        """
        async with asyncio.timeout(self.timeout):
            return await self.runner.run(self._request(), module, tool, params)

    async def schema(self, params: Params) -> Result:
        """What ``get_module_schema`` answers this user."""
        return await get_module_schema(self.sieve.view(self.caller), self._request(), params, self.runner.deny)

    def _request(self) -> RequestContext:
        deadline = asyncio.get_running_loop().time() + self.timeout
        return RequestContext(self.caller, str(uuid4()), deadline, client_name=CLIENT)


@contextlib.asynccontextmanager
async def local_caller(
    operating: Operator, tenant_id: UUID, user_id: UUID, timeout: float
) -> AsyncGenerator[LocalCaller]:
    """A caller as the gateway makes one of a verified token; at the end the audit log has everything.

    Raises:
        NotFound: the user or the tenant is suspended or gone.
    """
    async with connected(operating.deployment, GATEWAY, most=6) as database:
        credential = Credential("operator", "operator", tenant_id, user_id, frozenset(SCOPES))
        loaded = await load_caller(database, credential)
        if loaded is None:
            raise NotFound("this user, or the whole tenant, is suspended")
        audit = AuditWriter(database)
        writing = asyncio.create_task(audit.run(), name="audit writer")
        sieve = Sieve(operating.catalogue)
        runner = ToolRunner(sieve, database, audit, operating.deployment.digest_key, _Unobserved(), NoTraces())
        try:
            yield LocalCaller(loaded[0], sieve, runner, timeout)
        finally:
            await audit.close()
            await writing


class _Unobserved:
    """One call of an operator needs no metrics."""

    def started(self) -> None: ...

    def ended(self, run: ToolRun) -> None: ...

    def refused(self, run: ToolRun) -> None: ...

    def denied(self, run: ToolRun) -> None: ...
