"""The table of guarantees names tests and files that are there (docs/guarantees.md), and leaves none out."""

import re

import pytest

from tests.lint.test_security_page import ROOT, defences, functions, named_tests

PAGE = (ROOT / "docs" / "guarantees.md").read_text("utf-8")
ROWS = [line for line in PAGE.splitlines() if re.match(r"\| G\d", line)]
TESTS = named_tests(PAGE)


def test_all_seventeen_are_there_in_order() -> None:
    assert [row.split("|")[1].strip() for row in ROWS] == [f"G{number}" for number in range(1, 18)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_each_names_what_defends_and_what_tests_it(row: str) -> None:
    _, promised, defence, tests, _ = (cell.strip() for cell in row.split("|")[1:-1])
    assert promised
    assert defences(defence)
    assert named_tests(tests)


@pytest.mark.parametrize("named", TESTS)
def test_a_test_is_there(named: str) -> None:
    file, _, function = named.partition("::")
    assert function in functions(ROOT / "tests" / file)


def test_every_defence_is_there() -> None:
    assert [file for file in defences(PAGE) if not (ROOT / file).is_file()] == []


def test_what_the_model_promises_is_in_the_model() -> None:
    model = (ROOT / "docs" / "refresh.pml").read_text("utf-8")
    promised = set(re.findall(r"^ltl (\w+) ", model, re.MULTILINE))
    of_the_model = [re.search(r"((?:`\w+`(?:, | and )?)+) in (?:the model|`docs/refresh\.pml`)", row) for row in ROWS]
    named = {name for found in of_the_model if found for name in re.findall(r"`(\w+)`", found[1])}
    assert len([found for found in of_the_model if found]) == 3, "G1, G2 and G4"
    assert named
    assert named <= promised
