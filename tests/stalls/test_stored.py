"""What was stored before makes a later request expensive: names that look alike, in a user's own graph."""

from typing import Any

import orjson
import pytest

from tests.stalls.requests import post
from tests.stalls.surface import Surface
from tests.stalls.test_stalls import GOAL_SECONDS, MOST_SECONDS
from tests.support.mcp_client import envelope

pytestmark = [
    pytest.mark.no_canary("the canary's own work would be measured"),
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="module"),
]


async def stall(surface: Surface, tool: str, **params: Any) -> float:
    arguments = {"module": "knowledge_graph", "tool_name": tool, "params": params}
    body = orjson.dumps(envelope("2025-11-25", "tools/call", {"name": "call", "arguments": arguments}))
    found = float("inf")
    for _ in range(3):
        answer = await surface.ask(post(surface, body))
        assert answer.status == 200
        found = min(found, answer.stall)
        if found < GOAL_SECONDS / 2:
            break
    return found


@pytest.mark.guarantee("G17")
@pytest.mark.parametrize("unit", ["a", "ab", "\ufdfa", "ア", "abcdefghij", "a b "])
async def test_names_that_look_alike(surface: Surface, unit: str) -> None:
    """Normalisation makes up to 18 characters of one, and what compares two names takes quadratic time."""

    def name(number: int) -> str:
        return (f"{number:03}" + unit * 200)[:190]

    for first in (0, 100):
        entities = [
            {"name": name(n)[::-1].strip() + "x", "entityType": "t", "observations": []}
            for n in range(first, first + 100)
        ]
        await stall(surface, "create_entities", entities=entities)
    wrong = [{"entityName": name(n)[::-1].strip() + "y", "contents": ["x"]} for n in range(100)]
    taken = await stall(surface, "add_observations", observations=wrong)
    print(f"{unit!r}: {taken * 1e3:.1f} ms")
    assert taken < MOST_SECONDS
