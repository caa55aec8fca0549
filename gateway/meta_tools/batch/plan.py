"""Steps → a plan in which everything that can be known before the first side effect is known to be right."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from gateway.meta_tools.batch.output_paths import explain_impossible_path
from gateway.meta_tools.batch.references import (
    MAX_REFERENCES_IN_BATCH,
    FoundReferences,
    Reference,
    find_references,
    substitute_references,
)
from gateway.meta_tools.batch.step import BatchProblem, BatchStep
from gateway.meta_tools.batch.step_order import find_cycles, group_into_waves
from gateway.meta_tools.batch.text_format import cut_text, format_names, quote_value, suggest_name
from gateway.results.handles import is_handle

_MAX_ERRORS = 5  # of one kind at one step
_MAX_HINTS = 5  # in all, at the unknown ids: each is compared with every step's


class PlannedTool(Protocol):
    """Interface of a tool as planning uses it."""

    @property
    def output_schema(self) -> Mapping[str, Any] | None:
        """JSON Schema of its structured result, if it has one."""
        ...

    @property
    def output_exact(self) -> bool:
        """True if the result has no property but the schema's, though the schema does not forbid others."""
        ...


AnyTool = TypeVar("AnyTool", bound=PlannedTool)


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step and the ids of the steps that it waits for, by `after` and by reference."""

    step: BatchStep
    needs: tuple[str, ...]
    references: tuple[Reference, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in the order given, and their ids in groups of which each needs only the groups before. `handles` are those
    of kept results that the steps refer to, with the first step of each."""

    steps: tuple[PlannedStep, ...]
    waves: tuple[tuple[str, ...], ...]
    handles: Mapping[str, BatchStep] = field(default_factory=dict[str, BatchStep])


def build_plan(
    steps: Sequence[BatchStep],
    resolve: Callable[[str, str], AnyTool | None],
    check: Callable[[AnyTool, dict[str, Any]], str | None],
    *,
    unknown_tool_text: str,
) -> Plan | list[BatchProblem]:
    """Build a plan that may run, or all that is wrong. The ids of `steps` differ from each other, as `parse` sees to.

    `resolve` finds the tool of (module, name), or None where the caller has no such tool; `unknown_tool_text` is then
    the whole error, so that a hidden tool and a made-up one read the same. `check` says what is wrong with a tool's
    params; those with references are left to whoever runs the step, who has their values.
    """
    tools = {step.id: resolve(step.module, step.tool_name) for step in steps}
    references = _find_all_references(steps)
    planned = [_plan_step(step, references[step.id], tools) for step in steps]
    needs = {one.step.id: one.needs for one in planned}
    hints = iter(range(_MAX_HINTS))
    problems = [
        BatchProblem(one.step.position, error)
        for one in planned
        for error in (
            *([unknown_tool_text] if tools[one.step.id] is None else []),
            *references[one.step.id].malformed,
            *_find_unknown_ids(one, needs, hints),
            *_find_impossible_references(one, tools),
            *_find_invalid_params(one, tools[one.step.id], references[one.step.id], check),
        )
    ]
    waves = group_into_waves(needs)
    if sum(map(len, waves)) < len(steps):
        problems.extend(_find_cycle_problems(steps, needs))
    if problems:
        return sorted(problems, key=lambda problem: problem.position.number)
    return Plan(tuple(planned), tuple(tuple(wave) for wave in waves), _find_handles(planned, tools))


def _find_handles(planned: Sequence[PlannedStep], step_ids: Container[str]) -> Mapping[str, BatchStep]:
    found: dict[str, BatchStep] = {}
    for one in planned:
        for reference in one.references:
            if reference.step not in step_ids:  # then it is a handle, or the plan had a problem
                found.setdefault(reference.step, one.step)
    return found


def _find_all_references(steps: Sequence[BatchStep]) -> dict[str, FoundReferences]:
    references: dict[str, FoundReferences] = {}
    budget = MAX_REFERENCES_IN_BATCH
    for step in steps:
        references[step.id] = find_references(step.params, budget)
        budget -= references[step.id].count
    return references


def _plan_step(step: BatchStep, references: FoundReferences, step_ids: Container[str]) -> PlannedStep:
    referenced = (one.step for one in references.references if one.step in step_ids or not is_handle(one.step))
    needs = dict.fromkeys((*step.after, *referenced))
    return PlannedStep(step, tuple(needs), references.references)


def _find_unknown_ids(planned: PlannedStep, step_ids: Mapping[str, Any], hints: Iterator[int]) -> Iterator[str]:
    unknown = [need for need in planned.needs if need not in step_ids]
    for need in unknown[:_MAX_ERRORS]:
        suggestion = suggest_name(need, step_ids) if next(hints, None) is not None else ""
        hint = suggestion or f"; the steps are: {format_names(step_ids)}"
        if need in planned.step.after:
            yield f"after: there is no step {quote_value(need)}{hint}"
        else:
            text = next(reference.text for reference in planned.references if reference.step == need)
            yield f"{cut_text(text, 120)}: there is no step {quote_value(need)} (for a literal ${{ write $${{){hint}"


def _find_impossible_references(planned: PlannedStep, tools: Mapping[str, PlannedTool | None]) -> Iterator[str]:
    errors = (_explain_impossible_reference(reference, tools.get(reference.step)) for reference in planned.references)
    yield from [error for error in errors if error][:_MAX_ERRORS]


def _explain_impossible_reference(reference: Reference, tool: PlannedTool | None) -> str | None:
    if tool is None or tool.output_schema is None:
        return None
    error = explain_impossible_path(tool.output_schema, reference.step, reference.path, exact=tool.output_exact)
    return error and f"{cut_text(reference.text, 120)}: {error}"


def _find_invalid_params(
    planned: PlannedStep,
    tool: AnyTool | None,
    references: FoundReferences,
    check: Callable[[AnyTool, dict[str, Any]], str | None],
) -> list[str]:
    if tool is None or planned.references or references.malformed:
        return []
    error = check(tool, substitute_references(planned.step.params, {}))
    return [error] if error else []


def _find_cycle_problems(steps: Sequence[BatchStep], needs: Mapping[str, Sequence[str]]) -> Iterator[BatchProblem]:
    positions = {step.id: step.position for step in steps}
    for cycle in find_cycles(needs):
        path = " → ".join((*cycle, cycle[0]))
        yield BatchProblem(positions[cycle[0]], f"cycle: {path} (each needs the next); remove one of these needs")
