"""The table of the vendors' habits names tests that exist (docs/dev/providers.md)."""

import re
from pathlib import Path

import pytest

from broker.providers.catalogue import load_builtin_providers
from tests.lint.test_security_page import functions

ROOT = Path(__file__).resolve().parents[2]
TABLE = (ROOT / "docs" / "dev" / "providers.md").read_text("utf-8")
ROWS = [line for line in TABLE.splitlines() if line.startswith("| ") and not line.startswith("| vendor |")]
TESTS = sorted(set(re.findall(r"`([a-z_/]+\.py::\w+)`", TABLE)))


@pytest.mark.parametrize("named", TESTS)
def test_a_test_is_there(named: str) -> None:
    file, _, function = named.partition("::")
    assert function in functions(ROOT / "tests" / file)


def test_every_habit_names_a_test() -> None:
    assert (len(ROWS) > 35, len(TESTS) > 45) == (True, True)
    assert [row for row in ROWS if "::" not in row] == []


def test_every_vendor_has_a_row() -> None:
    vendors = "".join(row.split("|")[1] for row in ROWS)
    titles = {one.title for one in load_builtin_providers().known.values()}
    generic = {"Google Health", "OpenID Connect", "OAuth 2"}
    assert {title for title in titles - generic if title.replace(" (", " ").split()[0] not in vendors} == set()


def test_every_habit_of_the_counterparts_is_used() -> None:
    """No test of the file of habits is left out of the table."""
    there = functions(ROOT / "tests" / "broker" / "oauth_client" / "test_vendors.py")
    named = {name.partition("::")[2] for name in TESTS}
    assert {name for name in there if name.startswith("test_")} - named == set()
