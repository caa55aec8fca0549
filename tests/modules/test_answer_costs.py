"""What answers cost a model, beside the vendor's own JSON: full-size answers, with every field that is described.

``UPDATE_SNAPSHOTS=1`` writes the numbers that the modules' pages show (then: ``python -m tools.module_docs``).
"""

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.modules.answer_scenes import SCENES, SENTENCE
from tests.support.tokens import tokens

FOLDER = Path(__file__).parents[1] / "snapshots" / "answers"
LARGEST = 1 / 3
LARGER = {
    ("microsoft_todo", "list_task_lists"): "an id of Graph's has 90 tokens, and nothing else that a tool takes stands "
    "for a list; Graph sends little else",
    ("supabase", "get_project"): "Supabase's own JSON has 110 tokens, and nothing in it is said twice",
}
"""Tools of which a typical answer costs more than a third, and why."""
MOST = 0.8
"""Of the vendor's, for those."""


@pytest.mark.parametrize("name", SCENES)
async def test_a_typical_answer_costs_at_most_a_third_of_the_vendors(name: str) -> None:
    """What people wrote is not counted: it is the same on both sides."""
    measured: dict[str, dict[str, Any]] = {}
    async with SCENES[name]() as scene:
        for tool, params in scene.calls.items():
            scene.vendor.bodies.clear()
            answer = orjson.dumps(await scene.caller.call(tool, **params)).decode()
            raw = max(scene.vendor.bodies, key=len).decode()  # beside it: the names of people, a count
            ours, theirs = count_around(answer), count_around(raw)
            assert ours <= theirs * (MOST if (name, tool) in LARGER else LARGEST), (
                f"{tool}: {ours} of {theirs}\n{answer[:800]}"
            )
            measured[tool] = {"tokens": tokens(answer), "vendor_tokens": tokens(raw)}
            if (name, tool) in LARGER:
                assert ours > theirs * LARGEST, f"{tool} costs no more than a third: it needs no reason"
                measured[tool]["reason"] = LARGER[name, tool]
    path = FOLDER / f"{name}.json"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        FOLDER.mkdir(exist_ok=True)
        path.write_bytes(orjson.dumps(measured, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    known: Any = orjson.loads(path.read_bytes())
    assert known.keys() == measured.keys()
    for tool, cost in known.items():
        assert measured[tool] == {
            side: pytest.approx(one, rel=0.05) if isinstance(one, int) else one for side, one in cost.items()
        }, f"{tool}: run again with UPDATE_SNAPSHOTS=1"


def count_around(text: str) -> int:
    return tokens(text.replace(SENTENCE.strip(), ""))
