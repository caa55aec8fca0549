"""A job's call, as a worker runs it: with the rights that the person has now, and with the result that the call itself
would have had."""

import asyncio
from functools import partial

import msgspec

from broker.interface import MandateReference
from core.errors import MCPistError, Unavailable
from gateway.auth.mandate_callers import MandateAuthenticator
from gateway.change_tracker import ChangeTracker
from gateway.mcp.authority import Authority
from gateway.mcp.call_supervisor import CallSupervisor, CallTimeout
from gateway.mcp.errors import InsufficientScope, Unauthenticated
from gateway.mcp.request_context import Handler, ProtocolError, RequestContext, Result
from gateway.meta_tools.results import build_error_result
from gateway.tasks.job_questions import QuestionsAsked, create_job_questions
from gateway.tasks.stored_call import StoredCall, decode_call, encode_answer
from jobs.handler import JobOutcome, JobReport
from jobs.job import Job, JobError, JobState
from modules.kit import OUTCOME_UNKNOWN, ToolError

NO_MANDATE = "not run: your permission for this work has ended"
NOT_ASKED = "nothing was done: the user has to be asked first"
TAKEN_OVER = "cut off before this change: another worker may have taken the job over"


class JobChanges(ChangeTracker, eq=False, kw_only=True):
    """Changes of a job. A worker that may have lost the job to another one begins none."""

    report: JobReport

    def require_may_act(self) -> None:
        """Go on only if the job is this worker's for certain.

        Raises:
            ToolError: it may be another's.
        """
        if not self.report.may_act():
            raise ToolError(TAKEN_OVER)


class CallJobHandler:
    """Implements :class:`jobs.handler.JobHandler` for jobs of `call` and `batch`. `call_tool` is the handler of
    `tools/call`; a job runs for `max_seconds` at most."""

    def __init__(
        self,
        call_tool: Handler,
        authenticator: MandateAuthenticator,
        supervisor: CallSupervisor,
        *,
        max_seconds: float,
    ) -> None:
        self._call_tool = call_tool
        self._authenticator = authenticator
        self._supervisor = supervisor
        self._max_seconds = max_seconds

    async def run(self, job: Job, arguments: bytes, report: JobReport) -> JobOutcome:
        """Run a job.

        Raises:
            core.errors.Unavailable: broker or database are away, and nothing has run.
        """
        try:
            call = decode_call(arguments)
        except msgspec.DecodeError:
            return JobOutcome(None, JobState.FAILED, JobError.NOT_SUPPORTED)
        if job.mandate_id is None:
            return _build_outcome(call, build_error_result(NO_MANDATE))
        reference = MandateReference(job.mandate_id, job.schedule_id or job.id)
        authenticate = partial(self._authenticator.authenticate, reference)
        try:
            authority = Authority(await authenticate(), authenticate, self._authenticator.is_current)
        except Unauthenticated:
            return _build_outcome(call, build_error_result(NO_MANDATE))
        request = self._build_context(job, call, authority, reference, report)
        return await _run_uncut(asyncio.create_task(self._run_call(request, call), name="job call"), authority)

    async def _run_call(self, request: RequestContext, call: StoredCall) -> JobOutcome:
        try:
            return _build_outcome(call, await self._run_handler(request, call))
        except QuestionsAsked as asked:
            first = asked.questions[0]
            instead = first.instead or first.params.get("message", "")
            result = build_error_result(f"{NOT_ASKED}; {instead}" if instead else NOT_ASKED)
            error = JobError.INPUT_REQUIRED if call.may_answer else JobError.NONE
            return JobOutcome(encode_answer(call.tools, result, asked.questions), JobState.FAILED, error)

    async def _run_handler(self, request: RequestContext, call: StoredCall) -> Result:
        try:
            with self._supervisor.watch(request.deadline, None, None, request.authority, b""):
                return await self._call_tool(request, {"name": call.name, "arguments": call.arguments})
        except CallTimeout:
            hint = OUTCOME_UNKNOWN if request.changes else "ask for less at a time"
            return build_error_result(f"the job took longer than {self._max_seconds:g} s and was stopped; {hint}")
        except ProtocolError as error:
            return build_error_result(error.message)
        except InsufficientScope:
            return build_error_result("not run: the credential that started this job lacks the scope for a tool")
        except Unavailable as error:
            return build_error_result(error.text_with_retry)
        except MCPistError as error:
            return build_error_result(str(error))

    def _build_context(
        self, job: Job, call: StoredCall, authority: Authority, reference: MandateReference, report: JobReport
    ) -> RequestContext:
        async def report_progress(done: float, total: float | None, message: str) -> None:
            report.report_progress(done, total, message)

        return RequestContext(
            authority,
            f"job-{job.id}",
            asyncio.get_running_loop().time() + self._max_seconds,
            report_progress,
            call.trace,
            call.client_name,
            lambda: reference,
            questions=create_job_questions(call),
            short_text=call.short_text,
            changes=JobChanges(report=report),
            max_tokens=call.max_tokens,
            keep_until=job.expires_at,
        )


async def _run_uncut(work: "asyncio.Task[JobOutcome]", authority: Authority) -> JobOutcome:
    """Run a job's call to its end. Where the job is to end before, what has changed something is not cut; nothing
    further begins."""
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        if not authority.give_up():
            work.cancel()
            await asyncio.wait([work])
            raise
        return await work


def _build_outcome(call: StoredCall, result: Result) -> JobOutcome:
    state = JobState.FAILED if result.get("isError") else JobState.SUCCEEDED
    return JobOutcome(encode_answer(call.tools, result), state)
