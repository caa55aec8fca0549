"""Each clause of the connect flow and of the token broker names tests that exist (docs/dev/connect.md, refresh.md)."""

import re

import pytest

from tests.lint.pages import missing_tests, read_page


@pytest.mark.parametrize("name", ["dev/connect.md", "dev/refresh.md"])
def test_every_clause_names_tests_that_are_there(name: str) -> None:
    page = read_page(name)
    rows = [line for line in page.splitlines() if line.startswith("|") and not re.match(r"\|\s*(-|clause\b)", line)]
    assert rows
    assert [row[:60] for row in rows if "::" not in row] == []
    assert missing_tests(page) == []


def test_no_user_s_guide_names_a_test() -> None:
    guides = ["token-broker.md", "guarantees.md", "connect.md", "security.md", "doctor.md", "sign-in.md", "clients.md"]
    named = {name: re.findall(r"\btest_\w+", read_page(name)) for name in guides}
    assert {name: found for name, found in named.items() if found} == {}
