"""The guarantees are promised, defended and tested (docs/guarantees.md, docs/dev/guarantees.md)."""

import re

import pytest

from tests.lint.pages import ROOT, defences, read_page
from tools.guarantees import marked_tests, promises, render

PAGE = read_page("dev/guarantees.md")
NUMBERS = [f"G{number}" for number in range(1, 18)]
SECTIONS = dict(re.findall(r"^## (G\d+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def test_all_seventeen_are_promised_in_order() -> None:
    assert list(promises()) == list(SECTIONS) == NUMBERS


def test_the_lists_of_tests_are_those_of_the_marks() -> None:
    assert render(PAGE) == PAGE, "run: python -m tools.guarantees"


def test_a_mark_names_a_guarantee_and_stands_on_a_test() -> None:
    marked = marked_tests()
    assert [one for one in marked if one.guarantee not in NUMBERS or not one.name.startswith("test_")] == []


@pytest.mark.parametrize("number", NUMBERS)
def test_each_has_defences_that_are_there_and_tests(number: str) -> None:
    files = defences(SECTIONS[number])
    assert files
    assert [file for file in files if not (ROOT / file).is_file()] == []
    assert [one for one in marked_tests() if one.guarantee == number]


def test_what_the_model_promises_is_in_the_model() -> None:
    model = (ROOT / "docs" / "refresh.pml").read_text("utf-8")
    promised = set(re.findall(r"^ltl (\w+) ", model, re.MULTILINE))
    of_the_model = {
        number: set(re.findall(r"`(\w+)`", found[1]))
        for number, section in SECTIONS.items()
        if (found := re.search(r"Model: (.*) in `docs/refresh\.pml`", section))
    }
    assert list(of_the_model) == ["G1", "G2", "G4"]
    assert all(named and named <= promised for named in of_the_model.values())
