"""The page of wishes (docs/modules/wishes.md) counts what it lists, and names tests and tools that exist."""

import re

from tests.lint.pages import ROOT, missing_tests, read_page

PAGE = read_page("modules/wishes.md")
WISHES = dict(re.findall(r"^### (\d+)\. .*?\n(.*?)(?=^##)", PAGE, re.DOTALL | re.MULTILINE))
ROWS = re.findall(r"^\| (\d+) \| .*? \| (\d+) \| (.*?) \|$", PAGE, re.MULTILINE)
THREAD = re.compile(r"\(https://github\.com/[\w-]+/[\w-]+/(?:issues|pull)/\d+\)")
MODULE_PAGES = [path for path in (ROOT / "docs/modules").glob("*.md") if path.name != "wishes.md"]


def test_twenty_wishes_with_as_many_threads_as_they_say() -> None:
    assert [number for number, _, _ in ROWS] == [str(number) for number in range(1, 21)]
    assert {number: len(THREAD.findall(text)) for number, text in WISHES.items()} == {
        number: int(found) for number, found, _ in ROWS
    }


def test_what_is_met_names_a_test_that_is_there() -> None:
    assert missing_tests(PAGE) == []
    assert [number for number, _, state in ROWS if state.startswith("met") and "::" not in WISHES[number]] == []


def test_at_least_fifteen_are_met() -> None:
    assert sum(state.startswith("met") for _, _, state in ROWS) >= 15


def test_tools_and_parameters_are_on_the_pages_of_the_modules() -> None:
    known = set(re.findall(r"\w+", " ".join(path.read_text("utf-8") for path in MODULE_PAGES)))
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", PAGE))
    assert named
    assert named - known == set()
