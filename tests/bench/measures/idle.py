"""P13: CPU of the whole product while nobody asks it anything."""

import time

from tests.bench.lab import Lab
from tests.bench.processes import cpu_seconds, trees, wait_until_idle
from tests.bench.report import Result, Row

SETTLE_SECONDS = 90


def measure(lab: Lab) -> list[Result]:
    """After a call, so that caches and connections are there; the database's regular work is part of it."""
    product = lab.product
    client = product.client()
    client.call("bench", "echo", text="before the rest")
    client.close()
    wait_until_idle([product.pid], 60)
    # The pauses of what looks for work grow up to 30 seconds, and PostgreSQL plans a connection's statements anew for
    # the first turns of each: both belong to the start.
    time.sleep(0 if lab.options.quick else SETTLE_SECONDS)
    worker = cpu_seconds([product.pid])
    every, started = cpu_seconds(trees([product.pid])), time.monotonic()
    time.sleep(lab.options.idle_seconds)
    seconds = time.monotonic() - started
    own = (cpu_seconds([product.pid]) - worker) * 1e3 / seconds
    total = (cpu_seconds(trees([product.pid])) - every) * 1e3 / seconds
    return [
        Result(
            (
                Row("P13", "CPU of the idle product with its database", "ms/s", (total,), 1.0, 0.5, False),
                Row("P13", "CPU of its gateway's process alone", "ms/s", (own,), None, None, False),
            )
        )
    ]
