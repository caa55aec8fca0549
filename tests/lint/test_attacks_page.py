"""The tables of attacks name tests and files that exist (docs/dev/attacks.md)."""

import re

from tests.lint.pages import ROOT, defences, missing_tests, read_page

PAGE = read_page("dev/attacks.md")
ROWS = [line for line in PAGE.splitlines() if line.startswith("|") and not re.match(r"\|(-|\s*attack\b)", line)]


def test_every_test_is_there() -> None:
    assert missing_tests(PAGE) == []


def test_every_defence_is_there() -> None:
    assert [f for f in defences(PAGE) if not (ROOT / f).is_file() and not (ROOT / "tests" / f).is_file()] == []


def test_every_row_names_a_test() -> None:
    assert ROWS
    assert [row[:60] for row in ROWS if "::" not in row and "*" not in row] == []
