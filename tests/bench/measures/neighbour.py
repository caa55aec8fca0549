"""NB: one tenant's 20 calls a second alone, and beside another tenant's 64 connections at full speed, or beside its
documents that are stored.

No limit of callers is in force: what protects the neighbour is the gateway's fair queue alone.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from tests.bench.client import Client, tools_call
from tests.bench.github import asking
from tests.bench.lab import Lab
from tests.bench.measures.graph import fill
from tests.bench.population import populate
from tests.bench.report import Result, Row
from tests.bench.wrk import Sample, Target, sample

CONNECTIONS = 64
CALLS_PER_SECOND = 20
LONGER = 5
"""A run here takes so many times as long as others, so that a hundredth of its calls is more than one."""
READING: dict[str, Any] = {
    "module": "knowledge_graph",
    "tool_name": "get_nodes",
    "params": {"names": ["Person 042"]},
}
TEXT = "hello-neighbour"
LOADS = {
    "the knowledge graph": (READING, "likes tea 42"),
    "a tool that asks nobody": ({"module": "bench", "tool_name": "write", "params": {"text": TEXT}}, TEXT),
    "a tool that asks a vendor": (asking(TEXT), TEXT),
}


STORING: dict[str, Any] = {
    "module": "rag",
    "tool_name": "index_doc",
    "params": {
        "file_path": "guide.md",
        "text": "Restart the server after you change it. 設定を変えたら再起動します。\n\n" * 80,
    },
}
STORING_CONNECTIONS = 4
STORING_MUST = 10
"""Milliseconds that storing one tenant's documents adds to the slowest hundredth of another's calls."""


class Latencies(NamedTuple):
    """Milliseconds."""

    p50: float
    p99: float


def measure(lab: Lab) -> list[Result]:
    """Alone and beside in turns, for each kind of load."""
    product = lab.new_product("neighbours")
    loud, quiet = populate(product, 2, 2)
    for token in (loud, quiet):
        client = Client(product.port, token)
        fill(client)
        client.tool("call", asking(TEXT))
        client.close()
    results: list[Result] = []
    for name, (arguments, expect) in LOADS.items():
        load = lab.of_product(
            f"{name}, the loud tenant", lab.request(tools_call("call", arguments), expect, loud), product
        )
        alone, beside, samples = _take_turns(lab, product.port, quiet, load, CONNECTIONS)
        results.append(Result(_rows(name, alone, beside), tuple(samples)))
    body = lab.request(tools_call("call", STORING), "guide.md", loud)
    load = lab.of_product("documents, the loud tenant", body, product)
    alone, beside, samples = _take_turns(lab, product.port, quiet, load, STORING_CONNECTIONS)
    added = tuple(two.p99 - one.p99 for one, two in zip(alone, beside, strict=True))
    what = "p99 of another tenant, added while documents are stored"
    results.append(Result((Row("NB", what, "ms", added, STORING_MUST, more_is_better=False),), tuple(samples)))
    return results


def _take_turns(
    lab: Lab, port: int, quiet: str, load: Target, connections: int
) -> tuple[list[Latencies], list[Latencies], list[Sample]]:
    """Measure the quiet tenant alone and beside a load, in turns."""
    alone: list[Latencies] = []
    beside: list[Latencies] = []
    samples: list[Sample] = []
    seconds = lab.options.seconds * LONGER
    for number in range(lab.options.rounds):
        alone.append(_call_steadily(port, quiet, seconds))
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(sample, load, connections, seconds + 2)
            time.sleep(1)
            beside.append(_call_steadily(port, quiet, seconds))
            samples.append(running.result())
        shown = f"alone {_show(alone[-1])}, beside {samples[-1].rate:.0f}/s {_show(beside[-1])}"
        lab.progress(f"{load.label}, round {number + 1}: {shown}")
    return alone, beside, samples


def _rows(name: str, alone: list[Latencies], beside: list[Latencies]) -> tuple[Row, ...]:
    def compare(of: Callable[[Latencies], float]) -> tuple[float, ...]:
        return tuple(of(two) / of(one) for one, two in zip(alone, beside, strict=True))

    what = f"beside {CONNECTIONS} connections of {name}, relative to alone"
    return (
        Row("NB", f"p50 of another tenant {what}", "x", compare(lambda of: of.p50)),
        Row("NB", f"p99 of another tenant {what}", "x", compare(lambda of: of.p99), 3.0, 2.0, more_is_better=False),
        Row("NB", f"p99 of another tenant beside {name}", "ms", tuple(one.p99 for one in beside)),
    )


def _call_steadily(port: int, token: str, seconds: int) -> Latencies:
    """Call at a steady rate, or as fast as the answers come."""
    client = Client(port, token)
    taken: list[float] = []
    due = time.perf_counter()
    for _ in range(seconds * CALLS_PER_SECOND):
        time.sleep(max(0.0, due - time.perf_counter()))
        sent = time.perf_counter()
        client.tool("call", READING)
        taken.append((time.perf_counter() - sent) * 1e3)
        due = max(due + 1 / CALLS_PER_SECOND, sent)
    client.close()
    taken.sort()
    return Latencies(taken[len(taken) // 2], taken[-1 - len(taken) // 100])


def _show(of: Latencies) -> str:
    return f"{of.p50:.1f}/{of.p99:.1f} ms"
