"""Where a request enters the handlers: from here on log lines know its id, and its span is the parent of others."""

from collections.abc import Awaitable, Mapping

from gateway.mcp.context import Handler, Params, RequestContext, Result
from gateway.operations.logs import current_request
from gateway.operations.tracing import NoTraces, Traces


def entered(handlers: Mapping[str, Handler], traces: Traces) -> dict[str, Handler]:
    """The same handlers, each inside a span that continues the client's trace."""
    if isinstance(traces, NoTraces):
        return {method: _known(handler) for method, handler in handlers.items()}
    return {method: _entered(method, handler, traces) for method, handler in handlers.items()}


def _known(handler: Handler) -> Handler:
    def enter(request: RequestContext, params: Params) -> Awaitable[Result]:
        current_request.set(request.request_id)
        return handler(request, params)

    return enter


def _entered(method: str, handler: Handler, traces: Traces) -> Handler:
    async def enter(request: RequestContext, params: Params) -> Result:
        current_request.set(request.request_id)
        with traces.span(method, "server", parent=request.trace) as span:
            span.set("mcp.method.name", method)
            result = await handler(request, params)
            if result.get("isError"):
                span.failed("tool_error")
            return result

    return enter
