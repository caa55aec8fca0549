"""One measured run of wrk against one target: rate, latencies, CPU per call, what else the machine did."""

import os
import re
import secrets
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.processes import cpu_seconds, machine_seconds, own_seconds, trees, wait_until_idle

SCRIPT = Path(__file__).with_name("wrk.lua")
NUMBER = "@N@"
REJECT = ('"isError":true', '"error":{')
INSTALL = "wrk is missing; on Debian or Ubuntu: apt-get install wrk"
DRAIN_SECONDS = 60.0
"""How long what a run has put off may take: sealing takes a tenth of the time, 15 seconds for 50,000 records, and what
is left would count as the next target's."""
TIMEOUT = "30s"  # the slowest peer takes six seconds at 64 connections


class WrongAnswer(Exception):
    """A target did not answer as it should; the text shows the first such answer."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent; `body` may hold ``@N@``, which becomes a number that never repeats. `expect` is in every answer."""

    path: str
    body: str
    expect: str
    tokens: tuple[str, ...]
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """A server under load. `pids` are the trees whose CPU its calls cost; `bystanders` are other servers of ours."""

    label: str
    port: int
    request: Request
    pids: tuple[int, ...]
    bystanders: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One run. `cpu_us` is CPU of the target's processes per call until they rest; `foreign` is in cores."""

    label: str
    connections: int
    calls: int
    rate: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    foreign: float


def available() -> bool:
    """Whether wrk is installed."""
    return shutil.which("wrk") is not None


def sample(target: Target, connections: int, seconds: int) -> Sample:
    """Load a target for some seconds.

    Raises:
        WrongAnswer: an answer was wrong or missing.
    """
    ours = trees([*target.pids, *target.bystanders])
    counted = trees(target.pids)
    cpu, all_ours, machine, own = cpu_seconds(counted), cpu_seconds(ours), machine_seconds(), own_seconds()
    started = time.monotonic()
    run = _run(target, connections, seconds)
    used = machine_seconds() - machine - (cpu_seconds(ours) - all_ours) - (own_seconds() - own)
    foreign = max(0.0, used / (time.monotonic() - started))
    wait_until_idle(target.pids, DRAIN_SECONDS)
    return Sample(
        target.label,
        connections,
        run.calls,
        run.calls * 1e6 / run.microseconds,
        run.p50 / 1e3,
        run.p99 / 1e3,
        (cpu_seconds(trees(target.pids)) - cpu) * 1e6 / run.calls,
        foreign,
    )


def warm_up(target: Target, connections: int, seconds: int) -> None:
    """Load without measuring."""
    _run(target, connections, seconds)
    wait_until_idle(target.pids, DRAIN_SECONDS)


class _Run(NamedTuple):
    """What wrk said; times in microseconds."""

    calls: int
    microseconds: int
    p50: int
    p99: int


def _run(target: Target, connections: int, seconds: int) -> _Run:
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(f"return {_lua(_description(target.request))}")
        file.flush()
        argv = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", TIMEOUT, "-s", str(SCRIPT)]
        done = subprocess.run(
            [*argv, f"http://127.0.0.1:{target.port}/"],
            env={**os.environ, "BENCH_REQUEST": file.name},
            capture_output=True,
            text=True,
            timeout=seconds + 60,
            check=False,
        )
    found = re.search(r"^BENCH (.*)$", done.stdout, re.MULTILINE)
    if not found:
        raise RuntimeError(f"wrk failed: {done.stdout}{done.stderr}")
    calls, microseconds, p50, p99, bad, errors = map(int, found[1].split())
    if bad or errors or not calls:
        shown = re.search(r"^BENCHBAD (.*)$", done.stdout, re.MULTILINE)
        raise WrongAnswer(f"{target.label}: {bad} wrong, {errors} failed of {calls}: {shown[1] if shown else ''}")
    return _Run(calls, microseconds, p50, p99)


def _description(request: Request) -> dict[str, Any]:
    return {
        "path": request.path,
        "parts": request.body.split(NUMBER),
        "headers": {"Content-Type": "application/json", **dict(request.headers)},
        "tokens": request.tokens,
        "first": secrets.randbelow(1 << 20) << 30,  # numbers of two runs never meet
        "expect": request.expect,
        "reject": REJECT,
    }


def _lua(value: Any) -> str:
    """A value as a Lua expression."""
    if isinstance(value, dict):
        return "{" + ",".join(f"[{_lua(key)}]={_lua(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "{" + ",".join(map(_lua, value)) + "}"
    if isinstance(value, int):
        return str(value)
    plain = (chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03d}" for byte in value.encode())
    return f'"{"".join(plain)}"'
