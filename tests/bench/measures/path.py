"""P1, P3, P4: one call of a trivial tool beside the bare proxy.

`github` asks the upstream with a credential from the vault, which the gateway holds. `echo` and `write` ask nobody, so
they show our own work; `write` is declared as writing, so its audit record is durable before it runs.
"""

from dataclasses import replace
from typing import Any

from tests.bench.client import tools_call
from tests.bench.github import asking
from tests.bench.lab import Lab
from tests.bench.report import Result, Row
from tests.bench.rounds import added_p50, compared, cpu, interleaved, own_cpu, p99, rate
from tests.bench.wrk import Request, Sample, Target

MUST_RATE = {1: (0.6, 0.65), 16: (1.0, 1.2), 64: (1.3, 1.5)}
TEXT = "hello-benchmark"
_RATIOS = {"req/s": rate, "CPU": cpu}


def measure(lab: Lab) -> list[Result]:
    """The immediate upstream at every number of connections, the slow one at one connection."""
    floor = lab.of_reference("bare proxy", _request(lab, asking(TEXT)), lab.floor)
    targets = [lab.of_product("call github", _request(lab, asking(TEXT))), _toy(lab, "echo"), _toy(lab, "write"), floor]
    immediate = interleaved(targets, lab.options.connections, lab.options, lab.progress)
    slow_floor = replace(floor, label="bare proxy, 20 ms", request=replace(floor.request, path="/slow"))
    slow_github = lab.of_product("call github, 20 ms", _request(lab, asking(TEXT, "later")))
    slow = interleaved([slow_github, slow_floor], (1,), lab.options, lab.progress)
    return [_immediate(lab, immediate), _slow(slow), _plain(lab)]


def _toy(lab: Lab, tool: str) -> Target:
    arguments = {"module": "bench", "tool_name": tool, "params": {"text": TEXT}}
    return lab.of_product(f"call {tool}", _request(lab, arguments))


def _request(lab: Lab, arguments: dict[str, Any]) -> Request:
    return lab.request(tools_call("call", arguments), TEXT)


def _immediate(lab: Lab, rounds: list[list[Sample]]) -> Result:
    rows: list[Row] = []
    for many in lab.options.connections:
        must, aim = MUST_RATE.get(many, (None, None))
        what = f"call of GitHub, req/s relative to the bare proxy, connections: {many}"
        rows.append(Row("P1", what, "x", compared(rounds, many, rate), must, aim))
        what = f"call of a tool that asks nobody, req/s relative to the bare proxy, connections: {many}"
        rows.append(Row("P1", what, "x", compared(rounds, many, rate, of=1)))
    most = max(lab.options.connections)
    rows.append(Row("P1", f"CPU a call of GitHub, connections: {most}", "µs", compared(rounds, most, own_cpu)))
    rows.append(
        Row(
            "P1",
            f"CPU a call of a tool that asks nobody, connections: {most}",
            "µs",
            compared(rounds, most, own_cpu, of=1),
        )
    )
    rows.append(Row("P1", "CPU a call of GitHub, relative to the bare proxy", "x", compared(rounds, most, cpu)))
    if 1 in lab.options.connections:
        what = "p50 added over the bare proxy, upstream immediate"
        rows.append(Row("P3", what, "ms", compared(rounds, 1, added_p50), 0.4, 0.3, more_is_better=False))
    what = f"p99 relative to the bare proxy, {most} connections"
    rows.append(Row("P4", what, "x", compared(rounds, most, p99), 1.0, 0.6, more_is_better=False))
    return Result(tuple(rows), _all(rounds))


def _slow(rounds: list[list[Sample]]) -> Result:
    added = compared(rounds, 1, added_p50)
    row = Row("P3", "p50 added over the bare proxy, upstream 20 ms", "ms", added, 0.15, 0.1, more_is_better=False)
    return Result((row,), _all(rounds))


def _plain(lab: Lab) -> Result:
    """A plain tool beside `call` of the same one, which runs it alike."""
    request = replace(lab.request(tools_call("bench_echo", {"text": TEXT}), TEXT), path="/mcp/plain/bench")
    most = max(lab.options.connections)
    rounds = interleaved([lab.of_product("plain echo", request), _toy(lab, "echo")], (most,), lab.options, lab.progress)
    name = f"a plain tool that asks nobody, relative to `call` of it, connections: {most}"
    rows = [Row("P1", f"{what} of {name}", "x", compared(rounds, most, of)) for what, of in _RATIOS.items()]
    return Result(tuple(rows), _all(rounds))


def _all(rounds: list[list[Sample]]) -> tuple[Sample, ...]:
    return tuple(one for samples in rounds for one in samples)
