"""What takes an OpenTelemetry collector's place: spans arrive over the real wire, as protobuf."""

import contextlib
import socket
from collections.abc import AsyncIterator

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class TraceCollector:
    """Takes what an OpenTelemetry collector would."""

    def __init__(self) -> None:
        self.url = ""
        self.status = 200
        self.headers: list[dict[str, str]] = []
        self.raw = bytearray()
        self.requests: list[ExportTraceServiceRequest] = []

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.raw += body
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        self.requests.append(ExportTraceServiceRequest.FromString(body))
        return web.Response(status=self.status)

    @property
    def all_spans(self) -> list[Span]:
        """Every span, in the order in which they came."""
        parts = (scope for sent in self.requests for resource in sent.resource_spans for scope in resource.scope_spans)
        return [span for scope in parts for span in scope.spans]

    @property
    def spans(self) -> dict[str, Span]:
        """The newest span of each name."""
        return {span.name: span for span in self.all_spans}

    @property
    def resource(self) -> dict[str, str]:
        attributes = self.requests[0].resource_spans[0].resource.attributes
        return {pair.key: pair.value.string_value for pair in attributes}


def read_attributes(span: Span) -> dict[str, object]:
    """The attributes of a span, by name."""
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "") for pair in span.attributes}


@contextlib.asynccontextmanager
async def trace_collector() -> AsyncIterator[TraceCollector]:
    """A collector on loopback until the block ends."""
    taken = TraceCollector()
    app = web.Application()
    app.router.add_post("/v1/traces", taken.take)
    runner = web.AppRunner(app)
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", 0))
    await web.SockSite(runner, listener).start()
    taken.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        yield taken
    finally:
        await runner.cleanup()
