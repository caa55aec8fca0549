"""Turning a checked call into a job: a mandate of the broker's, then the queue, and nothing is answered before both are
durable. Whoever calls without tasks waits for its end for a while."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any
from uuid import UUID, uuid4

import msgspec

from broker.interface import CredentialRefusal, Mandate, MandateBroker, MandatePurpose, MandateRequest, RefusalReason
from core.errors import LimitReached, MCPistError, Unavailable
from core.secret import Secret
from gateway.catalogue import CatalogueTool
from gateway.mcp.client_questions import compute_question_digest, select_capabilities
from gateway.mcp.request_context import AskedQuestion, GivenResponse, RequestContext, Result
from gateway.meta_tools.results import build_error_result, build_value_result
from gateway.results.budget import choose_budget
from gateway.sieve.sieve import SieveView
from gateway.tasks.idempotency import compute_idempotency_key, has_idempotency_key
from gateway.tasks.own_jobs import UNREADABLE, OwnJobs, get_client
from gateway.tasks.stored_call import StoredAnswer, StoredCall, encode_call, is_same_call
from gateway.tasks.task_form import describe_waiting
from jobs.job import MANDATE_LIFETIME, MAX_TITLE, Job, JobState, NewJob, ToolNames
from jobs.queue import JobQueue

CALL, BATCH = "call", "batch"
"""The kinds of these jobs, for each of which a worker has the same handler."""
DEFAULT_LIFETIME = timedelta(hours=1)
MIN_LIFETIME, MAX_LIFETIME = timedelta(minutes=1), timedelta(days=7)
"""How long a result may be kept. What a client asks for is moved into these limits, and it is told."""
MAX_ATTEMPTS = 3
ASKING_SECONDS = 5.0
"""Seconds that a call waits before it answers with a task, where the tool may ask the person something first."""
SHORT_SECONDS = 5.0
"""Seconds that a call waits for a batch which need not be a job: one that ends by then is answered with its result."""
ANSWER_MARGIN_SECONDS = 2.0
"""Seconds before a call's own deadline by which it answers that its job goes on."""
TOO_MANY_MANDATES = "not started: you have as much work under way as anybody may have; let some of it end first"
UNSTORED = "this takes a text that is kept nowhere, so it does not run as a job: call it without a task"
NO_JOB = "this does not run as a job, and is answered at once: call it as it is"
NOT_DONE_YET = "This takes longer than a call may."
HOW_TO_GO_ON = "It goes on as a job; its result is kept: wait for it with the tool wait_for_job of the module jobs"
NO_RESPONSES: Mapping[str, GivenResponse] = MappingProxyType({})
NO_SUBJECT = "no credential of yours is available here; call the tool from an MCP client"


@dataclass(frozen=True, slots=True)
class DeferredWork:
    """A call of `call` or `batch` that has passed all checks. `tools` are those that it may run."""

    kind: str
    arguments: dict[str, Any]
    tools: Sequence[CatalogueTool]
    title: str

    @property
    def is_async(self) -> bool:
        """Check whether it has to be a job: one of its tools may take longer than a call."""
        return any(tool.is_async for tool in self.tools)


def build_call_work(tool: CatalogueTool, params: dict[str, Any]) -> DeferredWork:
    """Build the work of one tool."""
    arguments = {"module": tool.module, "tool_name": tool.name, "params": params}
    return DeferredWork(CALL, arguments, (tool,), f"{tool.owner.title}: {tool.tool.title}")


def list_tool_names(tools: Iterable[CatalogueTool], view: SieveView) -> ToolNames:
    """List what a mandate for these tools permits: the tools, and those that they read by, as far as these exist for
    the caller. Tools of built-in modules need none."""
    names = set[tuple[str, str]]()
    for tool in tools:
        if tool.module not in view.built_in:
            names.add((tool.module, tool.name))
        for full_name in tool.tool.reads:
            module, _, name = full_name.partition(".")
            if view.find(module, name) is not None:
                names.add((module, name))
    return tuple(sorted(names))


def takes_unstored(work: DeferredWork) -> bool:
    """Check whether a tool of this work takes what is kept nowhere, as the arguments of a job would be."""
    return any(tool.tool.unstored_parameters for tool in work.tools)


class JobStarter:
    """Starts jobs in the presence of their caller. `patience` is how long a call waits for its job (seconds)."""

    def __init__(
        self,
        queue: JobQueue,
        mandates: MandateBroker,
        jobs: OwnJobs,
        *,
        patience: float,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._queue = queue
        self._mandates = mandates
        self._jobs = jobs
        self._patience = patience
        self._now = now

    async def run(self, request: RequestContext, work: DeferredWork) -> Result:
        """Start a job, and answer as the request wants it: at once, or with the job's result if it ends in time.

        Raises:
            Invalid: the idempotency key is none.
            core.errors.Conflict: it belongs to other work.
            core.errors.LimitReached: too many jobs wait.
            core.errors.Unavailable: broker or database are away.
        """
        job = await self._start(request, work)
        return await self._answer_call(request, work, job) if isinstance(job, Job) else build_error_result(job)

    async def _answer_call(self, request: RequestContext, work: DeferredWork, job: Job) -> Result:
        deferral = request.deferral
        assert deferral is not None
        if deferral.describe_job is None:
            result = await self._wait(request, job, self._patience)
            return result or _build_waiting_result(await self._jobs.find(request.caller, str(job.id)) or job, request)
        # What the tool asks the person is asked before its task is told of (SEP-2663, Task Creation).
        seconds = ASKING_SECONDS if _may_be_asked(request, work) else 0.0
        if not (work.is_async or deferral.always):
            seconds = SHORT_SECONDS
        result = await self._wait(request, job, seconds) if seconds else None
        return result or deferral.describe_job(job)

    async def run_batch(self, request: RequestContext, work: DeferredWork) -> Result | None:
        """Do the same for a batch; None where it is to be run in its call: it need not be a job, and cannot become one.

        Raises:
            core.errors.LimitReached, core.errors.Unavailable: as from :meth:`run`.
        """
        deferral = request.deferral
        assert deferral is not None
        if work.is_async or deferral.always:
            return await self.run(request, work)
        built_in = self._jobs.get_view(request.caller).built_in
        if takes_unstored(work) or all(tool.module in built_in for tool in work.tools):
            return None
        try:
            job = await self._start(request, work)
        except LimitReached:  # so many jobs wait that this one was not added
            job = ""
        if isinstance(job, Job) and not await self._takes_back(request, job):
            return await self._answer_call(request, work, job)
        request.turn.resume()
        return None

    async def _takes_back(self, request: RequestContext, job: Job) -> bool:
        """Take a job back that no worker is there for; False where one may have begun it."""
        if not job.lacks_worker or has_idempotency_key(request):
            return False
        cancelled = await self._jobs.cancel(request.caller, str(job.id))
        return cancelled is not None and cancelled.state is JobState.CANCELLED and cancelled.started_at is None

    async def answer(self, request: RequestContext, job: Job, responses: Mapping[str, Any]) -> str:
        """Run a job anew that awaits input, in the presence of its person and with what their client has answered, by
        the key of the question; the text of an error where that is not possible. While questions are open, the job goes
        on waiting. An answer that comes too late changes nothing."""
        answer = await self._jobs.load_answer(request.caller, job)
        if isinstance(answer, str):
            return answer if await self._jobs.find(request.caller, str(job.id)) == job else ""
        call = await self._jobs.load_call(job)
        if call is None or not answer.questions:
            return UNREADABLE
        given = {one.key: GivenResponse(compute_question_digest(one), responses[one.key])
                 for one in answer.questions if one.key in responses}  # fmt: skip
        answered = msgspec.structs.replace(call, responses=call.responses | given)
        if list_open_questions(answer, answered):
            await self._queue.note_answers(job, encode_call(answered))
            return ""
        if not isinstance(subject := request.subject, Secret):
            return NO_SUBJECT
        mandate = await self._create_mandate(subject, job.id, job.title, call.tools)
        if isinstance(mandate, CredentialRefusal):
            current = await self._jobs.find(request.caller, str(job.id))
            return explain_refusal(mandate) if current == job else ""
        if not await self._queue.answer_job(job, encode_call(answered), mandate.id):
            current = await self._jobs.find(request.caller, str(job.id))
            if current is None or current.mandate_id != mandate.id:  # else it is that of an answer that came first
                await self._end_mandate(mandate)
        return ""

    async def _wait(self, request: RequestContext, job: Job, seconds: float) -> Result | None:
        """Wait for a job, and return what its call would have returned; None where that is still to come. A client that
        gives the call up meanwhile gives up the job, which it has not been told of; unless it can come back to it, by
        the call's idempotency key."""
        end = min(asyncio.get_running_loop().time() + seconds, request.deadline - ANSWER_MARGIN_SECONDS)
        try:
            current = await self._jobs.wait_for_end(request, job, end)
        except asyncio.CancelledError:
            if request.authority.is_given_up and not has_idempotency_key(request):
                with contextlib.suppress(MCPistError):  # the database is away
                    await self._jobs.cancel(request.caller, str(job.id))
            raise
        if request.authority.ended:
            return build_error_result(f"the result is withheld: {request.authority.ended}")
        if current is None or not current.state.is_final:
            return None
        answer = await self._jobs.load_answer(request.caller, current)
        if isinstance(answer, str):
            return build_error_result(answer)
        if answer.questions and request.questions is not None:
            if current.awaits_input and not has_idempotency_key(request):
                await self._jobs.withdraw(current)  # the call is made again, and becomes another job
            return request.questions.build_request(answer.questions)
        return answer.build_result()

    async def _create_mandate(
        self, subject: Secret, job_id: UUID, title: str, tools: ToolNames
    ) -> Mandate | CredentialRefusal:
        end = self._now() + MANDATE_LIFETIME
        return await self._mandates.create_mandate(
            MandateRequest(subject, MandatePurpose.JOB, job_id, title, tools, end)
        )

    async def _end_mandate(self, mandate: Mandate) -> None:
        with contextlib.suppress(Unavailable):
            await asyncio.shield(self._mandates.end_mandate(mandate.reference))

    async def _start(self, request: RequestContext, work: DeferredWork) -> Job | str:
        """Start a job; the text of an error where that is not possible."""
        deferral = request.deferral
        assert deferral is not None
        if takes_unstored(work):
            return UNSTORED
        request.turn.release()
        lifetime = DEFAULT_LIFETIME if deferral.lifetime is None else deferral.lifetime
        if not isinstance(subject := request.subject, Secret):
            return NO_SUBJECT
        tools = list_tool_names(work.tools, self._jobs.get_view(request.caller))
        if not tools:
            return NO_JOB
        asking = request.questions
        given = NO_RESPONSES if asking is None else asking.get_responses()
        key = compute_idempotency_key(request, given)
        job_id, title = uuid4(), work.title[:MAX_TITLE]
        mandate = await self._create_mandate(subject, job_id, title, tools)
        if isinstance(mandate, CredentialRefusal):
            return explain_refusal(mandate)
        module, tool = (work.tools[0].module, work.tools[0].name) if work.kind == CALL else ("", "")
        call = StoredCall(
            work.kind,
            work.arguments,
            tools,
            request.short_text,
            request.client_name,
            request.trace if key is None else "",  # a repetition has another one
            choose_budget(request),
            capabilities=(None if asking is None else select_capabilities(asking.capabilities)) or None,
            responses=dict(given),
            may_answer=deferral.can_answer and asking is not None and bool(asking.capabilities),
        )
        credential = request.caller.credential
        job = NewJob(
            credential.tenant_id,
            credential.user_id,
            job_id,
            work.kind,
            module,
            tool,
            title,
            encode_call(call),
            lifetime=min(max(lifetime, MIN_LIFETIME), MAX_LIFETIME),
            max_attempts=MAX_ATTEMPTS if all(may_run_twice(one) for one in work.tools) else 1,
            mandate_id=mandate.id,
            idempotency_key=key,
            client=get_client(request.caller),
            tools=tools,
        )
        return await self._enqueue(job, mandate)

    async def _enqueue(self, new: NewJob, mandate: Mandate) -> Job:
        try:
            job = await self._queue.enqueue(new, is_same_call)
        except BaseException:
            # Nobody was told of the job. Where it was added none the less, it ends without its mandate.
            await self._end_mandate(mandate)
            raise
        if job.id != new.id:  # the one that the same call has made before
            await self._end_mandate(mandate)
        return job


def list_open_questions(answer: StoredAnswer, call: StoredCall) -> list[AskedQuestion]:
    """List those questions of a job which its call does not answer yet."""
    return [
        one
        for one in answer.questions
        if one.key not in call.responses or call.responses[one.key].digest != compute_question_digest(one)
    ]


def _may_be_asked(request: RequestContext, work: DeferredWork) -> bool:
    """Check whether the work is likely to ask the client something at once, which has not been answered yet."""
    asking = request.questions
    if asking is None or not any(tool.tool.asks for tool in work.tools):
        return False
    return bool(select_capabilities(asking.capabilities)) and not asking.get_responses()


def may_run_twice(tool: CatalogueTool) -> bool:
    """Check whether a tool may be run again where nobody knows whether it has run."""
    return tool.read_only or tool.tool.hints.idempotent


def explain_refusal(refusal: CredentialRefusal) -> str:
    """Explain to the caller why there is no mandate."""
    if refusal.reason is RefusalReason.TOO_MANY:
        return TOO_MANY_MANDATES
    return "your permissions have just changed; call get_module_schema again"


def _build_waiting_result(job: Job, request: RequestContext) -> Result:
    waits = describe_waiting(job)
    begun = f"This takes longer than a call may, and has not begun: {waits}." if waits else NOT_DONE_YET
    described = {"job_id": str(job.id), "title": job.title, "note": f"{begun} {HOW_TO_GO_ON}"}
    return build_value_result({"job": described}, short=request.short_text)
