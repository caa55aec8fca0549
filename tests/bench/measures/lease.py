"""P7: the broker verifies a token, applies the sieve, and opens a credential of the vault: no lease is kept.

Direct, as `mcpist up` asks it (its own database connections, the running product's PostgreSQL), and over HTTP on
loopback with a service token; there, client and broker share this process, so it is the sum of both sides' work.
"""

import contextlib
import statistics
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import uvloop

from broker.interface import Broker, Lease, LeaseRequest
from core.secret import Secret
from server.operator_context import open_operator_context
from server.wiring.broker import open_broker_runtime
from tests.bench.github import TOOL
from tests.bench.lab import Lab, Product
from tests.bench.product import unlimited
from tests.bench.report import Result, Row
from tests.support.http_broker import served_over_http

LEASES = 500
WARM_UP = 50


@dataclass(frozen=True, slots=True)
class Run:
    """Some leases one after the other, in ms."""

    p50: float
    p99: float


def measure(lab: Lab) -> list[Result]:
    """The two forms in turn."""
    return [uvloop.run(_measured(lab))]


async def _measured(lab: Lab) -> Result:
    leases, rounds = (50, 1) if lab.options.quick else (LEASES, lab.options.rounds)
    request = LeaseRequest(Secret(lab.product.token), "github", TOOL)
    direct: list[Run] = []
    over_http: list[Run] = []
    async with _brokers(lab, lab.product) as (one, other):
        for broker in (one, other):
            await _run(broker, request, WARM_UP)
        for number in range(rounds):
            direct.append(await _run(one, request, leases))
            over_http.append(await _run(other, request, leases))
            lab.progress(f"leases, round {number + 1}: p50 {direct[-1].p50:.2f} ms, HTTP {over_http[-1].p50:.2f} ms")
    return Result((*_rows("lease from the vault", direct, promised=True), *_rows("the same over HTTP", over_http)))


@contextlib.asynccontextmanager
async def _brokers(lab: Lab, product: Product) -> AsyncGenerator[tuple[Broker, Broker]]:
    folder = lab.folder / "lease"
    folder.mkdir(exist_ok=True)
    settings = unlimited(product.home, product.port, product.upstream)
    async with (
        open_operator_context(settings, lab.progress) as operating,
        open_broker_runtime(operating.deployment, settings, operating.manifests) as zone,
        served_over_http(zone.broker, folder) as served,
    ):
        yield zone.broker, served.client


async def _run(broker: Broker, request: LeaseRequest, count: int) -> Run:
    taken: list[float] = []
    for _ in range(count):
        started = time.perf_counter()
        answer = await broker.lease(request)
        taken.append((time.perf_counter() - started) * 1e3)
        if not isinstance(answer, Lease):
            raise RuntimeError(f"no lease, but {answer}")  # noqa: TRY004 the broker refuses: no mistake in a type
    return Run(statistics.median(taken), statistics.quantiles(taken, n=100)[98])


def _rows(what: str, runs: list[Run], *, promised: bool = False) -> list[Row]:
    budgets = ((5.0, 2.0), (15.0, 5.0)) if promised else ((None, None), (None, None))
    values = (tuple(one.p50 for one in runs), tuple(one.p99 for one in runs))
    return [
        Row("P7", f"{what}, {name}", "ms", taken, must, aim, more_is_better=False)
        for name, taken, (must, aim) in zip(("p50", "p99"), values, budgets, strict=True)
    ]
