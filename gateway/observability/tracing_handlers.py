"""Wrapper of the handlers: sets the request id of log lines, and the span that is the parent of others."""

from collections.abc import Awaitable, Mapping

from core.observability.logs import current_request
from core.observability.tracing import NoopTracer, Tracer
from gateway.mcp.request_context import Handler, Params, RequestContext, Result


def wrap_handlers(handlers: Mapping[str, Handler], traces: Tracer) -> dict[str, Handler]:
    """Wrap the same handlers, each inside a span that continues the client's trace."""
    if isinstance(traces, NoopTracer):
        return {method: _wrap_untraced(handler) for method, handler in handlers.items()}
    return {method: _wrap_traced(method, handler, traces) for method, handler in handlers.items()}


def _wrap_untraced(handler: Handler) -> Handler:
    def handle(request: RequestContext, params: Params) -> Awaitable[Result]:
        current_request.set(request.request_id)
        return handler(request, params)

    return handle


def _wrap_traced(method: str, handler: Handler, traces: Tracer) -> Handler:
    async def handle(request: RequestContext, params: Params) -> Result:
        current_request.set(request.request_id)
        with traces.span(method, "server", parent=request.trace) as span:
            span.set_attribute("mcp.method.name", method)
            result = await handler(request, params)
            if result.get("isError"):
                span.mark_failed("tool_error")
            return result

    return handle
