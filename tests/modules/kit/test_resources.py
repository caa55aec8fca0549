"""Contents of resources: texts that are cleaned and cut, and results in their JSON."""

import orjson
import pytest

from modules.kit import quote_argument, read_json_resource, read_long_text_resource
from modules.kit.resources import MAX_TEXT_CHARACTERS
from modules.kit.results import ResultModel, Word


class Row(ResultModel):
    id: str
    title: Word = ""


@pytest.mark.parametrize(
    ("text", "is_cut", "shown"),
    [
        ("", False, ""),
        ("a\u202eb\u200b\n", False, "ab\n"),
        ("a\n", True, "a\n\n[cut: the service has left out the end]\n"),
        ("x" * MAX_TEXT_CHARACTERS, False, "x" * MAX_TEXT_CHARACTERS),
        ("\u200b" * MAX_TEXT_CHARACTERS + "x", False, "x"),
    ],
)
def test_a_text_is_cleaned_and_says_where_it_is_cut(text: str, is_cut: bool, shown: str) -> None:
    (content,) = read_long_text_resource(text, is_cut=is_cut).contents
    assert content.text == shown


@pytest.mark.parametrize("line", ["x" * 1_000 + "\n", "会" * 3 * MAX_TEXT_CHARACTERS])
def test_a_long_text_ends_with_a_line_and_a_mark(line: str) -> None:
    text = line * (2 * MAX_TEXT_CHARACTERS // len(line) + 1)
    (content,) = read_long_text_resource(text, mime_type="text/x").contents
    shown, _, said = (content.text or "").rpartition("\n[cut: ")
    assert content.mime_type == "text/x"
    assert text.startswith(shown)
    assert MAX_TEXT_CHARACTERS - len(line) <= len(shown) <= MAX_TEXT_CHARACTERS
    assert f"these are {len(shown)} of {len(text)} characters" in said


def test_a_result_is_read_as_a_tool_gives_it() -> None:
    (content,) = read_json_resource(Row(id="1")).contents
    assert orjson.loads(content.text or "") == {"id": "1"}


@pytest.mark.parametrize(
    ("typed", "quoted"),
    [
        ("a", '"a"'),
        ('a"b\\', '"a\\"b\\\\"'),
        ("a\n\n1. b\u2028c\x1b", '"a 1. b c"'),
        ("\u202e日本\U000e0041", '"日本"'),
        ("", '""'),
    ],
)
def test_an_argument_stays_on_its_line_and_in_its_quotation_marks(typed: str, quoted: str) -> None:
    assert quote_argument(typed) == quoted
    assert len(quote_argument("x" * 5_000)) < 1_100
