"""Try every error of the list in copies of the repository, side by side, within a budget of time."""

import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

from tests.mutation.copies import Clone, Outcome, clone, now, outcome_of
from tests.mutation.mutants import Mutant

BUDGET = 25 * 60.0
"""Seconds for the whole list on two cores."""
WORKERS = 2
LEAST_SHARE = 0.95

Report = Callable[["Result"], None]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one error, in how many seconds, and the test that noticed it first (or what was wrong)."""

    mutant: Mutant
    outcome: Outcome
    seconds: float = 0.0
    noticed_by: str = ""


def run(
    mutants: Sequence[Mutant], *, workers: int = WORKERS, budget: float = BUDGET, report: Report = lambda _: None
) -> list[Result]:
    """The results in the order of `mutants`. The tests of each error are run without it first: an error says nothing of
    tests that fail anyhow."""
    groups: dict[object, list[Mutant]] = {}
    for mutant in mutants:
        groups.setdefault(mutant.selection, []).append(mutant)
    waiting: SimpleQueue[list[Mutant]] = SimpleQueue()
    for group in sorted(groups.values(), key=len, reverse=True):
        waiting.put(group)
    results: dict[int, Result] = {}
    faults: list[BaseException] = []
    deadline = now() + budget

    def work(parent: Path, name: str) -> None:
        try:
            with clone(parent, name) as copy:
                while True:
                    for result in _group(copy, waiting.get_nowait(), deadline):
                        results[id(result.mutant)] = result
                        report(result)
        except Empty:
            return
        except BaseException as fault:  # noqa: BLE001 told to whoever waits for the threads
            faults.append(fault)

    with tempfile.TemporaryDirectory(prefix="mcpist-mutants-") as folder:
        Path(folder).chmod(0o755)
        threads = [threading.Thread(target=work, args=(Path(folder), f"copy{n}")) for n in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if faults:
        raise faults[0]
    return [results[id(mutant)] for mutant in mutants]


def _group(copy: Clone, mutants: Sequence[Mutant], deadline: float) -> Iterable[Result]:
    """The errors of one selection of tests."""
    if now() >= deadline:
        yield from (Result(mutant, Outcome.NOT_TRIED) for mutant in mutants)
        return
    plain = copy.run(mutants[0])
    if plain.code != 0 or not plain.passed:
        told = f"without the error: {plain.failure or 'no test was run'}"
        yield from (Result(mutant, Outcome.INVALID, noticed_by=told) for mutant in mutants)
        return
    for mutant in mutants:
        began = now()
        if began >= deadline:
            yield Result(mutant, Outcome.NOT_TRIED)
            continue
        ran = copy.tried(mutant)
        yield Result(mutant, outcome_of(ran), now() - began, ran.failure)


def problems(results: Sequence[Result]) -> list[str]:
    """Why the run does not count as passed; nothing if it does."""
    found = [f"{one.outcome}: {_named(one.mutant)} ({one.noticed_by})" for one in results if _is_wrong(one)]
    found += [
        f"{_named(one.mutant)} is noticed now: take its `survives` out"
        for one in results
        if one.mutant.survives and one.outcome is Outcome.KILLED
    ]
    killed = sum(one.outcome is Outcome.KILLED for one in results)
    if killed < LEAST_SHARE * len(results):
        found.append(f"{killed} of {len(results)} were noticed, which is less than {LEAST_SHARE:.0%}")
    return found


def table(results: Sequence[Result]) -> str:
    """One line for each error, then the survivors with their reasons, then the sum."""
    lines = [line_of(one) for one in results]
    lines += [
        f"survives: {_named(one.mutant)}: {one.mutant.survives or 'no reason is known: a test is missing'}"
        for one in results
        if one.outcome is Outcome.SURVIVED
    ]
    killed = sum(one.outcome is Outcome.KILLED for one in results)
    share = killed / len(results) if results else 0.0
    seconds = sum(one.seconds for one in results)
    return "\n".join([*lines, f"{killed} of {len(results)} errors noticed ({share:.1%}), {seconds:.0f} s of tests"])


def line_of(result: Result) -> str:
    """A row of the table."""
    mutant = result.mutant
    return (
        f"{mutant.promise:<9} {result.outcome:<9} {result.seconds:5.1f} s  {mutant.file:<40} {mutant.error}"
        f"{'  <- ' + result.noticed_by if result.noticed_by else ''}"
    )


def _is_wrong(result: Result) -> bool:
    if result.outcome is Outcome.SURVIVED:
        return not result.mutant.survives
    return result.outcome is not Outcome.KILLED


def _named(mutant: Mutant) -> str:
    return f"{mutant.promise}, {mutant.error!r} in {mutant.file}"
