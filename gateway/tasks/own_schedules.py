"""The caller's own schedules: made in their presence, and nothing runs before they have agreed on a page of ours."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import orjson

from broker.interface import CredentialRefusal, MandateBroker, MandatePurpose, MandateReference, MandateRequest
from core.caller import Caller
from core.errors import Invalid
from core.secret import Secret
from gateway.argument_validation import InvalidToolArguments, validate_arguments
from gateway.auth.tool_scopes import get_required_scope, has_scope
from gateway.catalogue import CatalogueTool
from gateway.mcp.request_context import RequestContext
from gateway.sieve.sieve import SieveView
from gateway.tasks.job_starter import (
    CALL,
    MAX_ATTEMPTS,
    NO_SUBJECT,
    build_call_work,
    explain_refusal,
    may_run_twice,
)
from gateway.tasks.own_jobs import parse_id
from gateway.tasks.stored_call import StoredCall, encode_call
from gateway.tool_runner import NO_SUCH_TOOL
from jobs.schedule_times import ScheduleRule, parse_rule
from jobs.schedules import NewSchedule, Overlap, Schedule, Schedules, ScheduleState
from modules.kit import ToolError

MANDATE_LIFETIME = timedelta(days=366)
NO_SUCH_SCHEDULE = "there is no such schedule of yours; list_schedules lists them"
NOT_SCHEDULED = "only tools of your services can be scheduled, not those of jobs and results"
RESULT_LIFETIME = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class WantedSchedule:
    """What a caller asks for; the times as they are written."""

    title: str
    module: str
    tool_name: str
    params: dict[str, Any]
    cron: str
    every_seconds: int | None
    at: str
    time_zone: str
    overlap: Overlap


class OwnSchedules:
    """Schedules of whoever asks."""

    def __init__(
        self,
        schedules: Schedules,
        mandates: MandateBroker,
        get_view: Callable[[Caller], SieveView],
        now: Callable[[], datetime],
    ) -> None:
        self._schedules = schedules
        self._mandates = mandates
        self._get_view = get_view
        self._now = now

    async def create(self, request: RequestContext, wanted: WantedSchedule) -> Schedule:
        """Make a schedule of one tool's call. It waits for the person's consent.

        Raises:
            ToolError: it cannot be made; the text says why.
            core.errors.MCPistError: broker or database are away, or a limit is reached.
        """
        if not isinstance(subject := request.subject, Secret):
            raise ToolError(NO_SUBJECT)
        rule, first = self._parse_times(wanted)
        view = self._get_view(request.caller)
        if wanted.module in view.built_in:
            raise ToolError(NOT_SCHEDULED)
        tool = view.find(wanted.module, wanted.tool_name)
        names = (wanted.module, wanted.tool_name) if tool is None else (tool.module, tool.name)
        if tool is not None:
            _check_call(request.caller, tool, wanted.params)
        schedule_id = uuid4()
        # The broker looks for a name that does not exist for the caller, too, and records it as it does a call.
        mandate = await self._mandates.create_mandate(
            MandateRequest(
                subject, MandatePurpose.SCHEDULE, schedule_id, wanted.title, (names,), self._now() + MANDATE_LIFETIME
            )
        )
        if tool is None:
            raise ToolError(NO_SUCH_TOOL)
        if isinstance(mandate, CredentialRefusal):
            raise ToolError(explain_refusal(mandate))
        work = build_call_work(tool, wanted.params)
        call = StoredCall(CALL, work.arguments, (names,), client_name=request.client_name)
        credential = request.caller.credential
        try:
            return await self._schedules.create(
                NewSchedule(
                    credential.tenant_id,
                    credential.user_id,
                    schedule_id,
                    wanted.title,
                    CALL,
                    *names,
                    credential.client or credential.id,
                    mandate.id,
                    encode_call(call),
                    MAX_ATTEMPTS if may_run_twice(tool) else 1,
                    RESULT_LIFETIME,
                    rule,
                    wanted.overlap,
                    first,
                )
            )
        except BaseException:
            await self._mandates.end_mandate(mandate.reference)
            raise

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

    def _parse_times(self, wanted: WantedSchedule) -> tuple[ScheduleRule, datetime]:
        now = self._now()
        try:
            at = datetime.fromisoformat(wanted.at) if wanted.at else None
        except ValueError:
            raise ToolError("at is no time such as 2026-12-31T09:00") from None
        try:
            rule = parse_rule(
                cron=wanted.cron, every_seconds=wanted.every_seconds, at=at, time_zone=wanted.time_zone, now=now
            )
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


def _check_call(caller: Caller, tool: CatalogueTool, params: dict[str, Any]) -> None:
    if not has_scope(caller, tool):
        raise ToolError(f"your credential lacks the scope {get_required_scope(tool)}")
    try:
        validate_arguments(tool, orjson.dumps(params))
    except InvalidToolArguments as error:
        raise ToolError(str(error)) from None
