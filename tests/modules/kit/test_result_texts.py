"""A result's own text: what it consists of, and where the JSON of the result stands instead."""

import orjson
import pytest

from gateway.meta_tools.results import SHORT_TEXT, build_model_result
from modules.kit.result_texts import MAX_TEXT_CHARACTERS, TextResult
from modules.kit.results import ResultPage
from modules.kit.untrusted import UNTRUSTED, UNTRUSTED_FIELD
from tests.support.tokens import tokens


class Log(TextResult, ResultPage):
    text_field = "text"

    size: int
    text: str = ""


class CountedLog(Log):
    def format_text(self) -> str:
        return "\n".join(f"{number}: {line}" for number, line in enumerate(self.text.splitlines(), 1))


def read_text(result: TextResult, *, short: bool = False) -> str:
    return build_model_result(result, short=short)["content"][0]["text"]


def test_the_text_stands_behind_the_other_fields_and_the_mark() -> None:
    log = Log(size=9, text='a "b"\n{"size": 1}', nextCursor="c")
    assert read_text(log) == f'{{"nextCursor":"c","size":9}}\n{UNTRUSTED}\n\na "b"\n{{"size": 1}}'
    structured = orjson.dumps(build_model_result(log, short=False)["structuredContent"])
    assert orjson.loads(structured) == log.model_dump()
    assert read_text(CountedLog(size=3, text="a\nb")).endswith("}\n" + UNTRUSTED + "\n\n1: a\n2: b")
    assert read_text(log, short=True) == SHORT_TEXT


@pytest.mark.parametrize("log", [Log(size=1, text="a"), Log(size=1), ResultPage()])
@pytest.mark.parametrize("short", [False, True])
def test_a_vendors_result_begins_with_the_mark_once(log: ResultPage, short: bool) -> None:
    built = build_model_result(log, short=short, untrusted=True)
    structured = orjson.loads(orjson.dumps(built["structuredContent"]))
    assert list(structured.items()) == [(UNTRUSTED_FIELD, UNTRUSTED), *log.model_dump().items()]
    text = built["content"][0]["text"]
    assert text == SHORT_TEXT if short else text.count(UNTRUSTED) == 1


def test_invisible_characters_are_taken_out() -> None:
    assert read_text(Log(size=1, text="a\u202e\U000e0041\x1bb")).endswith("\n\nab")


@pytest.mark.parametrize("text", ["", "x" * (MAX_TEXT_CHARACTERS + 1)])
def test_no_text_and_one_that_is_too_long_are_shown_as_json(text: str) -> None:
    log = Log(size=len(text), text=text)
    assert orjson.loads(read_text(log)) == log.model_dump()


def test_a_diff_costs_less_than_in_json() -> None:
    diff = (
        'diff --git a/x.py b/x.py\n@@ -1,2 +1,2 @@\n-    print("one")\n+    print("two\\t")\n \treturn {"a": "b"}\n'
        * 200
    )
    log = Log(size=len(diff), text=diff)
    assert tokens(read_text(log)) < tokens(log.model_dump_json()) * 0.9
