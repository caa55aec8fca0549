"""The list of errors is true of the code as it is: `make test-long` tries them (test_run.py)."""

import re
from collections import Counter

import pytest

from tests.lint.pages import ROOT, defences, read_page
from tests.mutation.mutants import Mutant, StaleEntry, listed, stale

MUTANTS = listed()
PAGE = read_page("dev/guarantees.md")


def test_every_error_can_be_put_into_the_code() -> None:
    """Where code has moved, bring `old` and `new` up to date in tests/mutation/errors.toml, or drop an entry whose
    promise is kept in another way."""
    assert list(stale(MUTANTS)) == []


def test_every_guarantee_and_each_of_its_defences_has_an_error() -> None:
    numbers = re.findall(r"^## (G\d+)$", PAGE, re.MULTILINE)
    assert {mutant.promise for mutant in MUTANTS} >= set(numbers)
    assert set(defences(PAGE)) - {mutant.file for mutant in MUTANTS} == set()


def test_every_error_names_tests_that_are_there() -> None:
    assert [file for mutant in MUTANTS for file in mutant.tests if not (ROOT / "tests" / file).exists()] == []


def test_no_error_stands_twice() -> None:
    twice = Counter((mutant.file, mutant.new, mutant.old) for mutant in MUTANTS)
    assert [one for one, count in twice.items() if count > 1] == []
    assert max(Counter(mutant.error for mutant in MUTANTS).values()) == 1


def test_few_survive_and_each_has_a_reason() -> None:
    survivors = [mutant for mutant in MUTANTS if mutant.survives]
    assert len(survivors) <= 0.05 * len(MUTANTS)
    assert all(len(mutant.survives) > 40 for mutant in survivors)


@pytest.mark.parametrize(
    ("text", "everywhere", "told"),
    [
        ("x = 1\n", False, "stands 0 times"),
        ("a = 1\na = 1\n", False, "stands 2 times"),
        ("x = 1\n", True, "stands 0 times"),
        ("a = 1 +\n", False, "no Python"),
    ],
)
def test_an_error_that_cannot_be_put_in_is_told(text: str, everywhere: bool, told: str) -> None:
    mutant = Mutant("G1", "wrong", "a.py", "a = 1", "a = 2", (), everywhere=everywhere)
    with pytest.raises(StaleEntry, match=told):
        mutant.applied(text)


def test_an_error_may_be_put_in_everywhere() -> None:
    mutant = Mutant("G1", "wrong", "a.py", "a = 1", "a = 2", (), everywhere=True)
    assert mutant.applied("a = 1\na = 1\n") == "a = 2\na = 2\n"
