"""The tests notice the errors of the list; and the run that says so can tell."""

import pytest

from tests.mutation.copies import Outcome
from tests.mutation.mutants import ROOT, Mutant, StaleEntry, listed
from tests.mutation.run import BUDGET, problems, run, table

TESTS = ("core/test_secret.py",)

pytestmark = pytest.mark.long


def of_secrets(old: str, new: str, *, only: str = "") -> Mutant:
    return Mutant("trial", f"{old!r} is {new!r}", "core/secret.py", old, new, TESTS, only)


# What a run has to tell apart, each with what becomes of it.
TRIALS = {
    of_secrets('raise TypeError("a Secret is never pickled")', 'return (Secret, ("",))'): Outcome.KILLED,
    of_secrets('"a Secret is never pickled"', '"a Secret is not pickled"'): Outcome.SURVIVED,
    of_secrets("from typing import NoReturn", "from typing import Nothing"): Outcome.INVALID,
    of_secrets("return self._value", "while True: pass", only="no_such_test"): Outcome.INVALID,
}


def test_a_run_tells_what_is_noticed_from_what_is_not_and_leaves_the_working_tree_alone() -> None:
    before = (ROOT / "core" / "secret.py").read_bytes()
    results = run(list(TRIALS), workers=1)
    assert (ROOT / "core" / "secret.py").read_bytes() == before
    assert {result.mutant: result.outcome for result in results} == TRIALS
    told = problems(results)
    assert len(told) == 4, "three that are not killed, and the share"
    assert "1 of 4 errors noticed (25.0%)" in table(results)


def test_an_entry_that_does_not_fit_the_code_any_more_fails_the_run() -> None:
    with pytest.raises(StaleEntry, match="stands 2 times"):
        run([of_secrets("return MASK", "return self._value")], workers=1)


def test_what_is_not_tried_in_time_does_not_pass() -> None:
    results = run(list(TRIALS)[:1], workers=1, budget=0.0)
    assert [result.outcome for result in results] == [Outcome.NOT_TRIED]
    assert problems(results)


@pytest.mark.timeout(BUDGET + 600)
def test_every_error_of_the_list_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    """About 15 minutes on two cores."""
    results = run(listed())
    with capsys.disabled():
        print(f"\n{table(results)}")
    assert problems(results) == []
