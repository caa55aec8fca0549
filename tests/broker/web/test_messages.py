"""Both languages say the same things."""

import re
import string
from collections.abc import Mapping

import jinja2
import pytest
from markupsafe import Markup

from broker.web.i18n import ENGLISH, JAPANESE, Translations, negotiate_language
from broker.web.pages import TEMPLATES

BOTH = pytest.mark.parametrize("messages", [ENGLISH, JAPANESE], ids=["en", "ja"])


def _placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_both_have_the_same_keys() -> None:
    assert set(ENGLISH) == set(JAPANESE)


@pytest.mark.parametrize("key", sorted(ENGLISH))
def test_both_have_the_same_placeholders(key: str) -> None:
    assert _placeholders(ENGLISH[key]) == _placeholders(JAPANESE[key])


@BOTH
def test_the_texts_hold_harmless_html_only(messages: Mapping[str, str]) -> None:
    tags = {tag for text in messages.values() for tag in re.findall(r"<[^>]*>", text)}
    assert tags <= {"<code>", "</code>", "<small>", "</small>", '<a href="/account">', "</a>"}


@BOTH
def test_every_problem_says_what_happened_and_what_to_do(messages: Mapping[str, str]) -> None:
    keys = {key.split(".")[1] for key in messages if key.startswith("problem.")}
    keys -= {"summary", "home", "connect_home"}
    assert keys
    for key in keys:
        assert all(messages[f"problem.{key}.{part}"] for part in ("title", "text", "do")), key


def test_japanese_is_japanese() -> None:
    latin = [key for key, text in JAPANESE.items() if not re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", text)]
    assert latin == ["product"]


def test_every_text_that_a_template_names_is_there() -> None:
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True)
    named = set[str]()
    for name in environment.list_templates(extensions=["html"]):
        source = (TEMPLATES / name).read_text()
        environment.parse(source)
        named |= set(re.findall(r't\("([^"]+)"[,)]', source))
    assert named
    assert named <= set(ENGLISH)


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("ja", "ja"),
        ("ja-JP,ja;q=0.9,en-US;q=0.8", "ja"),
        ("en-US,en;q=0.9,ja;q=0.8", "en"),
        ("fr, ja;q=0.3, en;q=0.2", "ja"),
        ("fr, de", "en"),
        ("*", "en"),
        ("ja;q=0", "en"),
        ("ja;q=nan, en;q=0.1", "en"),
        ("ja;q=x", "en"),
        ("JA", "ja"),
        (";;;,,,=", "en"),
        ("x," * 5000 + "ja", "en"),
    ],
)
def test_the_language_that_the_browser_likes_best(header: str, language: str) -> None:
    assert negotiate_language(header) == language


def test_what_fills_a_text_is_escaped_unless_it_is_ours() -> None:
    texts = Translations("en")
    assert texts("tenant.go", tenant="<b>A</b>") == "Continue to <bdi>&lt;b&gt;A&lt;/b&gt;</bdi>"
    assert texts("account.grants.since", moment=Markup("<time>now</time>")) == "allowed <time>now</time>"
    assert "{x}" in texts("tenant.go", tenant="{x}")
