"""The order in which steps may run, and the cycles that leave none. Both take step id → ids that it needs."""

from collections.abc import Iterator, Mapping, Sequence

Needs = Mapping[str, Sequence[str]]


def group_into_waves(needs: Needs) -> list[list[str]]:
    """Groups of steps; each needs only steps of the groups before. Steps in or behind a cycle are in none."""
    found: list[list[str]] = []
    place = {step: number for number, step in enumerate(needs)}
    missing = {step: {other for other in wanted if other in needs} for step, wanted in needs.items()}
    wave = [step for step, wanted in missing.items() if not wanted]
    dependents = _invert_needs(missing)
    while wave:
        found.append(wave)
        wave = sorted(_free_dependents(wave, missing, dependents), key=place.__getitem__)
    return found


def _invert_needs(needs: Mapping[str, set[str]]) -> dict[str, list[str]]:
    dependents: dict[str, list[str]] = {step: [] for step in needs}
    for step, wanted in needs.items():
        for other in wanted:
            dependents[other].append(step)
    return dependents


def _free_dependents(wave: list[str], missing: dict[str, set[str]], dependents: dict[str, list[str]]) -> Iterator[str]:
    for done in wave:
        for step in dependents[done]:
            missing[step].discard(done)
            if not missing[step]:
                yield step


def find_cycles(needs: Needs) -> list[list[str]]:
    """Cycles, each from its earliest step and without the return to it; no two share a step."""
    found: list[list[str]] = []
    left = dict(needs)
    while left := _find_stuck_steps(left):
        cycle = _find_cycle(left)
        found.append(cycle)
        for step in cycle:
            del left[step]
    return found


def _find_stuck_steps(needs: Needs) -> dict[str, Sequence[str]]:
    free = {step for wave in group_into_waves(needs) for step in wave}
    return {step: wanted for step, wanted in needs.items() if step not in free}


def _find_cycle(stuck: Needs) -> list[str]:
    # Every stuck step needs a stuck one, so the walk must come back to where it was.
    path: list[str] = []
    step = next(iter(stuck))
    while step not in path:
        path.append(step)
        step = next(other for other in stuck[step] if other in stuck)
    cycle = path[path.index(step) :]
    order = list(stuck)
    first = cycle.index(min(cycle, key=order.index))
    return cycle[first:] + cycle[:first]
