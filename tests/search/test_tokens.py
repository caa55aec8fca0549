"""One function makes the tokens of Japanese and English text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.tokens import stem_word, tokenize, tokenize_query


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("课", ["课"]),
        ("課題の一覧", ["課題", "題の", "の一", "一覧"]),
        ("木", ["木"]),
        ("Jiraの課題", ["jira", "の課", "課題"]),
        ("2026年", ["2026", "年"]),
        ("List open issues.", ["list", "open", "issu"]),
        ("get_module_schema", ["get_module_schema", "get", "modul", "schema"]),
        ("repos/issue-labels", ["repos/issue-labels", "repo", "issu", "label"]),
        ("createItem", ["createitem", "creat", "item"]),
        ("  ---  __ ", []),
        ("a\x00b\u202ec", ["a", "b", "c"]),
        ("Ünïcode ÇA", ["ünïcode", "ça"]),
        ("😀 ok", ["ok"]),
    ],
)
def test_tokens_of_a_text(text: str, tokens: list[str]) -> None:
    assert list(tokenize(text)) == tokens


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("サーバー", "サーバ"),
        ("サーバーの一覧", "サーバの一覧"),
        ("ﾒﾓ", "メモ"),
        ("ＧｉｔＨｕｂ", "GitHub"),
        ("ヴァージョン", "バージョン"),
        ("㍻", "平成"),
        ("ISSUES", "issue"),
        ("created", "creates"),
        ("creating", "create"),
        ("running", "run"),
        ("repositories", "repository"),
        ("branches", "branch"),
    ],
)
def test_spellings_of_one_word_have_the_same_tokens(one: str, other: str) -> None:
    assert list(tokenize(one)) == list(tokenize(other))


@pytest.mark.parametrize(
    ("written", "asked"), [("取り消し", "取消"), ("打ち合わせ", "打合せ"), ("申し込みの期限", "申込")]
)
def test_kanji_find_the_word_that_is_written_with_its_endings(written: str, asked: str) -> None:
    assert set(tokenize(written)) & set(tokenize_query(asked))


def test_particles_make_no_word() -> None:
    assert "版一" not in set(tokenize("版の一覧"))


@pytest.mark.parametrize(
    ("query", "tokens"),
    [
        ("課題を教えてください", ["課題", "題を", "を教", "教え"]),
        ("よてい", ["よて", "てい"]),
        ("issue Issue issues", ["issu"]),
        ("!?", []),
    ],
)
def test_tokens_of_a_query(query: str, tokens: list[str]) -> None:
    assert tokenize_query(query) == tokens


@pytest.mark.parametrize("word", ["access", "status", "this", "bed", "sing", "is", "api", "v1ing"])
def test_words_that_only_look_like_a_form_stay(word: str) -> None:
    assert stem_word(word) == word


@given(st.text(max_size=200))
def test_any_text_has_tokens_that_are_normal_and_not_empty(text: str) -> None:
    for token in tokenize(text):
        assert token
        assert token == token.lower()
        assert token in set(tokenize(unicodedata.normalize("NFC", text)))
