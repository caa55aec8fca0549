"""The pages about the console: the index leads to each, and their pictures are those that the tests take, and small."""

import re
from pathlib import Path

import pytest

from tools.console_pictures import TARGET, named_pictures

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "console").glob("*.md"))
MOST_PICTURE = 120_000
MOST_TOGETHER = 3_000_000
"""Bytes."""
MOST_LINES = 70
"""A page is about one task."""


def test_the_index_leads_to_every_page() -> None:
    index = (ROOT / "docs" / "console.md").read_text("utf-8")
    assert [page.name for page in PAGES if f"](console/{page.name})" not in index] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_short_and_shows_its_task(page: Path) -> None:
    text = page.read_text("utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert 1 <= len(re.findall(r"^!\[[^\]]{10,}\]\(", text, re.M)) <= 3


def test_every_picture_is_one_that_a_test_takes() -> None:
    sources = [path.read_text("utf-8") for path in sorted((ROOT / "tests" / "console").glob("test_*.py"))]
    taken = {name for text in sources for name in re.findall(r'\.look\(\w+, "([a-z0-9-]+)"\)', text)}
    assert set(named_pictures()) - taken == set()


def test_the_pictures_are_those_that_pages_show() -> None:
    assert sorted(path.stem for path in TARGET.iterdir()) == named_pictures()


def test_pictures_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in TARGET.iterdir()}
    assert {name: size for name, size in sizes.items() if size > MOST_PICTURE} == {}
    assert sum(sizes.values()) <= MOST_TOGETHER
