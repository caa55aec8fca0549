import asyncio
import platform
import re
import socket
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import httpx2
import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from core.errors import Unavailable
from core.observability.exposition import build_registry
from core.observability.metrics import DURATION_BUCKETS, MAX_LABELS, MAX_SERIES, OBSERVABLE_METRICS, Metrics
from server.metrics_server import serve_metrics
from tests.support.eventually import within

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


def samples(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Name and label values → value, as a Prometheus reads them."""
    text = generate_latest(build_registry(metrics)).decode()
    families = text_string_to_metric_families(text)
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


def test_calls_are_counted_by_tool_and_timed_by_module() -> None:
    metrics = Metrics()
    metrics.count_call("graph", "search", "ok", 0.003)
    metrics.count_call("graph", "search", "ok", 0.005)
    metrics.count_call("graph", "create", "error", 100.0)
    metrics.count_call("notion", "search", "timeout", 0.0)
    found = samples(metrics)
    assert found["mcpist_calls_total", "graph", "ok", "search"] == 2
    assert found["mcpist_calls_total", "graph", "error", "create"] == 1
    assert found["mcpist_calls_total", "notion", "timeout", "search"] == 1
    name = "mcpist_call_duration_seconds"
    assert found[f"{name}_count", "graph"] == 3
    assert found[f"{name}_sum", "graph"] == pytest.approx(100.008)
    buckets = [found[f"{name}_bucket", le, "graph"] for le in ("0.0025", "0.005", "60.0", "+Inf")]
    assert buckets == [0, 2, 2, 3]
    assert found[f"{name}_bucket", "0.0005", "notion"] == 1


@pytest.mark.parametrize("bound", DURATION_BUCKETS)
def test_a_bucket_holds_its_bound(bound: float) -> None:
    metrics = Metrics()
    metrics.count_call("graph", "search", "ok", bound)
    assert samples(metrics)["mcpist_call_duration_seconds_bucket", str(bound), "graph"] == 1


def test_the_other_counters() -> None:
    metrics = Metrics()
    metrics.count_denied("hidden")
    metrics.count_denied("hidden", 2_000)
    metrics.count_refused("expired")
    metrics.count_refused("expired")
    metrics.count_malformed()
    metrics.count_limited("caller")
    metrics.count_response(429)
    metrics.running_calls += 1
    found = samples(metrics)
    assert found["mcpist_denied_total", "hidden"] == 2_001
    assert found["mcpist_auth_refused_total", "expired"] == 2
    assert found["mcpist_credentials_malformed_total",] == 1
    assert found["mcpist_limited_total", "caller"] == 1
    assert found["mcpist_http_responses_total", "429"] == 1
    assert found["mcpist_running_calls",] == 1
    assert found["mcpist_build_info", platform.python_version(), version("mcpist")] == 1
    assert found["process_resident_memory_bytes",] > 0


def test_watched_numbers_are_read_at_each_look() -> None:
    metrics = Metrics()
    queue: list[int] = []
    metrics.register_observable("mcpist_audit_queue_records", lambda: len(queue))
    assert samples(metrics)["mcpist_audit_queue_records",] == 0
    queue.append(1)
    assert samples(metrics)["mcpist_audit_queue_records",] == 1
    assert ("mcpist_database_up",) not in samples(metrics)
    with pytest.raises(ValueError, match="OBSERVABLE_METRICS"):
        metrics.register_observable("mcpist_made_up", lambda: 1)


async def test_a_scrape_looks_first_and_does_not_wait_for_long() -> None:
    metrics = Metrics()
    looks: list[str] = []
    hangs = asyncio.Event()

    async def look() -> None:
        looks.append("quick")

    async def hang() -> None:
        looks.append("slow")
        await hangs.wait()
        looks.append("done")

    metrics.register_look(look)
    metrics.register_look(hang)
    metrics.register_observable("mcpist_audit_queue_records", lambda: len(looks))
    async with serve_metrics("127.0.0.1", 0, metrics) as port, httpx2.AsyncClient() as client:
        assert "mcpist_audit_queue_records 2.0" in (await client.get(f"http://127.0.0.1:{port}/metrics")).text
        hangs.set()

        async def has_ended() -> bool:
            return "done" in looks

        await within(5, has_ended)


def test_the_number_of_series_is_bounded() -> None:
    metrics = Metrics()
    for number in range(MAX_SERIES + 1000):
        metrics.count_call("graph", f"tool{number}", "ok", 0.1)
        metrics.count_denied(f"reason{number}")
    found = samples(metrics)
    assert found["mcpist_calls_total", "other", "ok", "other"] == 1000
    assert len([key for key in found if key[0] == "mcpist_calls_total"]) == MAX_SERIES + 1
    assert len([key for key in found if key[0] == "mcpist_denied_total"]) == MAX_LABELS + 1


def test_every_metric_is_documented_and_nothing_else() -> None:
    metrics = Metrics()
    for one in OBSERVABLE_METRICS:
        if one.label:
            metrics.register_labelled(one.name, lambda: {"active": 1})
        else:
            metrics.register_observable(one.name, lambda: 1)
    described = {
        (family.name + ("_total" if family.type == "counter" else ""), family.documentation)
        for family in build_registry(metrics).collect()
        if family.name.startswith("mcpist_")
    }
    rows = re.findall(r"^\| `(mcpist_\w+)` \| (?:.*? )?\| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(rows) == described


def test_counting_imports_no_library() -> None:
    script = "import sys, core.observability.metrics; sys.exit('prometheus_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=PAGE.parents[1], check=False).returncode == 0


async def test_an_own_port_serves_the_metrics_and_nothing_else() -> None:
    metrics = Metrics()
    metrics.count_call("graph", "search", "ok", 0.1)
    async with serve_metrics("127.0.0.1", 0, metrics) as port, httpx2.AsyncClient() as client:
        url = f"http://127.0.0.1:{port}"
        answer = await client.get(f"{url}/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert 'mcpist_calls_total{module="graph",outcome="ok",tool="search"} 1.0' in answer.text
        accept = {"accept": "application/openmetrics-text; version=1.0.0"}
        assert (await client.get(f"{url}/metrics", headers=accept)).text.endswith("# EOF\n")
        assert (await client.get(f"{url}/mcp")).status_code == 404
        assert (await client.post(f"{url}/metrics")).status_code == 405
    with pytest.raises(OSError, match=r"."):
        await asyncio.open_connection("127.0.0.1", port)


async def test_a_taken_port_is_told_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Unavailable, match=rf"metrics port {port} .* MCPIST_METRICS_PORT"):
            async with serve_metrics("127.0.0.1", port, Metrics()):
                pass


def test_counting_a_call_costs_little() -> None:
    metrics = Metrics()
    best = min(_timed(metrics, 10_000) for _ in range(5))
    print(f"one call: {best * 1e6:.2f} µs")
    assert best < 15e-6  # measured 0.2 µs; the wide margin only catches a change of kind


def _timed(metrics: Metrics, times: int) -> float:
    begin = time.perf_counter()
    for _ in range(times):
        metrics.running_calls += 1
        metrics.count_call("graph", "search", "ok", 0.01)
        metrics.running_calls -= 1
    return (time.perf_counter() - begin) / times
