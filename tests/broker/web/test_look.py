"""The pages without script look as the console: the same colours, type and space, in light and dark."""

import re
from pathlib import Path

import pytest

from broker.web.pages import TEMPLATES

CONSOLE = Path(__file__).parents[3] / "admin_ui" / "console"
TOKENS = CONSOLE / "src" / "styles" / "tokens.css"
DECLARED = re.compile(r"--([\w-]+)\s*:\s*((?:[^;(){}]|\((?:[^()]|\([^()]*\))*\))+)")
BOTH = re.compile(r"light-dark\(((?:[^(),]|\([^()]*\))+),\s*((?:[^(),]|\([^()]*\))+)\)")
OWN = {"control"}
"""How high a button is: the console says it in each of its components."""


def read_tokens(style: str) -> dict[str, str]:
    """The custom properties that a style declares, blanks aside."""
    return {name: re.sub(r"\s+", " ", value).replace(", ", ",").strip() for name, value in DECLARED.findall(style)}


def read_page_style() -> tuple[str, str, str]:
    """The properties in light, those that differ in dark, and the rules."""
    light, dark, *rules = (TEMPLATES / "pages.css").read_text().splitlines()
    shared = rules.pop(0)
    return light + shared, dark, "\n".join(rules)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_tokens_are_the_console_s(dark: bool) -> None:
    tokens = {
        name: BOTH.sub(lambda pair: pair.group(2 if dark else 1), value)
        for name, value in read_tokens(TOKENS.read_text()).items()
    }
    light, changed, _ = read_page_style()
    used = read_tokens(light) | (read_tokens(changed) if dark else {})
    assert used.keys() >= {"bg", "fg", "accent", "font", "text-14", "space-16", "radius-control"}
    assert {name: tokens.get(name) for name in used} == used


def test_the_rules_name_tokens_that_exist_and_no_colour_of_their_own() -> None:
    light, dark, rules = read_page_style()
    named = set(re.findall(r"var\(--([\w-]+)\)", rules))
    assert named - OWN == read_tokens(light).keys(), "none is missing, none is there for nothing"
    assert read_tokens(dark).keys() < read_tokens(light).keys()
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|\brgb|\bhsl", rules)


def test_the_mark_is_the_console_s() -> None:
    icon = (CONSOLE / "public" / "icon.svg").read_text()
    drawn = re.findall(r' d="([^"]+)"', icon)
    page = (TEMPLATES / "base.html").read_text()
    assert len(drawn) == 1
    assert page.count(drawn[0]) == 2, "in the head of the page and on its tab"
