"""P6: a batch of 20 independent steps beside 20 calls in a row; every step waits 50 ms."""

import time
from collections.abc import Callable

from tests.bench.client import Client
from tests.bench.github import TOOL, asking
from tests.bench.lab import Lab
from tests.bench.report import Result, Row

STEPS = 20
COMMANDS = [{"id": f"s{number}", **asking(f"zzz-{number}", "nap"), "output": True} for number in range(STEPS)]


def measure(lab: Lab) -> list[Result]:
    """Alternately the one and the other."""
    client = lab.product.client()
    _batch(client)
    rounds = 1 if lab.options.quick else lab.options.rounds
    batches: list[float] = []
    ratios: list[float] = []
    for _ in range(rounds):
        batches.append(_timed(lambda: _batch(client)))
        ratios.append(_timed(lambda: _in_a_row(client)) / batches[-1])
    client.close()
    what = f"batch of {STEPS} steps relative to {STEPS} calls in a row"
    milliseconds = tuple(seconds * 1e3 for seconds in batches)
    return [
        Result(
            (
                Row("P6", what, "x faster", tuple(ratios), 10, 18),
                Row("P6", f"one batch of {STEPS} steps of 50 ms", "ms", milliseconds),
            )
        )
    ]


def _batch(client: Client) -> None:
    steps = client.tool("batch", {"commands": COMMANDS})["structuredContent"]["steps"]
    texts = [step["result"]["tag_name"] for step in steps]
    if texts != [command["params"]["repo"] for command in COMMANDS]:
        raise RuntimeError(f"the batch answered {steps}")


def _in_a_row(client: Client) -> None:
    for command in COMMANDS:
        params = command["params"]
        if client.call("github", TOOL, **params)["structuredContent"]["tag_name"] != params["repo"]:
            raise RuntimeError("a call gave another text back")


def _timed(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
