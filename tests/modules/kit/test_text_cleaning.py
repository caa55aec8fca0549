"""What is invisible is taken out of a text, and what is long is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modules.kit import text_cleaning

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("日本語 葛\U000e0100飾区 ✔️ 👩‍💻", "日本語 葛\U000e0100飾区 ✔️ 👩‍💻"),
        ("می‌خواهم", "می‌خواهم"),
        (f"a{TAGS}b", "ab"),
        ("x\u202etxt.exe\u2069\u200f", "xtxt.exe"),
        ("\x1b[31mred\x07\x9b", "[31mred"),
        ("a\u200b\u2060\ufeff\u3164b", "ab"),
        ("a" + "\ufe0f\ufe01\U000e0101" * 5, "a\ufe0f"),
        ("\U000e0100 \ufe0f", " "),
        ("a\u200d\u200c\u200d\u200cb", "a\u200db"),
        ("line\nline\ttab", "line\nline\ttab"),
    ],
)
def test_what_nobody_sees_is_taken_out(text: str, shown: str) -> None:
    assert text_cleaning.clean_text(text) == shown


@pytest.mark.parametrize(
    ("identifier", "shown"),
    [
        ("x" * 301, "x" * 301),
        ("x" * 4_096, "x" * 4_096),
        ("x" * 4_097, "(left out: an id of 4097 characters)"),
        ("\u8ab2\u984c-7", "\u8ab2\u984c-7"),
        ("a\u202eb", "(left out: an id with invisible characters)"),
        ("a\nb", "(left out: an id with invisible characters)"),
        ("a  b", "a  b"),
    ],
)
def test_an_identifier_is_whole_or_left_out(identifier: str, shown: str) -> None:
    assert text_cleaning.keep_identifier(identifier) == shown


def test_an_address_is_whole_or_left_out() -> None:
    address = "https://example.test/" + "a" * 2_000
    assert text_cleaning.clean_url(f"{address}\u202e\n") == address
    assert text_cleaning.clean_url(address * 3) == "(left out: an address of 6063 characters)"


FILLERS = "\u115f\u1160\u3164\uffa0"  # letters to Unicode, nothing to the eye


@given(st.text(max_size=200))
def test_cleaning_keeps_what_is_seen_and_is_done_once(text: str) -> None:
    cleaned = text_cleaning.clean_text(text)
    assert text_cleaning.clean_text(cleaned) == cleaned
    assert [one for one in text if one.isalnum() and one not in FILLERS] == [one for one in cleaned if one.isalnum()]


@given(st.text(max_size=2000), st.integers(1, 500))
def test_lines_and_blocks_have_their_length(text: str, most: int) -> None:
    assert len(text_cleaning.clean_line(text)) <= text_cleaning.MAX_LINE_LENGTH
    assert "\n" not in text_cleaning.clean_line(text)
    cut = text_cleaning.clean_block(text, most)
    assert len(cut.text) <= most
    assert "\r" not in cut.text
