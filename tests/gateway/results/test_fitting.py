"""What fits a budget, of values that nobody would send but an attacker."""

import time
from typing import Any

import orjson
import pytest

from gateway.catalogue import load_installed_modules
from gateway.results.handles import PREFIX, create_handle, is_handle, parse_handle
from gateway.results.partial import PARTIAL_FIELD, build_partial
from gateway.results.reading import read_range, search
from gateway.results.shape import describe_shape
from modules.kit.untrusted import UNTRUSTED, UNTRUSTED_FIELD
from tests.support.tokens import tokens

DESCRIPTION = {"handle": create_handle().text, "expires_at": "2026-11-27T10:00Z"}
BUDGET = 2_000
SECONDS = 5.0
"""Of one answer, on a machine that does ten things at once."""


def nested(levels: int) -> Any:
    value: Any = {"word": "x" * 300}
    for level in range(levels):
        value = {"inner": value} if level % 2 else [value, "y" * 300]
    return {"top": value}


HOSTILE: dict[str, Any] = {
    "one long line": {"a": "x" * 2_000_000},
    "syllables": {"a": "ab" * 1_000_000},
    "white space": {"a": " \n" * 1_000_000},
    "quotes": {"a": '\\"' * 500_000},
    "signs": {"a": "-" * 2_000_000},
    "many numbers": {"a": [1] * 500_000},
    "empty lists": {"a": [[]] * 500_000},
    "a map": {f"k{n}": n for n in range(100_000)},
    "long names": {f"{n}{'n' * 9_000}": n for n in range(60)},
    "many long texts": {f"f{n}": "word " * 12_000 for n in range(60)},
    "wide items": {"a": [{f"k{j}": j for j in range(60)} for _ in range(2_000)]},
    "one huge item": {"a": [{"b": {"c": ["word " * 50_000] * 3}}], "d": 1},
    "rare letters": {"a": "\U00020bb7" * 200_000},
    "deep": nested(230),
    "lists in lists": {"rows": [[{"q": ["x" * 20_000] * 3}] * 3] * 20},
    "nothing": {},
    "one number": {"n": 5},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_any_value_fits_and_soon(name: str) -> None:
    value = HOSTILE[name]
    started = time.process_time()
    answer = build_partial(value, BUDGET, DESCRIPTION)
    read_range(value, "$", 0, None, (), BUDGET)
    search(value, "x", "$", 0, BUDGET)
    assert time.process_time() - started < SECONDS
    assert tokens(orjson.dumps(answer).decode()) <= BUDGET
    assert answer[PARTIAL_FIELD]["handle"] == DESCRIPTION["handle"]
    for one, shown in answer.items():
        if isinstance(shown, str):
            assert value[one].startswith(shown)


def test_what_is_cut_is_listed_and_the_mark_stays_first() -> None:
    value = {
        UNTRUSTED_FIELD: UNTRUSTED,
        "items": [{"n": n, "t": "word " * 20} for n in range(500)],
        "log": "line\n" * 9_000,
    }
    answer = build_partial(value, BUDGET, DESCRIPTION)
    assert list(answer)[:2] == [UNTRUSTED_FIELD, PARTIAL_FIELD]
    left = {one["path"]: one for one in answer[PARTIAL_FIELD]["left"]}
    assert left["items"] == {"path": "items", "items": 500, "next": len(answer["items"])}
    assert left["log"] == {"path": "log", "characters": 45_000, "next": len(answer["log"])}
    assert answer["log"].endswith("line\n")


def test_a_short_text_is_whole_or_not_there() -> None:
    value = {"items": [{"n": n, "t": f"{n} " + "word " * 60} for n in range(500)], "note": "short " * 30}
    answer = build_partial(value, BUDGET, DESCRIPTION)
    assert answer["note"] == value["note"]
    assert all(item in value["items"] for item in answer["items"])


def test_no_tool_has_a_field_that_the_description_would_hide() -> None:
    tools = [tool for module in load_installed_modules().modules for tool in module.tools]
    fields = {name for tool in tools for name in tool.result.model_fields}
    assert len(fields) > 100
    assert PARTIAL_FIELD not in fields


def test_a_shape_is_what_all_items_together_have() -> None:
    value = {"a": [{"k": 1}, {"k": "x", "due date": None}, {}], "b": [], "c": {"d": {"e": [True]}}, "f": 1.5}
    assert describe_shape(value, 500) == ('{a: [{k: int|str, "due date": null}], b: [], c: {d: {e: [bool]}}, f: float}')
    assert describe_shape(value, 60) == "{a: […], b: [], c: {…}, f: float}"
    assert describe_shape(value, 5) == "{…}"


def test_a_handle_is_parsed_as_it_was_made() -> None:
    handle = create_handle()
    assert parse_handle(handle.text) == handle
    assert is_handle(handle.text)
    assert create_handle() != handle
    last = handle.text[-1]
    for wrong in (handle.text[:-1], handle.text + "A", handle.text.replace(PREFIX, "x"), "", PREFIX):
        assert parse_handle(wrong) is None
    # Of the last letter two bits say nothing: only one spelling counts.
    spellings = [
        one for one in map(chr, range(48, 123)) if one != last and parse_handle(handle.text[:-1] + one) == handle
    ]
    assert spellings == []
