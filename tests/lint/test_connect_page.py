"""The table of the connect flow's clauses names tests that exist (docs/dev/connect.md)."""

import re
from pathlib import Path

import pytest

from tests.lint.test_security_page import functions

ROOT = Path(__file__).resolve().parents[2]
TABLE = (ROOT / "docs" / "dev" / "connect.md").read_text("utf-8")
ROWS = [line for line in TABLE.splitlines() if line.startswith("| ") and not line.startswith("| clause |")]
TESTS = sorted(set(re.findall(r"`([a-z_/]+\.py::\w+)`", TABLE)))


@pytest.mark.parametrize("named", TESTS)
def test_a_test_is_there(named: str) -> None:
    file, _, function = named.partition("::")
    assert function in functions(ROOT / "tests" / file)


def test_every_clause_names_a_test() -> None:
    assert (len(ROWS) >= 20, len(TESTS) > 45) == (True, True)
    assert [row[:60] for row in ROWS if "::" not in row] == []
