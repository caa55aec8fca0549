"""Report of a batch for its caller: structured content and the same as short lines of text."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel

from gateway.meta_tools.batch.plan import Plan
from gateway.meta_tools.batch.run import BatchOutcome, StepOutcome
from gateway.meta_tools.batch.step import BatchProblem
from gateway.meta_tools.batch.text_format import encode_compact_json, make_printable
from gateway.tool_error_text import get_error_part
from modules.kit.untrusted import UNTRUSTED, UNTRUSTED_FIELD

_MAX_PROBLEMS = 50


class StepReport(BaseModel):
    """One step: how it ended, or with `dry_run` in which wave it would run and after which steps. `details` has
    the code and the data of an error that has a code."""

    id: str
    status: Literal["ok", "error", "skipped", "planned"]
    error: str = ""
    details: Any = None
    result: Any = None
    wave: int = 0
    after: list[str] = []


class ProblemReport(BaseModel):
    """Problem that kept a batch from running; `line` is the line of the text or the position in the array, from 1."""

    line: int
    error: str


class BatchResult(BaseModel):
    """The structured content of a batch. What is empty is left out. `untrusted` is the mark of texts of strangers: it
    stands there once, where a step shows what a vendor has answered."""

    untrusted: str = ""
    steps: list[StepReport] = []
    problems: list[ProblemReport] = []


def build_output_schema() -> dict[str, Any]:
    """Build the JSON Schema of BatchResult in as few tokens as it takes: every client loads it at its start."""
    schema = BatchResult.model_json_schema(mode="serialization")
    return _strip_schema(schema, schema.pop("$defs"))


def _strip_schema(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return _strip_schema(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    bare = {keyword: value for keyword, value in schema.items() if keyword not in ("title", "description", "default")}
    if "properties" in bare:
        bare["properties"] = {name: _strip_schema(value, definitions) for name, value in bare["properties"].items()}
    if "items" in bare:
        bare["items"] = _strip_schema(bare["items"], definitions)
    return bare


@dataclass(frozen=True, slots=True)
class BatchReport:
    """One answer: `structured` has the shape of BatchResult."""

    structured: dict[str, Any]
    text: str
    is_error: bool


def report_outcome(outcome: BatchOutcome, *, short: bool = False) -> BatchReport:
    """Report which steps ran, with the results that steps asked for. A `short` text leaves the results out."""
    steps = [_render_step(step) for step in outcome.steps]
    lines = [_render_line(replace(step, result=None) if short else step) for step in outcome.steps]
    if not any(step.untrusted and step.result is not None for step in outcome.steps):
        return BatchReport({"steps": steps}, "\n".join(lines), outcome.is_error)
    marked = lines if short else [UNTRUSTED, *lines]
    return BatchReport({UNTRUSTED_FIELD: UNTRUSTED, "steps": steps}, "\n".join(marked), outcome.is_error)


def report_plan(plan: Plan) -> BatchReport:
    """Report which steps would run, the answer to `dry_run`."""
    waves = {step: number for number, wave in enumerate(plan.waves, 1) for step in wave}
    needs = {planned.step.id: list(planned.needs) for planned in plan.steps}
    steps = [
        {"id": step, "status": "planned", "wave": waves[step]} | ({"after": after} if after else {})
        for step, after in needs.items()
    ]
    lines = [
        f"{number}: {', '.join(_format_wave_step(step, needs[step]) for step in wave)}"
        for number, wave in enumerate(plan.waves, 1)
    ]
    return BatchReport({"steps": steps}, "\n".join(["valid, nothing ran; in waves:", *lines]), is_error=False)


def report_problems(problems: list[BatchProblem], head: str = "nothing ran:") -> BatchReport:
    """Report why nothing ran, or what `head` says: the first problems, and the number of the others."""
    listed = problems[:_MAX_PROBLEMS]
    omitted = len(problems) - len(listed)
    entries = [{"line": problem.position.number, "error": make_printable(problem.error)} for problem in listed]
    lines = [f"{problem.position}: {_join_lines(problem.error)}" for problem in listed]
    tail = [f"and {omitted} more problems"] if omitted else []
    return BatchReport({"problems": entries}, "\n".join([head, *lines, *tail]), is_error=True)


def _render_step(outcome: StepOutcome) -> dict[str, Any]:
    step: dict[str, Any] = {"id": outcome.id, "status": outcome.status}
    if outcome.error:
        step["error"] = make_printable(outcome.error)
    if outcome.error_object is not None:
        step["details"] = _get_details(outcome.error_object)
    if outcome.result is not None:
        step["result"] = outcome.result
    return step


def _render_line(outcome: StepOutcome) -> str:
    if outcome.result is not None:
        return f"{outcome.id} {outcome.status} {(encode_compact_json(outcome.result) or b'').decode()}"
    line = f"{outcome.id} {outcome.status}" + (f": {_join_lines(outcome.error)}" if outcome.error else "")
    if outcome.error_object is None:
        return line
    return f"{line} {(encode_compact_json(_get_details(outcome.error_object)) or b'').decode()}"


def _get_details(error_object: dict[str, Any]) -> dict[str, Any]:
    """Get what the step's own text does not say already."""
    return {name: value for name, value in get_error_part(error_object).items() if name != "message"}


def _format_wave_step(step: str, needs: list[str]) -> str:
    return f"{step} (after {', '.join(needs)})" if needs else step


def _join_lines(text: str) -> str:
    return " ".join(make_printable(text).split())
