"""What the caller of a batch reads: structured content and the same as short lines of text."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel

from gateway.meta_tools.batch.plan import Plan
from gateway.meta_tools.batch.run import BatchOutcome, StepOutcome
from gateway.meta_tools.batch.step import Problem
from gateway.meta_tools.batch.wording import compact_json, printable

_MAX_PROBLEMS = 50


class StepReport(BaseModel):
    """One step: how it ended, or with `dry_run` in which wave it would run and after which steps."""

    id: str
    status: Literal["ok", "error", "skipped", "planned"]
    error: str = ""
    result: Any = None
    wave: int = 0
    after: list[str] = []


class ProblemReport(BaseModel):
    """Why nothing ran; `line` is the line of the text or the position in the array, from 1."""

    line: int
    error: str


class BatchResult(BaseModel):
    """The structured content of a batch. What is empty is left out."""

    steps: list[StepReport] = []
    problems: list[ProblemReport] = []


def output_schema() -> dict[str, Any]:
    """The JSON Schema of BatchResult in as few tokens as it takes: every client loads it at its start."""
    schema = BatchResult.model_json_schema(mode="serialization")
    return _bare(schema, schema.pop("$defs"))


def _bare(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return _bare(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    bare = {word: value for word, value in schema.items() if word not in ("title", "description", "default")}
    if "properties" in bare:
        bare["properties"] = {name: _bare(value, definitions) for name, value in bare["properties"].items()}
    if "items" in bare:
        bare["items"] = _bare(bare["items"], definitions)
    return bare


@dataclass(frozen=True, slots=True)
class Report:
    """One answer: `structured` has the shape of BatchResult."""

    structured: dict[str, Any]
    text: str
    is_error: bool


def report_outcome(outcome: BatchOutcome, *, short: bool = False) -> Report:
    """What ran and what not; results as far as steps asked for them. A `short` text leaves the results out."""
    steps = [_step(step) for step in outcome.steps]
    lines = [_line(replace(step, result=None) if short else step) for step in outcome.steps]
    return Report({"steps": steps}, "\n".join(lines), outcome.is_error)


def report_plan(plan: Plan) -> Report:
    """What would run: the answer to `dry_run`."""
    waves = {step: number for number, wave in enumerate(plan.waves, 1) for step in wave}
    needs = {planned.step.id: list(planned.needs) for planned in plan.steps}
    steps = [
        {"id": step, "status": "planned", "wave": waves[step]} | ({"after": after} if after else {})
        for step, after in needs.items()
    ]
    lines = [
        f"{number}: {', '.join(_with_needs(step, needs[step]) for step in wave)}"
        for number, wave in enumerate(plan.waves, 1)
    ]
    return Report({"steps": steps}, "\n".join(["valid, nothing ran; in waves:", *lines]), is_error=False)


def report_problems(problems: list[Problem]) -> Report:
    """Why nothing ran; the first problems, and how many more there are."""
    shown = problems[:_MAX_PROBLEMS]
    more = len(problems) - len(shown)
    entries = [{"line": problem.place.number, "error": printable(problem.error)} for problem in shown]
    lines = [f"{problem.place}: {_one_line(problem.error)}" for problem in shown]
    rest = [f"and {more} more problems"] if more else []
    return Report({"problems": entries}, "\n".join(["nothing ran:", *lines, *rest]), is_error=True)


def _step(outcome: StepOutcome) -> dict[str, Any]:
    step: dict[str, Any] = {"id": outcome.id, "status": outcome.status}
    if outcome.error:
        step["error"] = printable(outcome.error)
    if outcome.result is not None:
        step["result"] = outcome.result
    return step


def _line(outcome: StepOutcome) -> str:
    if outcome.result is not None:
        return f"{outcome.id} {outcome.status} {(compact_json(outcome.result) or b'').decode()}"
    return f"{outcome.id} {outcome.status}" + (f": {_one_line(outcome.error)}" if outcome.error else "")


def _with_needs(step: str, needs: list[str]) -> str:
    return f"{step} (after {', '.join(needs)})" if needs else step


def _one_line(text: str) -> str:
    return " ".join(printable(text).split())
