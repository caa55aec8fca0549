"""One step of a batch, and what is wrong with one; both know where they stand in what the caller sent."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class StepPosition:
    """Position of a step: the line of the text, or the index in the array; both from 1."""

    number: int
    unit: Literal["line", "step"] = "line"

    def __str__(self) -> str:
        return f"{self.unit} {self.number}"


@dataclass(frozen=True, slots=True)
class BatchProblem:
    """Problem for which a batch is refused before anything runs."""

    position: StepPosition
    error: str


@dataclass(frozen=True, slots=True)
class BatchStep:
    """One call of a tool. `params` may hold references to the results of other steps. `max_tokens` is how large its
    result may be; 0 where it does not say."""

    position: StepPosition
    id: str
    module: str
    tool_name: str
    params: dict[str, Any]
    after: tuple[str, ...] = ()
    output: bool = False
    on_error: Literal["skip", "stop"] = "skip"
    max_tokens: int = 0
