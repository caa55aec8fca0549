"""The order in which steps may run, and the cycles that leave none. Both take step id → ids that it needs."""

from collections.abc import Iterator, Mapping, Sequence

Needs = Mapping[str, Sequence[str]]


def group_into_waves(needs: Needs) -> list[list[str]]:
    """Groups of steps; each needs only steps of the groups before. Steps in or behind a cycle are in none."""
    waves: list[list[str]] = []
    position = {step: number for number, step in enumerate(needs)}
    missing = {step: {need for need in needs_of_step if need in needs} for step, needs_of_step in needs.items()}
    wave = [step for step, needs_of_step in missing.items() if not needs_of_step]
    dependents = _invert_needs(missing)
    while wave:
        waves.append(wave)
        wave = sorted(_free_dependents(wave, missing, dependents), key=position.__getitem__)
    return waves


def _invert_needs(needs: Mapping[str, set[str]]) -> dict[str, list[str]]:
    dependents: dict[str, list[str]] = {step: [] for step in needs}
    for step, needed in needs.items():
        for need in needed:
            dependents[need].append(step)
    return dependents


def _free_dependents(wave: list[str], missing: dict[str, set[str]], dependents: dict[str, list[str]]) -> Iterator[str]:
    for finished in wave:
        for step in dependents[finished]:
            missing[step].discard(finished)
            if not missing[step]:
                yield step


def find_cycles(needs: Needs) -> list[list[str]]:
    """Cycles, each from its earliest step and without the return to it; no two share a step."""
    cycles: list[list[str]] = []
    remaining = dict(needs)
    while remaining := _find_stuck_steps(remaining):
        cycle = _find_cycle(remaining)
        cycles.append(cycle)
        for step in cycle:
            del remaining[step]
    return cycles


def _find_stuck_steps(needs: Needs) -> dict[str, Sequence[str]]:
    free = {step for wave in group_into_waves(needs) for step in wave}
    return {step: needed for step, needed in needs.items() if step not in free}


def _find_cycle(stuck: Needs) -> list[str]:
    # Every stuck step needs a stuck one, so the walk must come back to where it was.
    path: list[str] = []
    step = next(iter(stuck))
    while step not in path:
        path.append(step)
        step = next(need for need in stuck[step] if need in stuck)
    cycle = path[path.index(step) :]
    order = list(stuck)
    first = cycle.index(min(cycle, key=order.index))
    return cycle[first:] + cycle[:first]
