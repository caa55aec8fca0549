"""batch as a meta-tool: the three pure steps between the sieve and the tool runner."""

from dataclasses import replace
from typing import Any, cast

import msgspec
import orjson

from core.audit.event import CallOutcome
from core.concurrency.cooperative_steps import wait_for_turn
from core.errors import LimitReached
from core.known_clients import LEAST_RESULT_TOKENS
from gateway.argument_validation import InvalidToolArguments, validate_arguments
from gateway.auth.tool_scopes import get_required_scope, require_scope
from gateway.catalogue import CatalogueTool
from gateway.lookup_recorder import MissingName
from gateway.mcp.client_questions import IN_BATCH
from gateway.mcp.errors import InsufficientScope
from gateway.mcp.request_context import Params, RequestContext, Result
from gateway.meta_tools.batch.parse import parse_commands
from gateway.meta_tools.batch.plan import Plan, build_plan
from gateway.meta_tools.batch.report import BatchReport, report_outcome, report_plan, report_problems
from gateway.meta_tools.batch.run import StepResult, run_plan
from gateway.meta_tools.batch.step import BatchProblem, BatchStep
from gateway.meta_tools.results import TOOL_FAILED, build_error_result
from gateway.results.budget import choose_budget
from gateway.results.kept_results import KeptResults
from gateway.results.limiter import ResultLimiter
from gateway.sieve.sieve import Sieve, SieveView
from gateway.tasks.job_starter import BATCH, DeferredWork, JobStarter
from gateway.tool_runner import NO_SUCH_TOOL, ToolRunner
from gateway.vendor_connections import VendorConnections
from modules.kit import ContentResult, ToolError

# Seconds before the call's own deadline, so that what has run is still reported.
REPORT_MARGIN_SECONDS = 0.5
EARLY = 0.01
MAX_KEPT_RESULTS = 5
"""Kept results that the steps of a batch may refer to."""


class BatchTool:
    """Several tools in one call; whatever is wrong is found before the first side effect."""

    def __init__(
        self,
        sieve: Sieve,
        runner: ToolRunner,
        vendors: VendorConnections,
        results: KeptResults,
        limiter: ResultLimiter,
        jobs: JobStarter | None = None,
    ) -> None:
        self._sieve = sieve
        self._runner = runner
        self._vendors = vendors
        self._results = results
        self._limiter = limiter
        self._jobs = jobs

    async def run(self, request: RequestContext, params: Params) -> Result:
        """Parse, plan, and unless this is a dry run, run.

        Raises:
            gateway.mcp.errors.InsufficientScope: the credential lacks the scope of a permitted tool; nothing ran.
        """
        commands, dry_run = params.get("commands"), params.get("dry_run", False)
        if not isinstance(commands, str | list) or not isinstance(dry_run, bool):
            return build_error_result("commands must be JSONL text or an array of steps, dry_run must be true or false")
        plan = await self._make_plan(request, cast("str | list[Any]", commands))
        if not isinstance(plan, Plan):
            return _build_result(report_problems(plan))
        kept_results = await self._load_kept_results(request, plan)
        if isinstance(kept_results, BatchProblem):
            return _build_result(report_problems([kept_results]))
        if dry_run:
            return _build_result(report_plan(plan))
        if self._jobs is not None and (work := self._build_work(request, commands, plan)) is not None:
            result = await self._jobs.run_batch(request, work)
            if result is not None:
                return result
        outputs = sum(planned.step.output for planned in plan.steps)
        share = max(LEAST_RESULT_TOKENS, choose_budget(request) // max(1, outputs))
        request.turn.release()  # its steps have their own
        outcome = await run_plan(
            plan,
            lambda step, arguments: self._run_step_in_turn(request, step, arguments, share),
            deadline=request.deadline - REPORT_MARGIN_SECONDS,
            report_progress=request.report_progress,
            get_end_reason=lambda: request.authority.ended,
            kept_results=kept_results,
        )
        request.turn.resume()
        steps = {planned.step.id: planned.step for planned in plan.steps}
        outcome = replace(outcome, steps=tuple(await self._limiter.limit_steps(request, steps, outcome.steps)))
        return _build_result(report_outcome(outcome, short=request.short_text and not outcome.is_error))

    async def plan_work(self, request: RequestContext, commands: Any) -> DeferredWork:
        """Check a batch that is to run at a later time.

        Raises:
            ToolError: it would not run; the text says all that is wrong.
            gateway.mcp.errors.InsufficientScope: the credential lacks the scope of a permitted tool.
        """
        plan = await self._make_plan(request, commands)
        if not isinstance(plan, Plan):
            raise ToolError(report_problems(plan, "the batch cannot run:").text)  # of others, steps may have
        if plan.handles:
            raise ToolError("a kept result is gone by the time this runs: no step can refer to one")
        return self._describe_work(request, commands, plan)

    def _build_work(self, request: RequestContext, commands: Any, plan: Plan) -> DeferredWork | None:
        """Build the work of a batch that becomes a job: one with an asynchronous tool, or whose client has it so."""
        deferral = request.deferral
        if deferral is None:
            return None
        work = self._describe_work(request, commands, plan)
        return work if work.is_async or deferral.always or deferral.batches else None

    def _describe_work(self, request: RequestContext, commands: Any, plan: Plan) -> DeferredWork:
        view = self._sieve.get_view(request.caller)
        found = [view.find(planned.step.module, planned.step.tool_name) for planned in plan.steps]
        tools = [tool for tool in found if tool is not None]
        return DeferredWork(BATCH, {"commands": commands}, tools, f"Batch of {len(plan.steps)} steps")

    async def _make_plan(self, request: RequestContext, commands: str | list[Any]) -> Plan | list[BatchProblem]:
        view = self._sieve.get_view(request.caller)
        steps, problems = parse_commands(commands)
        await self._record_denied(view, request, steps)
        await wait_for_turn(request.message_size)
        if problems:  # a plan without the steps that could not be read would only name what follows from that
            return problems
        plan = build_plan(steps, view.find, _check_arguments, unknown_tool_text=NO_SUCH_TOOL)
        if not isinstance(plan, Plan):
            return plan
        permitted = [(step, tool) for step in steps if (tool := view.find(step.module, step.tool_name))]
        scopes = frozenset(get_required_scope(tool) for _, tool in permitted)
        for step, tool in permitted:
            await self._demand_scope(request, step, tool, scopes)
        return await self._find_unusable_steps(request, permitted) or plan

    async def _load_kept_results(self, request: RequestContext, plan: Plan) -> dict[str, Any] | BatchProblem:
        """Load the kept results that steps refer to, of which the model need not be shown anything."""
        loaded: dict[str, Any] = {}
        for handle, step in plan.handles.items():
            if len(loaded) == MAX_KEPT_RESULTS:
                return BatchProblem(step.position, f"at most {MAX_KEPT_RESULTS} kept results in one batch")
            try:
                loaded[handle], _, _ = await self._results.load(request, handle)
            except ToolError as error:
                return BatchProblem(step.position, str(error))
        return loaded

    async def _find_unusable_steps(
        self, request: RequestContext, steps: list[tuple[BatchStep, CatalogueTool]]
    ) -> list[BatchProblem]:
        """Find the steps whose vendor cannot be reached for this caller, before any other has an effect."""
        obstacles = [(step, await self._vendors.find_obstacle(request, tool)) for step, tool in steps]
        return [BatchProblem(step.position, str(obstacle)) for step, obstacle in obstacles if obstacle]

    async def _demand_scope(
        self, request: RequestContext, step: BatchStep, tool: CatalogueTool, scopes: frozenset[str]
    ) -> None:
        try:
            require_scope(request.caller, tool, scopes)
        except InsufficientScope:
            await self._runner.refuse(request, tool, orjson.dumps(step.params), CallOutcome.DENIED, "scope")
            raise

    async def _record_denied(self, view: SieveView, request: RequestContext, steps: list[BatchStep]) -> None:
        missing = [
            MissingName(step.module, step.tool_name, orjson.dumps(step.params))
            for step in steps
            if view.find(step.module, step.tool_name) is None
        ]
        await self._runner.record_lookups(request, len(steps), missing)

    async def _run_step_in_turn(
        self, request: RequestContext, step: BatchStep, arguments: dict[str, Any], share: int
    ) -> StepResult:
        turn = request.turn.fork()
        try:
            await turn.wait()
            return await self._run_step(msgspec.structs.replace(request, turn=turn), step, arguments, share)
        except LimitReached as error:
            return StepResult(None, f"not run: {error}", is_error=True)
        finally:
            turn.release()

    async def _run_step(
        self, request: RequestContext, step: BatchStep, arguments: dict[str, Any], share: int
    ) -> StepResult:
        """Run a step. `share` is what a tool that keeps to a budget itself may take of the answer's."""
        # A timer may fire a little early, and the step that it cuts off has still run out of time.
        deadline = request.deadline - REPORT_MARGIN_SECONDS - EARLY
        step_request = msgspec.structs.replace(
            request,
            request_id=f"{request.request_id}/{step.id}",
            deadline=deadline,
            report_progress=None,
            questions=IN_BATCH,
            deferral=None,
            max_tokens=step.max_tokens or share,
        )
        await request.authority.refresh()
        outcome = await self._runner.run(step_request, step.module, step.tool_name, arguments)
        if outcome.result is None:
            return StepResult(None, outcome.error or TOOL_FAILED, is_error=True, error_object=outcome.error_object)
        if isinstance(outcome.result, ContentResult):
            text = await self._limiter.describe_content(request, step.module, step.tool_name, outcome.result)
            return StepResult(None, text, untrusted=outcome.untrusted)
        return StepResult(outcome.result.model_dump(mode="json", by_alias=True), "", untrusted=outcome.untrusted)


def _check_arguments(tool: CatalogueTool, arguments: dict[str, Any]) -> str | None:
    try:
        validate_arguments(tool, orjson.dumps(arguments))
    except InvalidToolArguments as error:
        return str(error)
    return None


def _build_result(report: BatchReport) -> Result:
    return {
        "content": [{"type": "text", "text": report.text}],
        "structuredContent": report.structured,
        "isError": report.is_error,
    }
