"""Spans of requests to an ASGI application: the route, never the path, and nothing where tracing is off."""

from collections.abc import AsyncIterator

import httpx2
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from core.config.tracing import TracingSettings
from core.http_server.traced_application import trace_application
from core.observability.tracing import NOOP_TRACER, start_tracer
from tests.support.trace_collector import TraceCollector, read_attributes, trace_collector

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TraceCollector]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with trace_collector() as taken:
        yield taken


async def answer(request: Request) -> PlainTextResponse:
    return PlainTextResponse("", status_code=int(request.path_params["status"]))


async def test_a_request_is_a_span(collector: TraceCollector) -> None:
    tracer = start_tracer(TracingSettings(endpoint=collector.url), "1")
    app = trace_application(Starlette(routes=[Route("/things/{status}", answer)]), tracer)
    transport = httpx2.ASGITransport(app=app)  # type: ignore[arg-type]
    async with httpx2.AsyncClient(transport=transport, base_url="http://mcpist") as client:
        parent = f"00-{TRACE}-{PARENT}-01"
        assert (await client.get("/things/204?q=hunter2", headers={"traceparent": parent})).status_code == 204
        assert (await client.get("/things/503", headers={"traceparent": "nonsense"})).status_code == 503
        assert (await client.request("HUNTER2", "/hunter2")).status_code == 404
    await tracer.close()
    good, bad, unknown = collector.all_spans
    assert (good.name, good.kind) == ("GET /things/{status}", Span.SPAN_KIND_SERVER)
    assert (good.trace_id.hex(), good.parent_span_id.hex()) == (TRACE, PARENT)
    assert read_attributes(good) == {
        "http.request.method": "GET",
        "url.scheme": "http",
        "http.route": "/things/{status}",
        "http.response.status_code": 204,
    }
    assert bad.parent_span_id == b""
    assert bad.status.code == Status.STATUS_CODE_ERROR
    assert read_attributes(bad)["error.type"] == "503"
    assert unknown.name == "_OTHER"
    assert b"hunter2" not in bytes(collector.raw).lower()


def test_off_it_is_the_application_itself() -> None:
    app = Starlette()
    assert trace_application(app, NOOP_TRACER) is app
