"""The table of the vendors' habits names tests that exist (docs/dev/providers.md)."""

from broker.providers.catalogue import load_builtin_providers
from tests.lint.pages import ROOT, functions, missing_tests, named_tests, read_page

TABLE = read_page("dev/providers.md")
ROWS = [line for line in TABLE.splitlines() if line.startswith("| ") and not line.startswith("| vendor |")]


def test_every_test_is_there() -> None:
    assert missing_tests(TABLE) == []


def test_every_habit_names_a_test() -> None:
    assert ROWS
    assert [row for row in ROWS if "::" not in row] == []


def test_every_vendor_has_a_row() -> None:
    vendors = "".join(row.split("|")[1] for row in ROWS)
    titles = {one.title for one in load_builtin_providers().known.values()}
    generic = {"Google Health", "OpenID Connect", "OAuth 2"}
    assert {title for title in titles - generic if title.replace(" (", " ").split()[0] not in vendors} == set()


def test_every_habit_of_the_counterparts_is_used() -> None:
    """No test of the file of habits is left out of the table."""
    there = functions(ROOT / "tests" / "broker" / "oauth_client" / "test_vendors.py")
    named = {name.partition("::")[2] for name in named_tests(TABLE)}
    assert {name for name in there if name.startswith("test_")} - named == set()
