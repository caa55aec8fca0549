"""P11: `mcpist up --workers 4` beside one worker, by CPU a call: cores are few where this runs.

What one call costs in CPU with four workers, relative to one, is what adding workers loses on a machine with enough
cores: 1.25 times is 3.2 times the rate, 1.05 times is 3.8.
"""

from tests.bench.client import tools_call
from tests.bench.github import asking
from tests.bench.lab import Lab
from tests.bench.report import Result, Row
from tests.bench.wrk import Sample, Target, sample, warm_up

WORKERS = 4
CONNECTIONS = 16  # of each worker
TEXT = "hello-workers"


def measure(lab: Lab) -> list[Result]:
    """A product with one worker and one with four, each worker as busy as the one alone."""
    one, four = (_target(lab, workers) for workers in (1, WORKERS))
    warm_up(one, CONNECTIONS, 3)
    warm_up(four, WORKERS * CONNECTIONS, 3)
    rounds = [_round(lab, one, four, number) for number in range(lab.options.rounds)]
    cpu = tuple(together.cpu_us / alone.cpu_us for alone, together in rounds)
    rate = tuple(together.rate / alone.rate for alone, together in rounds)
    what = f"{WORKERS} workers relative to one"
    rows = (
        Row("P11", f"CPU a call, {what}", "x", cpu, 1.25, 1.05, more_is_better=False),
        Row("P11", f"req/s, {what}, on these cores", "x", rate),
    )
    return [Result(rows, tuple(sample for pair in rounds for sample in pair))]


def _target(lab: Lab, workers: int) -> Target:
    product = lab.new_workers(f"workers-{workers}", workers)
    request = lab.request(tools_call("call", asking(TEXT)), TEXT, product.token)
    return lab.of_product(f"{workers} workers", request, product)


def _round(lab: Lab, one: Target, four: Target, number: int) -> tuple[Sample, Sample]:
    """Every second round the other way."""
    order = (one, four) if number % 2 == 0 else (four, one)
    connections = {one.label: CONNECTIONS, four.label: WORKERS * CONNECTIONS}
    samples = {each.label: sample(each, connections[each.label], lab.options.seconds) for each in order}
    alone, together = samples[one.label], samples[four.label]
    lab.progress(f"round {number + 1}: one worker {alone.rate:.0f}/s, four {together.rate:.0f}/s")
    return alone, together
