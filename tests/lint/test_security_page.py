"""The tables of attacks name tests and files that exist (docs/dev/attacks.md)."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLES = (ROOT / "docs" / "dev" / "attacks.md").read_text("utf-8")


def named_tests(text: str) -> list[str]:
    """The tests that a page names, as ``path::function`` below tests/."""
    return sorted(set(re.findall(r"`([a-z_/]+\.py::\w+)`", text)))


def defences(text: str) -> list[str]:
    """The files of the product that a page names."""
    return sorted(set(re.findall(r"`((?:broker|core|gateway|admin_ui|server|cli)/[a-z_/]+\.(?:py|html))`", text)))


TESTS = named_tests(TABLES)
FILES = defences(TABLES)


@cache
def functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("named", TESTS)
def test_a_test_is_there(named: str) -> None:
    file, _, function = named.partition("::")
    assert function in functions(ROOT / "tests" / file)


def test_every_defence_is_there() -> None:
    named = [file for file in FILES if not (ROOT / file).is_file() and not (ROOT / "tests" / file).is_file()]
    assert (len(TESTS) > 80, len(FILES) > 25, named) == (True, True, [])


def test_every_row_names_a_test() -> None:
    rows = [
        line
        for line in TABLES.splitlines()
        if line.startswith("|") and not re.match(r"\|(-|\s*(attack|guarantee)\b)", line)
    ]
    assert len(rows) > 25
    assert [row[:60] for row in rows if "::" not in row and "*" not in row] == []
