"""Running what reads a resource or fills in a prompt, and what becomes of its failures: neither method has a result for
an error, so they are JSON-RPC errors."""

from typing import Any

from pydantic import BaseModel

from gateway.catalogue import CatalogueTool
from gateway.client_requests import build_client_request
from gateway.lookup_recorder import MissingName
from gateway.mcp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from gateway.mcp.request_context import ProtocolError, RequestContext, Result
from gateway.meta_tools.results import TOOL_FAILED
from gateway.tool_runner import ToolRunner


class Interrupted(Exception):
    """The person behind the client has to do something first; `result` asks them to."""

    def __init__(self, result: Result) -> None:
        super().__init__("the person behind the client is asked first")
        self.result = result


class CapabilityReader:
    """Runs readers as calls are run: authorised, audited and limited alike. What does not exist is audited, too."""

    def __init__(self, runner: ToolRunner) -> None:
        self._runner = runner

    async def read(self, request: RequestContext, tool: CatalogueTool, params: dict[str, Any]) -> BaseModel:
        """Run a reader and return its result.

        Raises:
            Interrupted: the person has to connect an account, or to confirm something.
            ProtocolError: it has failed; the text says what to do.
            gateway.mcp.errors.InsufficientScope: the credential lacks the scope.
        """
        outcome = await self._runner.run(request, tool.module, tool.name, params, tool)
        if outcome.result is not None:
            return outcome.result
        if asked := build_client_request(request, outcome):
            raise Interrupted(asked)
        if outcome.has_invalid_arguments:
            raise ProtocolError(INVALID_PARAMS, f"Invalid params: {outcome.error}")
        raise ProtocolError(INTERNAL_ERROR, outcome.error or TOOL_FAILED)

    async def record_missing(self, request: RequestContext, kind: str, name: str) -> None:
        """Record that the caller has named what does not exist for them: a resource by its URI, a prompt by its
        name."""
        await self._runner.record_lookups(request, 1, [MissingName(kind, name, b"{}")])
