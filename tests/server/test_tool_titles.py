"""Japanese titles of the modules and tools that come with MCPist, and search in both languages."""

import re

import pytest

from core.text_folding import fold_text, matches_all_words
from server.installed_manifests import load_installed_manifests
from server.tool_translations import load_translations

JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def test_every_tool_has_a_japanese_title_and_no_other_does() -> None:
    installed = {manifest.name: sorted(manifest.tools) for manifest in load_installed_manifests()}
    translated = load_translations()
    assert {name: sorted(entry["tools"]) for name, entry in translated.items()} == installed


def test_a_title_is_japanese_and_short() -> None:
    titles = [title for entry in load_translations().values() for title in entry["tools"].values()]
    descriptions = [entry["description"] for entry in load_translations().values()]
    assert not [title for title in titles if not JAPANESE.search(title) or len(title) > 40]
    assert not [text for text in descriptions if not JAPANESE.search(text) or len(text) > 120]


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("ぷるりくえすと", "プルリクエストを作成", True),
        ("ﾌﾟﾙﾘｸｴｽﾄ", "プルリクエストを作成", True),
        ("作成 プル", "プルリクエストを作成", True),
        ("削除", "プルリクエストを作成", False),
        ("ＩＳＳＵＥ", "create_issue", True),
        ("straße", "STRASSE", True),
        ("", "anything", True),
    ],
)
def test_search_folds_width_case_and_kana(query: str, text: str, found: bool) -> None:
    assert matches_all_words(fold_text(query), fold_text(text)) is found
