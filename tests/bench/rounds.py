"""Interleaved runs: every target once, then all again, so that noise and a slow machine hit all alike."""

from collections.abc import Callable, Sequence

from tests.bench.options import Options
from tests.bench.wrk import Sample, Target, sample, warm_up

Progress = Callable[[str], None]


def interleaved(
    targets: Sequence[Target], connections: Sequence[int], options: Options, progress: Progress, *, warming: int = 1
) -> list[list[Sample]]:
    """For each number of connections and round, one sample of each target in the order of `targets`.

    Each is loaded for `warming` seconds before.
    """
    rounds: list[list[Sample]] = []
    for target in targets:
        warm_up(target, min(16, max(connections)), warming)
    for many in connections:
        for number in range(options.rounds):
            rounds.append(_round(targets, many, options.seconds, number))
            shown = ", ".join(f"{one.label} {one.rate:.0f}/s" for one in rounds[-1])
            progress(f"{many} connections, round {number + 1}: {shown}")
    return rounds


def _round(targets: Sequence[Target], connections: int, seconds: int, number: int) -> list[Sample]:
    """Every second round goes the other way: what one target leaves behind burdens each in turn."""
    order = list(targets) if number % 2 == 0 else list(reversed(targets))
    by_label = {target.label: sample(target, connections, seconds) for target in order}
    return [by_label[target.label] for target in targets]


def compared(
    rounds: Sequence[Sequence[Sample]], connections: int, compare: Callable[[Sample, Sample], float], *, of: int = 0
) -> tuple[float, ...]:
    """`compare(target, reference)` for every round; the reference is each round's last sample."""
    return tuple(compare(one[of], one[-1]) for one in rounds if one[0].connections == connections)


def rate(target: Sample, reference: Sample) -> float:
    """Calls a second, relative."""
    return target.rate / reference.rate


def added_p50(target: Sample, reference: Sample) -> float:
    """Milliseconds that the median takes longer."""
    return target.p50_ms - reference.p50_ms


def p99(target: Sample, reference: Sample) -> float:
    """The slowest hundredth, relative."""
    return target.p99_ms / reference.p99_ms


def cpu(target: Sample, reference: Sample) -> float:
    """CPU a call, relative."""
    return target.cpu_us / reference.cpu_us


def own_cpu(target: Sample, reference: Sample) -> float:
    """CPU a call in µs, the target's own."""
    return target.cpu_us
