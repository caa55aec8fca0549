"""The caller's own schedules: made in their presence, and nothing runs before they have agreed on a page of ours."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid4, uuid5

import msgspec
import orjson

from broker.interface import CredentialRefusal, Mandate, MandateBroker, MandatePurpose, MandateReference, MandateRequest
from core.caller import Caller
from core.errors import Conflict, Invalid, LimitReached
from core.sealed_records import UnreadableRecord
from core.secret import Secret
from gateway.argument_validation import InvalidToolArguments, validate_arguments
from gateway.auth.tool_scopes import get_required_scope, has_scope
from gateway.catalogue import CatalogueTool
from gateway.mcp.errors import InsufficientScope
from gateway.mcp.request_context import RequestContext
from gateway.sieve.sieve import SieveView
from gateway.tasks.job_starter import (
    CALL,
    MAX_ATTEMPTS,
    NO_SUBJECT,
    UNSTORED,
    DeferredWork,
    build_call_work,
    explain_refusal,
    list_tool_names,
    may_run_twice,
    takes_unstored,
)
from gateway.tasks.own_jobs import parse_id
from gateway.tasks.stored_call import StoredCall, ToolNames, decode_call, encode_call
from gateway.tool_runner import NO_SUCH_TOOL
from jobs.job import Notify
from jobs.schedule_times import ScheduleRule, parse_rule, parse_time
from jobs.schedules import NewSchedule, Overlap, Schedule, Schedules, ScheduleState
from modules.kit import ToolError

MANDATE_LIFETIME = timedelta(days=366)
TIME_OF_A_SINGLE_RUN = timedelta(days=7)
"""How long the mandate of a single run counts after its time: its job may wait for its turn."""
NO_SUCH_SCHEDULE = "there is no such schedule of yours; list_schedules lists them"
NOT_SCHEDULED = "only tools of your services can be scheduled, not those of jobs and results"
NO_CALL = "name either module and tool_name, or the commands of a batch"
OTHER_REQUEST = "the idempotency key belongs to a schedule that was asked for otherwise"
RESULT_LIFETIME = timedelta(days=7)

PlanBatch = Callable[[RequestContext, Any], Awaitable[DeferredWork]]


@dataclass(frozen=True, slots=True)
class WantedSchedule:
    """What a caller asks for; the times as they are written. Either `module` and `tool_name` are there or `commands`,
    which are those of a batch."""

    title: str
    module: str
    tool_name: str
    params: Mapping[str, Any]
    commands: str | Sequence[Any] | None
    cron: str
    every_seconds: int | None
    at: str
    time_zone: str
    overlap: Overlap
    idempotency_key: str = ""
    notify: Notify = Notify.NEVER


class MadeSchedule(NamedTuple):
    """A schedule that was asked for. It `is_new` unless the same request has made it before."""

    schedule: Schedule
    is_new: bool


class OwnSchedules:
    """Schedules of whoever asks. `plan_batch` checks the commands of a batch as `batch` does."""

    def __init__(
        self,
        schedules: Schedules,
        mandates: MandateBroker,
        get_view: Callable[[Caller], SieveView],
        plan_batch: PlanBatch,
        now: Callable[[], datetime],
    ) -> None:
        self._schedules = schedules
        self._mandates = mandates
        self._get_view = get_view
        self._plan_batch = plan_batch
        self._now = now

    async def create(self, request: RequestContext, wanted: WantedSchedule) -> MadeSchedule:
        """Make a schedule of a call or of a batch. It waits for the person's consent.

        Raises:
            ToolError: it cannot be made; the text says why.
            core.errors.MCPistError: broker or database are away.
        """
        if not isinstance(subject := request.subject, Secret):
            raise ToolError(NO_SUBJECT)
        schedule_id = _choose_id(request.caller, wanted)
        if (made := await self._find_made(request.caller, schedule_id, wanted)) is not None:
            return MadeSchedule(made, is_new=False)
        rule, first = self._parse_times(wanted)
        work, names = await self._check_work(request, wanted)
        if work is not None and takes_unstored(work):
            raise ToolError(UNSTORED)
        until = self._now() + MANDATE_LIFETIME if rule.at is None else rule.at + TIME_OF_A_SINGLE_RUN
        # The broker looks for a name that does not exist for the caller, too, and records it as it does a call.
        mandate = await self._mandates.create_mandate(
            MandateRequest(subject, MandatePurpose.SCHEDULE, schedule_id, wanted.title, names, until)
        )
        if work is None:
            raise ToolError(NO_SUCH_TOOL)
        if isinstance(mandate, CredentialRefusal):
            raise ToolError(explain_refusal(mandate))
        credential = request.caller.credential
        new = NewSchedule(
            credential.tenant_id,
            credential.user_id,
            schedule_id,
            wanted.title,
            work.kind,
            *((work.tools[0].module, work.tools[0].name) if work.kind == CALL else ("", "")),
            credential.client or credential.id,
            mandate.id,
            encode_call(StoredCall(work.kind, work.arguments, names, client_name=request.client_name)),
            MAX_ATTEMPTS if all(may_run_twice(tool) for tool in work.tools) else 1,
            RESULT_LIFETIME,
            rule,
            wanted.overlap,
            first,
            wanted.notify,
        )
        return await self._keep(request.caller, wanted, new, mandate)

    async def list_schedules(self, caller: Caller) -> Sequence[Schedule]:
        """List the caller's schedules, the newest first."""
        return await self._schedules.list_schedules(caller.tenant_id, caller.user_id)

    async def pause(self, caller: Caller, schedule_id: str) -> Schedule:
        """Let no run begin until the schedule is resumed.

        Raises:
            ToolError: the caller has no such schedule, or it cannot be paused.
        """
        schedule = await self._find(caller, schedule_id)
        await self._schedules.pause(schedule)
        return await self._expect(caller, schedule, ScheduleState.PAUSED, "a single run cannot be paused; delete it")

    async def resume(self, caller: Caller, schedule_id: str) -> Schedule:
        """Go on with a schedule that is paused.

        Raises:
            ToolError: the caller has no such schedule, or it has ended.
        """
        schedule = await self._find(caller, schedule_id)
        if (first := schedule.rule.find_next_run(self._now())) is not None:
            await self._schedules.resume(schedule, first)
        return await self._expect(caller, schedule, ScheduleState.ACTIVE, "it has ended")

    async def delete(self, caller: Caller, schedule_id: str) -> Schedule:
        """Delete a schedule and end its mandate; its jobs stay.

        Raises:
            ToolError: the caller has no such schedule.
        """
        schedule = await self._find(caller, schedule_id)
        await self._schedules.delete(schedule)
        await self._mandates.end_mandate(MandateReference(schedule.mandate_id, schedule.id))
        return schedule

    async def _keep(self, caller: Caller, wanted: WantedSchedule, new: NewSchedule, mandate: Mandate) -> MadeSchedule:
        """Keep a schedule; where that fails its mandate ends."""
        try:
            schedule = await self._schedules.create(new)
        except LimitReached as error:
            # The hundredth may be the one that the same request has just made, with this mandate.
            if (made := await self._find_made(caller, new.id, wanted)) is not None:
                return MadeSchedule(made, is_new=False)
            await self._mandates.end_mandate(mandate.reference)
            raise ToolError(str(error), code=LimitReached.code) from None
        except BaseException:
            await self._mandates.end_mandate(mandate.reference)
            raise
        if schedule is not None:
            return MadeSchedule(schedule, is_new=True)
        # Another request with the same key was faster; both have the same mandate.
        made = await self._find_made(caller, new.id, wanted)
        if made is None:
            raise ToolError(OTHER_REQUEST, code=Conflict.code)
        return MadeSchedule(made, is_new=False)

    async def _find_made(self, caller: Caller, schedule_id: UUID, wanted: WantedSchedule) -> Schedule | None:
        """Find the schedule that the same request has made before.

        Raises:
            ToolError: another request has made it.
        """
        made = None
        if wanted.idempotency_key:
            made = await self._schedules.find(caller.tenant_id, caller.user_id, schedule_id)
        if made is None:
            return None
        try:
            arguments = decode_call(await self._schedules.load_arguments(made)).arguments
            rule = _parse_rule(wanted, made.created_at)
        except (UnreadableRecord, msgspec.DecodeError, Invalid):
            raise ToolError(OTHER_REQUEST, code=Conflict.code) from None
        asked = (wanted.title, _build_arguments(wanted), rule, wanted.overlap, wanted.notify)
        if asked != (made.title, arguments, made.rule, made.overlap, made.notify):
            raise ToolError(OTHER_REQUEST, code=Conflict.code)
        return made

    async def _check_work(
        self, request: RequestContext, wanted: WantedSchedule
    ) -> tuple[DeferredWork | None, ToolNames]:
        """Check the call or batch that is wanted, and name its tools. There is no work where a call's tool does not
        exist for the caller; its name is as they gave it then.

        Raises:
            ToolError: it would not run.
        """
        view = self._get_view(request.caller)
        if bool(wanted.module or wanted.tool_name) == (wanted.commands is not None):
            raise ToolError(NO_CALL)
        if wanted.commands is not None:
            return await self._check_batch(request, view, wanted)
        if wanted.module in view.built_in:
            raise ToolError(NOT_SCHEDULED)
        tool = view.find(wanted.module, wanted.tool_name)
        if tool is None:
            return None, ((wanted.module, wanted.tool_name),)
        _check_call(request.caller, tool, wanted.params)
        return build_call_work(tool, dict(wanted.params)), list_tool_names([tool], view)

    async def _check_batch(
        self, request: RequestContext, view: SieveView, wanted: WantedSchedule
    ) -> tuple[DeferredWork, ToolNames]:
        try:
            work = await self._plan_batch(request, wanted.commands)
        except InsufficientScope:
            raise ToolError("your credential lacks the scope of a tool of this batch") from None
        if any(tool.module in view.built_in for tool in work.tools):
            raise ToolError(NOT_SCHEDULED)
        return work, list_tool_names(work.tools, view)

    def _parse_times(self, wanted: WantedSchedule) -> tuple[ScheduleRule, datetime]:
        now = self._now()
        try:
            rule = _parse_rule(wanted, now)
        except Invalid as error:
            raise ToolError(str(error)) from None
        first = rule.find_next_run(now)
        assert first is not None, "a rule that was parsed has a run to come"
        return rule, first

    async def _find(self, caller: Caller, schedule_id: str) -> Schedule:
        parsed = parse_id(schedule_id)
        found = None if parsed is None else await self._schedules.find(caller.tenant_id, caller.user_id, parsed)
        if found is None:
            raise ToolError(NO_SUCH_SCHEDULE)
        return found

    async def _expect(self, caller: Caller, schedule: Schedule, state: ScheduleState, otherwise: str) -> Schedule:
        current = await self._find(caller, str(schedule.id))
        if current.state is not state:
            raise ToolError(otherwise)
        return current


def _choose_id(caller: Caller, wanted: WantedSchedule) -> UUID:
    """Choose the id of a schedule: the same for the same key of the same person."""
    return uuid5(caller.user_id, wanted.idempotency_key) if wanted.idempotency_key else uuid4()


def _build_arguments(wanted: WantedSchedule) -> dict[str, Any]:
    if wanted.commands is not None:
        return {"commands": wanted.commands}
    return {"module": wanted.module, "tool_name": wanted.tool_name, "params": dict(wanted.params)}


def _parse_rule(wanted: WantedSchedule, now: datetime) -> ScheduleRule:
    at = parse_time(wanted.at)
    return parse_rule(cron=wanted.cron, every_seconds=wanted.every_seconds, at=at, time_zone=wanted.time_zone, now=now)


def _check_call(caller: Caller, tool: CatalogueTool, params: Mapping[str, Any]) -> None:
    if not has_scope(caller, tool):
        raise ToolError(f"your credential lacks the scope {get_required_scope(tool)}")
    try:
        validate_arguments(tool, orjson.dumps(dict(params)))
    except InvalidToolArguments as error:
        raise ToolError(str(error)) from None
