"""The promise of a budget, on answers as vendors give them: within it always, and what is asked for found always.

The shapes are those of the modules' own results of full-size answers (tests/modules/answer_scenes.py); they are made as
long as such answers grow.
"""

import copy
import random
from typing import Any

import orjson
import pytest

from gateway.results.partial import PARTIAL_FIELD, build_partial
from gateway.results.reading import read_range, search
from tests.gateway.results.payloads import PAYLOADS, plant
from tests.support.tokens import tokens

BUDGETS = (200, 800, 2_500, 8_000, 25_000)
DESCRIPTION = {
    "bytes": 1_234_567,
    "handle": "res_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6",
    "expires_at": "2026-11-27T10:00Z",
    "read": "module results: read_result {handle, path, start, count, columns} or search_result {handle, text}",
}
FACT = "Falkenberg keeps the second key"


def cost(answer: Any) -> int:
    return tokens(orjson.dumps(answer).decode())


def test_there_are_thirty_of_them() -> None:
    assert len(PAYLOADS) >= 30
    assert min(len(orjson.dumps(payload)) for payload in PAYLOADS.values()) > 45_000


@pytest.mark.parametrize("name", PAYLOADS)
def test_it_is_within_budget_and_the_fact_is_found(name: str) -> None:
    source = random.Random(name)
    payload = copy.deepcopy(PAYLOADS[name])
    place = plant(payload, FACT, source)
    for budget in BUDGETS:
        answer = build_partial(payload, budget, DESCRIPTION)
        assert cost(answer) <= budget, (name, budget)
        assert answer[PARTIAL_FIELD]["handle"] == DESCRIPTION["handle"]
        found = search(payload, "second KEY", "$", 0, budget)
        assert cost(found) <= budget
        (match,) = found["matches"]
        assert match["path"] == place
        assert FACT in match["text"]
        around = read_range(payload, place, match.get("at", 0), None, (), budget)
        assert cost(around) <= budget
        assert FACT in around["text"]


@pytest.mark.parametrize("name", PAYLOADS)
def test_nothing_is_cut_and_nothing_is_lost(name: str) -> None:
    """What is shown is whole, and going on where each remainder says gives the rest, byte for byte."""
    payload = PAYLOADS[name]
    answer = build_partial(payload, 8_000, DESCRIPTION)
    check_whole(answer, payload, {one["path"] for one in answer[PARTIAL_FIELD].get("left", [])})
    lists = {name: value for name, value in payload.items() if isinstance(value, list)}
    for field, items in lists.items():
        read: list[Any] = []
        at = 0
        while at is not None and items:
            part = read_range(payload, field, at, None, (), 8_000)
            assert cost(part) <= 8_000
            if part.get("left"):
                return  # a single item is larger: it is read by its own path
            read += part["items"]
            at = part.get("next")
        assert read == items


def check_whole(shown: dict[str, Any], payload: dict[str, Any], left: set[str]) -> None:
    for name, value in shown.items():
        if name == PARTIAL_FIELD or value == payload[name]:
            continue
        assert any(path.startswith(name) for path in left), name
        if isinstance(value, list):
            assert value[:-1] == payload[name][: len(value) - 1]
            assert value[-1] == payload[name][len(value) - 1] or len(value) == 1
        if isinstance(value, str):
            assert payload[name].startswith(value)
