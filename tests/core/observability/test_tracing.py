import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from core.config.tracing import TracingSettings, read_tracing_settings
from core.observability.tracing import NoopTracer, start_tracer
from tests.support.trace_collector import TraceCollector, read_attributes, trace_collector

ROOT = Path(__file__).parents[3]
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = f"00-{TRACE}-{PARENT}-01"
NOT_SAMPLED = f"00-{TRACE}-{PARENT}-00"


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TraceCollector]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with trace_collector() as taken:
        yield taken


def settings(collector: TraceCollector, **variables: str) -> TracingSettings:
    found, problems = read_tracing_settings({"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, **variables})
    assert problems == []
    return found


async def test_spans_arrive_with_their_parents(collector: TraceCollector) -> None:
    traces = start_tracer(settings(collector, OTEL_SERVICE_NAME="my gateway"), "1.2.3")
    with traces.span("tools/call", "server", parent=SAMPLED, attributes={"mcp.method.name": "tools/call"}) as request:
        request.set_attribute("http.response.status_code", 200)

        async def step(name: str) -> None:
            with traces.span(name):
                await asyncio.sleep(0)

        await asyncio.gather(step("one"), step("two"))
    await traces.close()

    spans = collector.spans
    outer = spans["tools/call"]
    assert outer.trace_id.hex() == TRACE
    assert outer.parent_span_id.hex() == PARENT
    assert outer.kind == Span.SPAN_KIND_SERVER
    assert read_attributes(outer) == {"mcp.method.name": "tools/call", "http.response.status_code": 200}
    for name in ("one", "two"):
        assert spans[name].trace_id.hex() == TRACE
        assert spans[name].parent_span_id == outer.span_id
        assert outer.start_time_unix_nano <= spans[name].start_time_unix_nano <= outer.end_time_unix_nano
    assert collector.resource["service.name"] == "my gateway"
    assert collector.resource["service.version"] == "1.2.3"


async def test_the_span_of_now_is_told_to_other_processes(collector: TraceCollector) -> None:
    traces = start_tracer(settings(collector), "1")
    assert traces.get_traceparent() == ""
    with traces.span("request", "server", parent=SAMPLED) as span:
        told = traces.get_traceparent()
        span.rename("GET /things/{id}")
    with traces.span("other", parent=NOT_SAMPLED):
        assert traces.get_traceparent().endswith("-00")
    await traces.close()
    version, trace, parent, flags = told.split("-")
    assert (version, trace, flags) == ("00", TRACE, "01")
    assert parent == collector.spans["GET /things/{id}"].span_id.hex()


async def test_without_a_parent_a_trace_begins(collector: TraceCollector) -> None:
    traces = start_tracer(settings(collector), "1")
    with traces.span("first"):
        pass
    with traces.span("second"):
        pass
    await traces.close()
    first, second = collector.spans["first"], collector.spans["second"]
    assert first.parent_span_id == b""
    assert first.trace_id != second.trace_id


async def test_a_failure_is_told_without_its_text(collector: TraceCollector) -> None:
    traces = start_tracer(settings(collector), "1")
    with pytest.raises(RuntimeError), traces.span("request"), traces.span("run"):
        raise RuntimeError("hunter2")
    with traces.span("tool error") as span:
        span.mark_failed("timeout")
    await traces.close()
    for name, kind in (("request", "RuntimeError"), ("run", "RuntimeError"), ("tool error", "timeout")):
        assert collector.spans[name].status.code == Status.STATUS_CODE_ERROR
        assert read_attributes(collector.spans[name]) == {"error.type": kind}
        assert not collector.spans[name].events
    assert b"hunter2" not in collector.raw


async def test_the_clients_decision_not_to_trace_is_respected(collector: TraceCollector) -> None:
    traces = start_tracer(settings(collector), "1")
    with traces.span("unwanted", parent=NOT_SAMPLED), traces.span("its child"):
        pass
    with traces.span("wanted", parent=SAMPLED):
        pass
    await traces.close()
    assert list(collector.spans) == ["wanted"]


@pytest.mark.parametrize(
    ("sampler", "ratio", "names"),
    [
        ("always_off", "1", []),
        ("always_on", "0", ["free", "unwanted"]),
        ("traceidratio", "0", []),
        ("traceidratio", "1", ["free", "unwanted"]),
        ("parentbased_traceidratio", "1", ["free"]),
        ("parentbased_always_off", "1", []),
    ],
)
async def test_samplers(collector: TraceCollector, sampler: str, ratio: str, names: list[str]) -> None:
    chosen = settings(collector, OTEL_TRACES_SAMPLER=sampler, OTEL_TRACES_SAMPLER_ARG=ratio)
    traces = start_tracer(chosen, "1")
    with traces.span("free"):
        pass
    with traces.span("unwanted", parent=NOT_SAMPLED):
        pass
    await traces.close()
    assert sorted(collector.spans) == names


async def test_the_collectors_key_is_sent(collector: TraceCollector) -> None:
    traces = start_tracer(settings(collector, OTEL_EXPORTER_OTLP_HEADERS="x-key=a%20b"), "1")
    with traces.span("request"):
        pass
    await traces.close()
    assert collector.headers[0]["x-key"] == "a b"
    assert collector.headers[0]["content-type"] == "application/x-protobuf"


SILENT = """
import asyncio, sys
from core.config.tracing import TracingSettings
from core.observability.tracing import start_tracer

async def main():
    traces = start_tracer(TracingSettings(endpoint=sys.argv[1]), "1")
    for _ in range(3000):
        with traces.span("request"):
            pass
    await traces.close()

asyncio.run(main())
"""


@pytest.mark.parametrize("listens", [True, False])
def test_a_collector_that_does_not_answer_keeps_no_process_from_ending(listens: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        if not listens:
            listener.close()
        begin = time.perf_counter()
        command = [sys.executable, "-c", SILENT, url]
        subprocess.run(command, cwd=ROOT, check=True, timeout=60, capture_output=True)
    assert time.perf_counter() - begin < 15  # the batches that wait would take 25 seconds


async def test_off_makes_nothing() -> None:
    traces = start_tracer(TracingSettings(), "1")
    assert isinstance(traces, NoopTracer)
    with traces.span("request", "server", parent=SAMPLED) as span:
        span.set_attribute("a", 1)
        span.mark_failed("b")
    await traces.close()


def test_off_imports_nothing() -> None:
    script = (
        "import sys; from core.config.tracing import TracingSettings; from core.observability.tracing import *;"
        "start_tracer(TracingSettings(), '1'); sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0
