"""Spans of the requests to an ASGI application, where tracing is on."""

from typing import Any

from core.http_server.asgi import Application
from core.observability.tracing import TRACEPARENT, NoopTracer, Span, Tracer

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def trace_application(app: Application, tracer: Tracer) -> Application:
    """Wrap `app` so that it serves each request inside a span, which continues the client's trace; `app` itself where
    tracing is off.

    A span has the method, the route with the names of its parameters, and the status: never a path or a query.
    """
    if isinstance(tracer, NoopTracer):
        return app

    async def serve(scope: dict[str, Any], receive: Any, send: Any) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
        attributes = {"http.request.method": method, "url.scheme": scope["scheme"]}
        with tracer.span(method, "server", parent=_read_parent(scope), attributes=attributes) as span:

            async def send_with_status(message: dict[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    _describe_answer(span, message["status"])
                await send(message)

            await app(scope, receive, send_with_status)
            if route := getattr(scope.get("route"), "path", ""):
                span.rename(f"{method} {route}")
                span.set_attribute("http.route", route)

    return serve


def _read_parent(scope: dict[str, Any]) -> str:
    """Return the client's traceparent; empty if it sends none or more than one."""
    name = TRACEPARENT.encode()
    values: list[bytes] = [value for header, value in scope["headers"] if header == name]
    return values[0].decode("latin-1") if len(values) == 1 else ""


def _describe_answer(span: Span, status: int) -> None:
    span.set_attribute("http.response.status_code", status)
    if status >= 500:
        span.mark_failed(str(status))
