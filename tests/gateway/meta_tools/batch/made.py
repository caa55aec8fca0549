"""Short ways to make steps, tools and plans."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gateway.meta_tools.batch.parse import parse_commands
from gateway.meta_tools.batch.plan import Plan, build_plan
from gateway.meta_tools.batch.step import BatchProblem, BatchStep, StepPosition

UNKNOWN = "there is no such tool here"


@dataclass(frozen=True)
class Tool:
    output_schema: Mapping[str, Any] | None = None
    output_exact: bool = False


def step(id: str, params: dict[str, Any] | None = None, number: int = 1, **fields: Any) -> BatchStep:
    return BatchStep(StepPosition(number), id, "notes", fields.pop("tool_name", "add"), params or {}, **fields)


def planned(steps: list[BatchStep], tool: Tool | None = None) -> Plan | list[BatchProblem]:
    return build_plan(steps, lambda module, name: tool or Tool(), lambda tool, params: None, unknown_tool_text=UNKNOWN)


def good_plan(steps: list[BatchStep]) -> Plan:
    made = planned(steps)
    assert isinstance(made, Plan), made
    return made


def errors(made: Plan | list[BatchProblem]) -> list[tuple[int, str]]:
    assert not isinstance(made, Plan), "the plan was accepted"
    return [(problem.position.number, problem.error) for problem in made]


def parsed(commands: Any) -> list[BatchStep]:
    steps, problems = parse_commands(commands)
    assert problems == []
    return steps


def problems_of(commands: Any) -> list[str]:
    return [f"{problem.position}: {problem.error}" for problem in parse_commands(commands)[1]]
