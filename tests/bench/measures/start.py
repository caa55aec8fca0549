"""P9: from the command until the first answered call, on a new data folder and on one that is there."""

import os
import sys
import time
from pathlib import Path

from tests.bench.client import Client
from tests.bench.lab import Lab
from tests.bench.report import Result, Row
from tests.bench.spawn import free_port, started


def measure(lab: Lab) -> list[Result]:
    """Each folder gives one first start and two later ones."""
    first: list[float] = []
    later: list[float] = []
    for number in range(1 if lab.options.quick else 3):
        home = lab.folder / f"start-{number}"
        seconds, token = _start(lab, home, None)
        first.append(seconds)
        later += [_start(lab, home, token)[0] for _ in range(1 if lab.options.quick else 2)]
        lab.progress(f"first start {first[-1]:.2f} s, later {later[-1]:.2f} s")
    return [
        Result(
            (
                Row(
                    "P9",
                    "mcpist up, first start until an answered call",
                    "s",
                    tuple(first),
                    2.0,
                    1.5,
                    more_is_better=False,
                ),
                Row(
                    "P9",
                    "mcpist up, later start until an answered call",
                    "s",
                    tuple(later),
                    0.9,
                    0.8,
                    more_is_better=False,
                ),
            )
        )
    ]


def _start(lab: Lab, home: Path, token: str | None) -> tuple[float, str]:
    port = free_port()
    command = Path(sys.executable).with_name("mcpist")
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MCPIST_")}
    environment = {**plain, "MCPIST_HOME": str(home), "MCPIST_PORT": str(port)}
    before = time.monotonic()
    with started([str(command), "up", "--json"], lab.folder / "start.log", environment) as running:
        known = token or running.said["api_token"]
        client = Client(port, known)
        client.call("knowledge_graph", "read_graph")
        seconds = time.monotonic() - before
        client.close()
    return seconds, known
