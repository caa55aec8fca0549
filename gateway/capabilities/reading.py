"""Running what reads a resource or fills in a prompt, and what becomes of its failures: neither method has a result for
an error, so they are JSON-RPC errors."""

from typing import Any

from pydantic import BaseModel

from gateway.catalogue import CatalogueTool
from gateway.mcp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from gateway.mcp.request_context import ProtocolError, RequestContext, Result, UrlElicitation
from gateway.meta_tools.results import TOOL_FAILED
from gateway.tool_runner import ToolOutcome, ToolRunner


class Interrupted(Exception):
    """The person behind the client has to do something first; `result` asks them to."""

    def __init__(self, result: Result) -> None:
        super().__init__("the person behind the client is asked first")
        self.result = result


class CapabilityReader:
    """Runs readers as calls are run: authorised, audited and limited alike."""

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
        if asked := _ask_person(request, outcome):
            raise Interrupted(asked)
        if outcome.has_invalid_arguments:
            raise ProtocolError(INVALID_PARAMS, f"Invalid params: {outcome.error}")
        raise ProtocolError(INTERNAL_ERROR, outcome.error or TOOL_FAILED)


def _ask_person(request: RequestContext, outcome: ToolOutcome) -> Result | None:
    if outcome.not_connected is not None and request.elicit_url is not None:
        missing = outcome.not_connected
        return request.elicit_url(UrlElicitation(missing.module, missing.url, missing.elicitation_message))
    if outcome.question is not None and request.confirmations is not None:
        return request.confirmations.build_request(outcome.question)
    return None
