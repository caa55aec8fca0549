"""P11: four gateway processes on one database beside one of them, by CPU a call: cores are few where this runs.

Each gateway has its own wrk, as many at once as gateways are asked: a load balancer would take more of two cores than
it could show. What one call costs in CPU with four processes, relative to one, is what adding processes loses on a
machine with enough cores: 1.25 times is 3.2 times the rate, 1.05 times is 3.8.
"""

from tests.bench.client import tools_call
from tests.bench.github import asking
from tests.bench.lab import Lab
from tests.bench.report import Result, Row
from tests.bench.wrk import Sample, Target, sample_together, warm_up

GATEWAYS = 4
CONNECTIONS = 16  # of each gateway that is asked
TEXT = "hello-replicas"


def measure(lab: Lab) -> list[Result]:
    """The shared product and three more gateways, each as busy as the one alone."""
    request = lab.request(tools_call("call", asking(TEXT)), TEXT)
    others = [lab.new_gateway(f"gateway-{number}") for number in range(2, GATEWAYS + 1)]
    # The whole deployment's CPU counts in both cases: PostgreSQL works for all of them, and idle gateways cost nothing.
    pids = (lab.product.pid, *(one.pid for one in others))
    ports = (lab.product.port, *(one.port for one in others))
    four = [lab.target("four gateways", port, request, *pids) for port in ports]
    one = [lab.target("one gateway", lab.product.port, request, *pids)]
    for target in four:
        warm_up(target, CONNECTIONS, 3)
    rounds = [_round(lab, one, four, number) for number in range(lab.options.rounds)]
    cpu = tuple(together.cpu_us / alone.cpu_us for alone, together in rounds)
    rate = tuple(together.rate / alone.rate for alone, together in rounds)
    what = f"{GATEWAYS} gateway processes relative to one"
    rows = (
        Row("P11", f"CPU a call, {what}", "x", cpu, 1.25, 1.05, more_is_better=False),
        Row("P11", f"req/s, {what}, on these cores", "x", rate),
    )
    return [Result(rows, tuple(sample for pair in rounds for sample in pair))]


def _round(lab: Lab, one: list[Target], four: list[Target], number: int) -> tuple[Sample, Sample]:
    """Every second round the other way."""
    order = (one, four) if number % 2 == 0 else (four, one)
    samples = {len(each): sample_together(each, CONNECTIONS, lab.options.seconds) for each in order}
    alone, together = samples[len(one)], samples[len(four)]
    lab.progress(f"round {number + 1}: one gateway {alone.rate:.0f}/s, four {together.rate:.0f}/s")
    return alone, together
