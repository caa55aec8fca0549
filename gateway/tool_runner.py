"""Run one tool for one caller. Every way to a tool ends here: the sieve is asked, the arguments are checked, the audit
record is durable before a side effect and before the answer."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import msgspec
import orjson
from pydantic import BaseModel

from core.audit.digest import compute_argument_digest
from core.audit.event import AuditEvent, AuditEventKind, CallOutcome, build_intent_event, build_outcome_event
from core.audit.truncation import MAX_ARGUMENTS_BYTES
from core.audit.writer import AuditWriter
from core.caller import Caller
from core.concurrency.cooperative_steps import LARGE_STEP_BYTES, wait_for_turn
from core.db import Database
from core.disk_errors import DiskFull, is_disk_full
from core.errors import MCPistError
from core.log_events import describe_error
from core.observability.redaction import redact
from core.observability.tracing import Tracer
from core.secret import Secret
from gateway.argument_validation import InvalidToolArguments, validate_arguments
from gateway.auth.tool_scopes import require_scope
from gateway.caller_tools import CallerTool, CallerTools
from gateway.catalogue import CatalogueTool
from gateway.change_tracker import ChangeTracker
from gateway.connection_messages import NotConnected
from gateway.lookup_recorder import (
    Charge,
    LookupRecorder,
    MissingName,
    build_digest_input,
    describe_missing,
    redact_name,
)
from gateway.mcp.errors import InsufficientScope
from gateway.mcp.request_context import AskedQuestion, RequestContext
from gateway.service_settings import ServiceSettingsReader
from gateway.sieve.sieve import Sieve
from gateway.streams.resource_changes import AnnounceChanges, ignore_changes
from gateway.tool_context import QuestionsOpen, TaskExecution, ToolContext
from gateway.tool_error_text import (
    build_documented_object,
    build_error_object,
    format_error,
    format_internal_error,
)
from gateway.tool_run import ToolRun, ToolRunObserver
from gateway.vendor_connections import VendorConnections
from modules.kit import ClientCannotAnswer, ErrorKind, ReadAccess, ToolError
from modules.kit.text_cleaning import clean_text
from search.engine import SearchEngine

# One constant text for a hidden tool, a hidden module and a made-up one.
NO_SUCH_TOOL = "no such module or tool. get_module_schema lists the modules and tools that you can use."

CANNOT_READ = "this needs {}, which you cannot use"

log = logging.getLogger(__name__)

_OK, _ERROR = CallOutcome.OK, CallOutcome.ERROR


class _NoSuchTool(Exception):
    """The tool does not exist for the caller."""


class ToolOutcome(msgspec.Struct, frozen=True, eq=False):
    """Outcome of a tool: its result, or the text of an error; `not_connected` where an account has to be connected
    first, `questions` where the client has to be asked first; `error_object` where the error has a code, and
    `missing_capabilities` where the client cannot be asked what the tool has to know. `untrusted`: the
    result holds a vendor's data, and is marked so where it is shown. `deferred` is the tool where all checks were
    passed and it is to be run as a job. `has_invalid_arguments`: the error is that the arguments do not fit."""

    result: BaseModel | None = None
    error: str | None = None
    not_connected: NotConnected | None = None
    error_object: dict[str, Any] | None = None
    questions: tuple[AskedQuestion, ...] = ()
    untrusted: bool = False
    deferred: CatalogueTool | None = None
    missing_capabilities: Mapping[str, Any] | None = None
    has_invalid_arguments: bool = False


_NOTHING = ToolOutcome()


class ToolRunner:
    """The only caller of tools."""

    def __init__(
        self,
        sieve: Sieve,
        database: Database,
        vendors: VendorConnections,
        settings: ServiceSettingsReader,
        audit: AuditWriter,
        digest_key: Secret,
        observer: ToolRunObserver,
        traces: Tracer,
        charge: Charge,
        announce_changes: AnnounceChanges = ignore_changes,
        search: SearchEngine | None = None,
    ) -> None:
        self._search = search
        self._announce_changes = announce_changes
        self._sieve = sieve
        self._database = database
        self._vendors = vendors
        self._settings = settings
        self._audit = audit
        self._digest_key = digest_key
        self._tools = CallerTools(sieve, digest_key)
        self._observer = observer
        self._traces = traces
        self._lookups = LookupRecorder(self._deny, charge)

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The loop of the process, asked for once: until Python 3.12 each question is a system call (getpid)."""
        return asyncio.get_running_loop()

    async def run(
        self,
        request: RequestContext,
        module: str,
        name: str,
        params: dict[str, Any],
        reader: CatalogueTool | None = None,
    ) -> ToolOutcome:
        """Run a tool by its name or alias, or a `reader`: what reads a resource or fills in a prompt. Failures are
        outcomes; only a lacking scope and cancellation are raised.

        Raises:
            gateway.mcp.errors.InsufficientScope: the credential lacks the scope for a permitted tool.
        """
        arguments = orjson.dumps(params)
        if len(arguments) > LARGE_STEP_BYTES:
            await wait_for_turn(len(arguments))  # before the look: what it finds has to hold when the tool begins
        authority = request.authority
        if authority.ended:
            return ToolOutcome(error=f"not run: {authority.ended}")
        try:
            caller_tool = self._find_tool(authority.caller, module, name, reader)
            tool = caller_tool.tool
            model = validate_arguments(tool, arguments)
        except (_NoSuchTool, InsufficientScope, InvalidToolArguments) as error:
            return await self._refuse_call(request, module, name, reader, arguments, error)
        deferral = request.deferral
        if deferral is not None and (tool.is_async or deferral.always):
            return ToolOutcome(deferred=tool)
        # Run between a durable intent and a queued outcome. A writing tool waits for its intent; a reading one works
        # while it is flushed, and only the answer waits.
        started_at = time.perf_counter()
        intent = _build_intent(request, caller_tool, arguments)
        if reader is not None:
            intent = _add_operation(intent, reader)
        durable = self._audit.submit(intent)
        self._observer.on_run_start()
        call_outcome, outcome = _ERROR, _NOTHING
        detail: dict[str, str | int] | None = None
        changes = ChangeTracker(request.changes)
        execution = TaskExecution(self._sieve, tool, asyncio.current_task(self._loop), changes)
        authority.enter(execution)
        try:
            if not tool.read_only:
                await durable
            if len(arguments) > LARGE_STEP_BYTES:
                await wait_for_turn(len(arguments))
            context = ToolContext(
                self._database, self._vendors, request, tool, changes, self._settings, self._search, self
            )
            try:
                with self._traces.span(tool.full_name):
                    result = await tool.tool.run(context, **model.__dict__)
                outcome = ToolOutcome(result, untrusted=tool.owner.shows_others_texts)
            except QuestionsOpen as still_open:
                outcome = ToolOutcome(questions=still_open.questions)
            except Exception as error:  # noqa: BLE001 a tool's fault must never show its text to a client or a log
                outcome = self._build_failure(request, tool, changes, error)
            finally:
                if context.resource_changes is not None:
                    self._announce_changes(authority.caller, context.resource_changes)
            if context.confirmation:
                detail = {"confirmation": context.confirmation}
            await durable
            call_outcome = _ERROR if outcome.error else _OK
        except MCPistError as error:
            outcome = ToolOutcome(error=format_error(error, ChangeTracker()))  # the audit log's: nothing has run
        except asyncio.CancelledError:
            is_late = self._loop.time() >= request.deadline
            call_outcome = CallOutcome.TIMEOUT if is_late and not execution.reason else CallOutcome.CANCELLED
            if not execution.was_stopped():
                raise
            outcome = ToolOutcome(error=execution.text)
            detail = {"stopped": execution.reason}
        finally:
            authority.leave(execution)
            seconds = time.perf_counter() - started_at
            if call_outcome is _OK or not _was_refused(durable):
                self._audit.enqueue(build_outcome_event(intent, call_outcome, int(seconds * 1e6), detail))
            self._observer.on_run_end(
                ToolRun(request.request_id, tool.module, tool.name, call_outcome, seconds, intent.digest)
            )
        return outcome

    async def read(self, request: RequestContext, full_name: str, arguments: dict[str, Any]) -> Any:
        """Run a tool for another one that reads by it; its result as plain JSON data.

        Raises:
            ToolError: it does not exist for the caller, or failed.
        """
        if self._find_read(request, full_name) is None:
            raise ToolError(CANNOT_READ.format(full_name))
        module, _, name = full_name.partition(".")
        outcome = await self.run(msgspec.structs.replace(request, deferral=None), module, name, arguments)
        if outcome.result is None:
            raise ToolError(outcome.error or f"{full_name} could not be run")
        return orjson.loads(outcome.result.__pydantic_serializer__.to_json(outcome.result, by_alias=True))

    async def check_read(self, request: RequestContext, full_name: str) -> ReadAccess:
        """Check whether the caller could run a tool for another one that reads by it; nothing is run.

        Raises:
            ToolError, core.errors.Unavailable: that cannot be told now.
        """
        tool = self._find_read(request, full_name)
        if tool is None:
            return ReadAccess(False, CANNOT_READ.format(full_name))
        try:
            return ReadAccess(True, account=await self._vendors.find_account(request, tool))
        except NotConnected as error:
            return ReadAccess(False, str(error), error.url)

    def _find_read(self, request: RequestContext, full_name: str) -> CatalogueTool | None:
        """Find a tool that another one may read by; None where it does not exist for the caller."""
        module, _, name = full_name.partition(".")
        found = self._tools.find(request.caller, module, name, None)
        return found.tool if found is not None and found.has_scope and found.tool.read_only else None

    def _find_tool(self, caller: Caller, module: str, name: str, reader: CatalogueTool | None) -> CallerTool:
        """Find a tool that the caller may use with their credential.

        Raises:
            _NoSuchTool: it does not exist for them.
            InsufficientScope: the credential lacks the scope.
        """
        caller_tool = self._tools.find(caller, module, name, reader)
        if caller_tool is None:
            raise _NoSuchTool
        if not caller_tool.has_scope:
            require_scope(caller, caller_tool.tool)
        return caller_tool

    async def _refuse_call(
        self,
        request: RequestContext,
        module: str,
        name: str,
        reader: CatalogueTool | None,
        arguments: bytes,
        error: Exception,
    ) -> ToolOutcome:
        """Record a call that did not pass the checks, and tell why.

        Raises:
            InsufficientScope: the client has to hear of it as HTTP says it.
        """
        caller_tool = self._tools.find(request.caller, module, name, reader)
        if caller_tool is None:
            await self.record_lookups(request, 1, [MissingName(module, name, arguments)])
            return ToolOutcome(error=NO_SUCH_TOOL)
        if isinstance(error, InsufficientScope):
            await self.refuse(request, caller_tool.tool, arguments, CallOutcome.DENIED, "scope")
            raise error
        await self.refuse(request, caller_tool.tool, arguments, CallOutcome.ERROR, "arguments")
        errors = caller_tool.tool.owner.errors
        if errors is None or not isinstance(error, InvalidToolArguments):
            return ToolOutcome(error=str(error), has_invalid_arguments=True)
        kind = errors.invalid_arguments
        return ToolOutcome(
            error=kind.message, error_object=build_documented_object(kind, error.details), has_invalid_arguments=True
        )

    async def record_lookups(self, request: RequestContext, count: int, missing: Sequence[MissingName]) -> None:
        """Charge the caller for the `count` tool names of a request, and audit those that do not exist for them.

        Raises:
            core.errors.Unavailable: the audit event could not be written in time.
        """
        await self._lookups.record(request, count, missing)

    async def _deny(self, request: RequestContext, missing: Sequence[MissingName]) -> None:
        """Audit the use of names that do not exist for the caller, a sign of an attack."""
        module, tool = redact_name(missing[0].module), redact_name(missing[0].tool)
        credential = request.caller.credential
        digest = compute_argument_digest(self._digest_key, credential.tenant_id, build_digest_input(missing))
        outcome = CallOutcome.DENIED
        event = AuditEvent(
            at=time.time_ns(),
            kind=AuditEventKind.DENIED,
            tenant_id=credential.tenant_id,
            user_id=credential.user_id,
            credential_id=credential.id,
            client=_redact_client_name(request.client_name),
            request_id=request.request_id,
            module=module,
            tool=tool,
            digest=digest,
            detail=describe_missing(missing),
            outcome=outcome,
        )
        self._observer.on_names_denied(ToolRun(request.request_id, module, tool, outcome, 0.0, digest), len(missing))
        await self._audit.write(event)

    async def refuse(
        self, request: RequestContext, tool: CatalogueTool, arguments: bytes, outcome: CallOutcome, reason: str
    ) -> None:
        """Record a call that was refused before its tool ran; durable before the answer."""
        intent = _add_operation(_build_intent(request, self._tools.prepare(request.caller, tool), arguments), tool)
        durable = self._audit.submit(intent)
        self._observer.on_run_refused(ToolRun(request.request_id, tool.module, tool.name, outcome, 0.0, intent.digest))
        try:
            await durable
        finally:
            if not _was_refused(durable):
                self._audit.enqueue(build_outcome_event(intent, outcome, 0, {"refused": reason}))

    def _build_failure(
        self, request: RequestContext, tool: CatalogueTool, changes: ChangeTracker, error: Exception
    ) -> ToolOutcome:
        """Build the outcome of a tool that has raised `error`."""
        if isinstance(error, NotConnected):
            return build_failed_outcome(error, changes)
        errors = tool.owner.errors
        if errors is not None and not isinstance(error, ToolError):
            return self._build_documented_failure(request, tool, changes, error, errors.failure)
        if isinstance(error, ToolError | MCPistError):
            text = clean_text(f"{format_error(error, changes)}{self._vendors.build_account_hint(tool, error)}")
            missing = error.capabilities if isinstance(error, ClientCannotAnswer) else None
            return ToolOutcome(
                error=text, error_object=build_error_object(error, text), missing_capabilities=missing or None
            )
        return ToolOutcome(error=self._describe_failure(request, tool, changes, error))

    def _build_documented_failure(
        self, request: RequestContext, tool: CatalogueTool, changes: ChangeTracker, error: Exception, kind: ErrorKind
    ) -> ToolOutcome:
        """Build the outcome of a failure that is none of the tool's own errors, as the module's document has it."""
        text = self._describe_failure(request, tool, changes, error)
        details = {"message": text, "reference": request.request_id}
        return ToolOutcome(error=kind.message, error_object=build_documented_object(kind, details))

    def _describe_failure(
        self, request: RequestContext, tool: CatalogueTool, changes: ChangeTracker, error: Exception
    ) -> str:
        """Describe what a tool did not expect, without its own text, and log it where nobody expected it."""
        if isinstance(error, MCPistError):
            return format_error(error, changes)
        if is_disk_full(error):
            return format_error(DiskFull(), changes)
        fields = {"tool": tool.full_name, "request_id": request.request_id}
        log.error("a tool failed", extra={"event": "tool_failed", **fields, **describe_error(error)})
        return format_internal_error(request.request_id, changes)


def build_failed_outcome(error: ToolError, changes: ChangeTracker) -> ToolOutcome:
    """Build the outcome of a tool without a usable account."""
    # Whoever is asked to connect has the same call made once more: not after a change.
    not_connected = error if isinstance(error, NotConnected) and not changes else None
    return ToolOutcome(error=format_error(error, changes), not_connected=not_connected)


def _build_intent(request: RequestContext, caller_tool: CallerTool, arguments: bytes) -> AuditEvent:
    digest, client = caller_tool.compute_digest(arguments), _redact_client_name(request.client_name)
    if not caller_tool.caller.record_arguments:
        return build_intent_event(caller_tool.intent, time.time_ns(), request.request_id, client, digest)
    recorded, detail = _redact_arguments(caller_tool.tool, arguments)
    return build_intent_event(caller_tool.intent, time.time_ns(), request.request_id, client, digest, recorded, detail)


def _add_operation(intent: AuditEvent, tool: CatalogueTool) -> AuditEvent:
    """Say in the intent of what is no call of a tool which method it is: a prompt may be filled in or completed."""
    if not tool.operation:
        return intent
    return msgspec.structs.replace(intent, detail={**(intent.detail or {}), "operation": tool.operation})


_redact_client_name = lru_cache(1024)(redact)


def _redact_arguments(tool: CatalogueTool, arguments: bytes) -> tuple[bytes | None, dict[str, str | int] | None]:
    """Redact the arguments as the audit log keeps them: without unrecorded parameters, likely secrets masked. Arguments
    over the size of an event are replaced by a detail with their size.

    A name that the tool does not have may be a misspelled one that must not be recorded."""
    given, sensitive = orjson.loads(arguments), tool.tool.sensitive_parameters
    if sensitive:
        given = {k: v for k, v in given.items() if k not in sensitive and k in tool.tool.arguments.model_fields}
    public = orjson.dumps(given)
    if len(public) > MAX_ARGUMENTS_BYTES:
        return None, {"arguments_bytes": len(public)}
    return redact(public.decode()).encode(), None


def _was_refused(durable: "asyncio.Future[None]") -> bool:
    """Check whether the intent was never written. Then its outcome is not queued either: it would refer to no intent,
    and refused calls could fill the queue while the database is unavailable."""
    return durable.done() and not durable.cancelled() and durable.exception() is not None
