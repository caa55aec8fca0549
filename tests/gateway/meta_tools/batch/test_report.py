import json
import warnings
from typing import Any

import jsonschema
import pytest

from gateway.meta_tools.batch.report import (
    BatchReport,
    BatchResult,
    build_output_schema,
    report_outcome,
    report_plan,
    report_problems,
)
from gateway.meta_tools.batch.run import BatchOutcome, StepOutcome
from gateway.meta_tools.batch.step import BatchProblem, StepPosition
from tests.gateway.meta_tools.batch.made import good_plan, step

OUTCOME = report_outcome(
    BatchOutcome(
        (
            StepOutcome("a", "ok", result={"n": [1, "é"]}),
            StepOutcome("b", "error", "no such\n note"),
            StepOutcome("c", "skipped", "b failed"),
            StepOutcome("d", "ok", "ran, but …"),
            StepOutcome("e", "ok", result=0),
            StepOutcome("f", "ok"),
        ),
        is_error=True,
    )
)
PLAN = report_plan(good_plan([step("b", {"x": "${a}"}), step("a"), step("c", after=("b", "a"))]))
PROBLEMS = report_problems(
    [BatchProblem(StepPosition(3), "bad \ud800"), BatchProblem(StepPosition(2, "step"), "worse\nstill")]
)


def test_the_outcome_as_lines():
    assert OUTCOME.text.split("\n") == [
        'a ok {"n":[1,"é"]}',
        "b error: no such note",
        "c skipped: b failed",
        "d ok: ran, but …",
        "e ok 0",
        "f ok",
    ]
    assert OUTCOME.is_error
    assert OUTCOME.structured["steps"][0] == {"id": "a", "status": "ok", "result": {"n": [1, "é"]}}


def test_the_plan_as_waves():
    assert PLAN.text == "valid, nothing ran; in waves:\n1: a\n2: b (after a)\n3: c (after b, a)"
    assert PLAN.structured["steps"] == [
        {"id": "b", "status": "planned", "wave": 2, "after": ["a"]},
        {"id": "a", "status": "planned", "wave": 1},
        {"id": "c", "status": "planned", "wave": 3, "after": ["b", "a"]},
    ]
    assert not PLAN.is_error


def test_problems_with_their_lines():
    assert PROBLEMS.text == "nothing ran:\nline 3: bad ?\nstep 2: worse still"
    assert PROBLEMS.structured == {"problems": [{"line": 3, "error": "bad ?"}, {"line": 2, "error": "worse\nstill"}]}
    assert PROBLEMS.is_error


def test_many_problems_are_cut():
    report = report_problems([BatchProblem(StepPosition(1), "x")] * 70)
    assert len(report.structured["problems"]) == 50
    assert report.text.endswith("and 20 more problems")


@pytest.mark.parametrize("report", [OUTCOME, PLAN, PROBLEMS])
def test_every_answer_is_what_the_schema_says(report: BatchReport):
    jsonschema.validate(report.structured, _forbidding_others(build_output_schema()))
    assert BatchResult.model_validate(report.structured).model_dump(exclude_defaults=True) == report.structured


def test_the_schema_is_small():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of its own use of importlib.resources
        import bpe_openai
    text = json.dumps(build_output_schema(), separators=(",", ":"))
    assert len(list(bpe_openai.get_encoding("o200k_base").encode(text))) <= 140


def _forbidding_others(schema: dict[str, Any]) -> dict[str, Any]:
    closed = dict(schema)
    if "properties" in closed:
        closed["properties"] = {name: _forbidding_others(value) for name, value in closed["properties"].items()}
        closed["additionalProperties"] = False
    if "items" in closed:
        closed["items"] = _forbidding_others(closed["items"])
    return closed
