"""P2: the call of P1 beside the same work done by the peers, all in turn on the same machine."""

import http.client
from collections.abc import Sequence
from dataclasses import replace

from tests.bench.client import tools_call
from tests.bench.github import asking
from tests.bench.lab import Lab
from tests.bench.peers.catalogue import Peer, Running
from tests.bench.peers.install import Missing, installed, version_of
from tests.bench.report import Result, Row
from tests.bench.rounds import interleaved
from tests.bench.wrk import NUMBER, Request, Sample, Target

TEXT = "hello-benchmark"
FIRST_ANSWER_SECONDS = 120
WARMING_SECONDS = 5  # at 16 connections the slowest needs more than one for its first answers
HEADERS = (("Accept", "application/json, text/event-stream"), ("MCP-Protocol-Version", "2025-11-25"))


def measure(lab: Lab, peers: Sequence[Peer]) -> list[Result]:
    """Those that can be had here, together; the others are named in the progress."""
    upstream = f"http://127.0.0.1:{lab.reference('mcp').port}/mcp"
    found: list[tuple[Peer, Target]] = []
    for peer in peers:
        try:
            found.append((peer, _started(lab, peer, upstream)))
        except (Missing, RuntimeError, OSError) as error:
            lab.progress(f"!!! {peer.title} IS LEFT OUT: {error}")
    if not found:
        return []
    ours = lab.of_product("MCPist", lab.request(tools_call("call", asking(TEXT)), TEXT))
    targets = [ours, *(target for _, target in found)]
    rounds = [one for many in lab.options.connections for one in _interleaved(lab, targets, many)]
    rows = [row for at, (peer, target) in enumerate(found, 1) for row in _rows(lab, rounds, at, peer, target.label)]
    return [Result(tuple(rows), tuple(one for samples in rounds for one in samples))]


def _interleaved(lab: Lab, targets: Sequence[Target], connections: int) -> list[list[Sample]]:
    """Runs that are long enough for the slowest to answer each connection twice."""
    options = replace(lab.options, seconds=max(lab.options.seconds, connections // 4))
    return interleaved(targets, (connections,), options, lab.progress, warming=WARMING_SECONDS)


def _started(lab: Lab, peer: Peer, upstream: str) -> Target:
    """The peer after its first answers: some import half of themselves then."""
    python = installed(peer.recipe, lab.progress)
    label = f"{peer.title} {version_of(python, peer.package)}"
    lab.progress(f"starting {label}")
    target = _target(lab, label, peer.start(lab, python, upstream))
    _first_answer(target)
    return target


def _first_answer(target: Target) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=FIRST_ANSWER_SECONDS)
    request = target.request
    headers = dict(request.headers) | {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {request.tokens[0]}",
    }
    connection.request("POST", request.path, request.body.replace(NUMBER, "1"), headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    if answer.status != 200 or request.expect.encode() not in content:
        raise RuntimeError(f"it answers {answer.status} {content[:500]!r}")


def _target(lab: Lab, label: str, running: Running) -> Target:
    body = tools_call(running.tool, {"text": TEXT})
    request = Request(running.path, body, TEXT, (running.token,), HEADERS)
    return lab.target(label, running.port, request, *running.pids)


def _rows(lab: Lab, rounds: list[list[Sample]], at: int, peer: Peer, label: str) -> list[Row]:
    must, aim = (50, 100) if peer.promised else (None, None)
    rows: list[Row] = []
    for many in lab.options.connections:
        ratios = tuple(one[0].rate / one[at].rate for one in rounds if one[0].connections == many)
        rows.append(Row("P2", f"call, req/s relative to {label}, connections: {many}", "x", ratios, must, aim))
    most = max(lab.options.connections)
    cpu = tuple(one[at].cpu_us / one[0].cpu_us for one in rounds if one[0].connections == most)
    rows.append(Row("P2", f"CPU a call of {label}, relative to MCPist's, connections: {most}", "x", cpu))
    return rows
