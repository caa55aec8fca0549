"""Texts in two languages: English wherever a text is one, Japanese where it is asked for."""

import ast
import copy
import string
from pathlib import Path

import pytest

from core.bilingual_text import BilingualText, say, to_japanese

FOLDERS = ("server/diagnostics", "broker/identity", "broker/notifications", "broker/audit_streams")


def test_a_text_is_its_english() -> None:
    made = say("{name} waits", "{name} は待機中です", name="ada")
    assert made == "ada waits"
    assert f"{made}." == "ada waits."
    assert made.ja == "ada は待機中です"


def test_a_copy_has_both_languages() -> None:
    assert copy.deepcopy(BilingualText("a", "あ")).ja == "あ"


def test_a_value_in_both_languages_is_so_in_each() -> None:
    made = say("{who} connects", "{who}が接続します", who=say("its owner", "所有者"))
    assert (str(made), made.ja) == ("its owner connects", "所有者が接続します")


def test_a_value_is_no_template() -> None:
    made = say("{name} waits", "{name} は待機中です", name="{0.__class__}")
    assert made.ja == "{0.__class__} は待機中です"


def test_what_has_one_language_keeps_it() -> None:
    assert to_japanese("the disk is full") == "the disk is full"
    assert to_japanese(BilingualText("a", "あ")) == "あ"


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(KeyError):
        say("{name}", "{nama}", name="x")


@pytest.mark.parametrize("folder", FOLDERS)
def test_both_languages_fill_in_the_same_values(folder: str) -> None:
    """And each has a Japanese text."""
    found = [call for path in sorted((ROOT / folder).glob("*.py")) for call in find_texts(path.read_text())]
    assert found
    for english, japanese in found:
        assert fields_of(english) == fields_of(japanese), english
        assert not has_words(english) or any(letter > "\u3000" for letter in japanese), english


ROOT = Path(__file__).parents[2]


def fields_of(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def find_texts(source: str) -> list[tuple[str, str]]:
    """The pairs of literal templates of a module."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    said = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "say"]
    pairs = [[argument.value for argument in call.args if isinstance(argument, ast.Constant)] for call in said]
    return [(str(pair[0]), str(pair[1])) for pair in pairs if len(pair) == 2]


def has_words(template: str) -> bool:
    return any(text.strip(" :,") for text, *_ in string.Formatter().parse(template))
