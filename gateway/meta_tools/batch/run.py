"""The only part of a batch with effects: runs a plan's steps, each at most once and after all that it needs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from core.concurrency.cooperative_steps import wait_for_turn
from core.log_events import describe_error
from gateway.meta_tools.batch.plan import Plan, PlannedStep
from gateway.meta_tools.batch.references import MAX_SUBSTITUTED, UnresolvedReference, substitute_references
from gateway.meta_tools.batch.step import BatchStep
from gateway.meta_tools.batch.text_format import cut_text, encode_compact_json

_log = logging.getLogger(__name__)

MAX_PARALLEL = 20
MAX_RESULT_BYTES = 64 << 20  # of all results together, as compact JSON

_MAX_ERROR = 2000  # characters
_CUT_OFF = "cut off before it answered; whether it took effect is unknown"
_NO_TIME = "the time of the batch ran out"
_INTERNAL = "internal error; whether it took effect is unknown"


@dataclass(frozen=True, slots=True)
class StepResult:
    """Result of a tool. `structured` is None where it answered text alone; references then read the text.
    `error_object` is that of an error with a code. `untrusted`: it holds a vendor's data."""

    structured: Any | None
    text: str
    is_error: bool = False
    error_object: dict[str, Any] | None = None
    untrusted: bool = False


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """Outcome of one step. `error` says why it failed or was skipped, or why a good result is left out; `error_object`
    is that of an error with a code. `untrusted`: `result` holds a vendor's data."""

    id: str
    status: Literal["ok", "error", "skipped"]
    error: str = ""
    result: Any = None
    error_object: dict[str, Any] | None = None
    untrusted: bool = False


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """Outcomes of all steps, in the order given."""

    steps: tuple[StepOutcome, ...]
    is_error: bool


CallStep = Callable[[BatchStep, dict[str, Any]], Awaitable[StepResult]]
ReportProgress = Callable[[float, float | None, str], Awaitable[None]]


async def run_plan(
    plan: Plan,
    call: CallStep,
    *,
    parallel: int = MAX_PARALLEL,
    max_result_bytes: int = MAX_RESULT_BYTES,
    deadline: float | None = None,
    report_progress: ReportProgress | None = None,
    get_end_reason: Callable[[], str] = str,
    kept_results: Mapping[str, Any] = MappingProxyType({}),
) -> BatchOutcome:
    """Run the plan, at most `parallel` steps at a time. Cancelling this cancels the steps that run, and waits for them.

    `kept_results` are those that the plan refers to by handle.

    `get_end_reason` says why the caller may have no more run, or nothing: no step begins then, and no result is shown.

    `call` validates the params that it is given, which hold no references any more, and gives every failure as a
    StepResult. At `deadline` (the event loop's time) what runs is cut off and the rest skipped; the outcome says so.
    """
    run = _PlanRun(plan, call, parallel, deadline, report_progress, get_end_reason, kept_results)
    try:
        await run.run_to_end()
    finally:
        await run.cancel()
    return _build_outcome(plan, run.outcomes, max_result_bytes, get_end_reason())


class _PlanRun:
    def __init__(
        self,
        plan: Plan,
        call: CallStep,
        parallel: int,
        deadline: float | None,
        report_progress: ReportProgress | None,
        get_end_reason: Callable[[], str],
        kept_results: Mapping[str, Any],
    ) -> None:
        self._get_end_reason = get_end_reason
        self.outcomes: dict[str, StepOutcome] = {}
        self._call = call
        self._parallel = parallel
        self._deadline = deadline
        self._report_progress = report_progress
        self._total = len(plan.steps)
        self._waiting = {planned.step.id: planned for planned in plan.steps}
        self._running: dict[asyncio.Task[StepResult], PlannedStep] = {}
        self._results = dict(kept_results)
        self._referenced_ids = {reference.step for planned in plan.steps for reference in planned.references}

    async def run_to_end(self) -> None:
        self._start_ready_steps()
        while self._running:
            done, _ = await asyncio.wait(
                self._running, timeout=self._get_seconds_left(), return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                self._skip(self._waiting, _NO_TIME)
                done = set(self._running)
                await self.cancel()
            # A set has no order of its own; the order of starting makes equal runs equal.
            finished = [self._finish(task) for task in list(self._running) if task in done]
            self._start_ready_steps()
            await self._report(finished)

    async def cancel(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _get_seconds_left(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - asyncio.get_running_loop().time())

    def _start_ready_steps(self) -> None:
        if self._get_seconds_left() == 0:
            self._skip(self._waiting, _NO_TIME)
        if reason := self._get_end_reason():
            self._skip(self._waiting, reason)
        for planned in list(self._waiting.values()):
            if len(self._running) >= self._parallel:
                return
            if all(self._has_succeeded(need) for need in planned.needs):
                del self._waiting[planned.step.id]
                self._running[asyncio.create_task(self._run_step(planned))] = planned

    def _has_succeeded(self, step: str) -> bool:
        return step in self.outcomes and self.outcomes[step].status == "ok"

    async def _run_step(self, planned: PlannedStep) -> StepResult:
        if planned.references:
            await wait_for_turn(MAX_SUBSTITUTED)  # as much as they may bring in
        try:
            params = substitute_references(planned.step.params, self._results)
        except UnresolvedReference as error:
            return StepResult(None, str(error), is_error=True)
        return await self._call(planned.step, params)

    def _finish(self, task: asyncio.Task[StepResult]) -> StepOutcome:
        step = self._running.pop(task).step
        result = _get_result(task)
        value = result.text if result.structured is None else result.structured
        if result.is_error:
            outcome = StepOutcome(step.id, "error", cut_text(result.text, _MAX_ERROR), error_object=result.error_object)
        else:
            outcome = StepOutcome(step.id, "ok", result=value if step.output else None, untrusted=result.untrusted)
            if step.id in self._referenced_ids:
                self._results[step.id] = value
        self.outcomes[step.id] = outcome
        if result.is_error:
            self._handle_failure(step)
        return outcome

    def _handle_failure(self, step: BatchStep) -> None:
        unreachable = {step.id}
        while dependents := [
            waiting.step.id for waiting in self._waiting.values() if not unreachable.isdisjoint(waiting.needs)
        ]:
            unreachable.update(dependents)
            self._skip(dependents, f"{step.id} failed")
        if step.on_error == "stop":
            self._skip(self._waiting, f"stopped because {step.id} failed")

    def _skip(self, steps: Iterable[str], reason: str) -> None:
        for step in list(steps):
            del self._waiting[step]
            self.outcomes[step] = StepOutcome(step, "skipped", reason)

    async def _report(self, finished: list[StepOutcome]) -> None:
        if self._report_progress is not None:
            message = ", ".join(f"{outcome.id} {outcome.status}" for outcome in finished)
            await self._report_progress(len(self.outcomes), self._total, message)


def _get_result(task: asyncio.Task[StepResult]) -> StepResult:
    if task.cancelled():
        return StepResult(None, _CUT_OFF, is_error=True)
    error = task.exception()
    if error is None:
        return task.result()
    # The text of an unforeseen exception may hold anything, so not even the log gets it.
    _log.error("a batch step failed", extra={"event": "batch_step_failed", **describe_error(error)})
    return StepResult(None, _INTERNAL, is_error=True)


def _build_outcome(
    plan: Plan, outcomes: dict[str, StepOutcome], max_result_bytes: int, end_reason: str
) -> BatchOutcome:
    ordered = [outcomes[planned.step.id] for planned in plan.steps]
    output = [outcomes[planned.step.id] for planned in plan.steps if planned.step.output]
    is_error = all(outcome.status != "ok" for outcome in ordered) or any(outcome.status != "ok" for outcome in output)
    if end_reason:
        error = f"ran, but its result is withheld: {end_reason}"
        ordered = [
            outcome if outcome.result is None else replace(outcome, result=None, error=error) for outcome in ordered
        ]
    return BatchOutcome(tuple(_limit_results(ordered, max_result_bytes)), is_error=is_error or bool(end_reason))


def _limit_results(outcomes: list[StepOutcome], max_bytes: int) -> Iterable[StepOutcome]:
    bytes_left = max_bytes
    for outcome in outcomes:
        encoded = encode_compact_json(outcome.result)
        if outcome.result is None:
            yield outcome
        elif encoded is None:
            yield replace(outcome, result=None, error="ran, but its result is nested too deeply to be shown")
        elif len(encoded) > bytes_left:
            hint = "if it only reads, ask for less or call it alone"
            error = f"ran, but its result of {len(encoded)} bytes is left out: over {max_bytes} bytes in all; {hint}"
            yield replace(outcome, result=None, error=error)
        else:
            bytes_left -= len(encoded)
            yield outcome
