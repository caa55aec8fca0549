"""A document is divided by its structure, loses nothing, and is divided in time that is linear in its length."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.chunks import Chunk, split_document

GUIDE = """Intro text.

# Guide

## Install

Run the installer.

```sh
# not a heading
make install
```

## 使い方 ##

サーバーを起動します。終わり。

Old style
---------

- one
- two
"""


def split(text: str, max_chars: int = 60, max_cjk_chars: int = 30) -> list[tuple[str, str]]:
    return [
        (one.heading, text[one.start : one.start + one.length]) for one in chunks_of(text, max_chars, max_cjk_chars)
    ]


def chunks_of(text: str, max_chars: int = 60, max_cjk_chars: int = 30) -> list[Chunk]:
    return split_document(text, max_chars=max_chars, max_cjk_chars=max_cjk_chars)


def test_chunks_follow_the_headings() -> None:
    assert split(GUIDE) == [
        ("", "Intro text."),
        ("Guide > Install", "# Guide\n\n## Install\n\nRun the installer."),
        ("Guide > Install", "```sh\n# not a heading\nmake install\n```"),
        ("Guide > 使い方", "## 使い方 ##\n\nサーバーを起動します。終わり。"),
        ("Guide > Old style", "Old style\n---------\n\n- one\n- two"),
    ]


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("# A\n\ntext\n\n### B\n\ntext\n\n## C\n\ntext", ["A", "A > B", "A > C"]),
        ("Title\n=====\n\ntext\n\nPart\n---\n\ntext", ["Title", "Title > Part"]),
        ("#no heading\n\ntext", [""]),
        ("    # code\n\ntext", [""]),
        ("#\n\ntext", [""]),
        ("| a |\n| --- |\n| b |", [""]),
        ("one\ntwo\n---\nthree", [""]),
        ("# C# #\ntext", ["C#"]),
        ("```\n# A", [""]),
    ],
)
def test_what_a_heading_is(text: str, headings: list[str]) -> None:
    assert [heading for heading, _ in split(text, 20, 20)] == headings or [
        heading for heading, _ in split(text, 200, 200)
    ] == headings


def test_a_heading_alone_goes_with_what_follows() -> None:
    assert split("# A\n\n# B\n\n" + "text " * 10) == [("", "# A\n\n# B\n\n" + ("text " * 10).strip())]


def test_fenced_code_stays_whole_where_it_fits() -> None:
    code = "```\na = 1\n\nb = 2\n```"
    assert code in [chunk for _, chunk in split("word " * 10 + "\n\n" + code + "\n\n" + "word " * 10)]


def test_what_is_too_large_is_divided_at_lines_and_sentences() -> None:
    code = "```\n" + "line = 1234567890\n" * 10 + "```"
    assert all(chunk.endswith(("90", "```")) for _, chunk in split(code))
    japanese = "これは最初の文です。次の文はここで終わります！「引用です。」最後の文。"
    assert [chunk for _, chunk in split(japanese, 20, 15)] == [
        "これは最初の文です。",
        "次の文はここで終わります！",
        "「引用です。」最後の文。",
    ]
    english = "This is one. Is v1.2 two? Yes (it is.) Three comes here."
    assert [chunk for _, chunk in split(english, 20)] == [
        "This is one.",
        "Is v1.2 two?",
        "Yes (it is.)",
        "Three comes here.",
    ]


def test_a_chunk_of_both_languages_is_measured_in_proportion() -> None:
    lengths = {text: max(one.length for one in chunks_of(text * 200, 80, 40)) for text in ("a", "あ", "aあ")}
    assert lengths["a"] == 80
    assert lengths["あ"] == 40
    assert 50 <= lengths["aあ"] <= 54


@pytest.mark.parametrize("piece", ["e\u0301", "が", "👨‍👩‍👧", "👍🏽", "\ud83d\ude00", "ก็"])
def test_no_character_is_cut(piece: str) -> None:
    text = piece * 100
    for one in chunks_of(text, 20, 10):
        chunk = text[one.start : one.start + one.length]
        assert len(chunk) % len(piece) == 0
        assert chunk.startswith(piece)


@given(st.text(st.sampled_from("a あ。.#-=`|\n\r\t*>_~1)\u0301"), max_size=300), st.integers(1, 40), st.integers(1, 40))
def test_every_character_is_in_one_chunk_in_order(text: str, max_chars: int, max_cjk_chars: int) -> None:
    place = 0
    for one in chunks_of(text, max_chars, max_cjk_chars):
        assert one.start >= place
        assert not text[place : one.start].strip()
        assert 0 < one.length <= max(max_chars, max_cjk_chars)
        chunk = text[one.start : one.start + one.length]
        assert chunk == chunk.strip()
        place = one.start + one.length
    assert not text[place:].strip()


FRONT = "---\ntitle: 経費\ntags: [a]\n---\n"


def test_front_matter_is_in_no_chunk_unless_there_is_no_more() -> None:
    text = f"{FRONT}領収書を出します。"
    assert [text[one.start : one.start + one.length] for one in chunks_of(text, 80, 40)] == ["領収書を出します。"]
    assert len(chunks_of(FRONT, 80, 40)) == 1
    rule = "---\nA paragraph between two rules.\n---\nEnd."
    assert "".join(rule[one.start : one.start + one.length] for one in chunks_of(rule, 80, 40)).startswith("---")


PATTERNS = {
    "one line": "a",
    "words": "word ",
    "fences": "```\n",
    "fences that differ": "```\n~~~\n",
    "backquotes": "`",
    "number signs": "#",
    "headings": "# a\n",
    "headings without text": "#\n",
    "closing signs": "# # ",
    "full stops": "。",
    "dots": ".",
    "quotes": '!?"',
    "brackets": "。」",
    "marks": "\u0301",
    "rows": "|\n",
    "items": "- a\n",
    "underlines": "a\n=\n",
    "lines": "\n",
    "spaces": " ",
    "both languages": "あa",
    "families": "👨‍👩‍👧",
}


@pytest.mark.parametrize("piece", PATTERNS.values(), ids=PATTERNS)
def test_time_is_linear(piece: str) -> None:
    """A text of twice the length takes twice the time, not four times; processor time, so that others do not count."""

    def measure(length: int) -> float:
        text = piece * (length // len(piece))
        start = time.thread_time()
        chunks_of(text, 800, 400)
        return time.thread_time() - start

    small = measure(25_000)
    assert measure(100_000) < max(12 * small, 0.05)


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("piece", PATTERNS.values(), ids=PATTERNS)
def test_four_million_characters_take_seconds(piece: str) -> None:
    start = time.thread_time()
    chunks_of(piece * (4_000_000 // len(piece)), 800, 400)
    assert time.thread_time() - start < 30


def test_headings_in_a_path_are_short() -> None:
    title = "word " * 100
    text = "\n\n".join(f"{'#' * level} {title}\n\ntext text text" for level in range(1, 7))
    assert max(len(one.heading) for one in chunks_of(text)) <= 500


def test_a_chunk_ends_no_character_of_its_own_form() -> None:
    text = unicodedata.normalize("NFD", "ガギグゲゴ" * 50)
    assert all(not unicodedata.combining(text[one.start]) for one in chunks_of(text, 11, 11))
