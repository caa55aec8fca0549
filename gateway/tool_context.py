"""Context of a running tool: the caller's own rows, its vendor, ways to report progress and to ask the person, never a
credential. And its execution, which is stopped when the caller loses the permission."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar, cast
from uuid import UUID

import msgspec

from core.caller import Caller
from core.db import Database
from core.directory.profiles import load_time_zone
from gateway.auth.tool_scopes import has_scope
from gateway.catalogue import CatalogueTool
from gateway.change_tracker import ChangeTracker
from gateway.document_store import PersonalDocuments
from gateway.mcp.client_questions import (
    MAX_QUESTIONS,
    build_cannot_answer,
    build_confirmation,
    has_capability,
    is_response,
    read_confirmation,
    supports_forms,
)
from gateway.mcp.request_context import AskedQuestion, ClientQuestions, RequestContext
from gateway.module_collections import ModuleCollections
from gateway.module_log import get_module_log
from gateway.service_settings import ServiceSettingsReader
from gateway.sieve.sieve import Sieve
from gateway.streams.resource_changes import MAX_ANNOUNCED, is_announceable
from gateway.vendor_connections import VendorConnections
from modules.kit import (
    OUTCOME_UNKNOWN,
    ClientQuestion,
    Collections,
    ConfirmationOutcome,
    Context,
    DocumentStore,
    InvalidAnswer,
    LogLevel,
    ModuleLog,
    ModuleSettings,
    ReadAccess,
    Store,
    Vendor,
)
from modules.kit.text_cleaning import clean_text
from search.engine import SearchEngine

Settings = TypeVar("Settings", bound=ModuleSettings)
Answer = TypeVar("Answer")

MAX_QUESTION_LENGTH = 500
MAX_LABEL_LENGTH = 100
MAX_LOG_LENGTH = 4_000


class ToolReader(Protocol):
    """Runs tools, by their full names, for a tool that reads by them."""

    async def read(self, request: RequestContext, full_name: str, arguments: dict[str, Any]) -> Any:
        """Run a tool; its result as plain JSON data.

        Raises:
            modules.kit.ToolError: it does not exist for the caller, or failed.
        """
        ...

    async def check_read(self, request: RequestContext, full_name: str) -> ReadAccess:
        """Check whether the caller could run a tool.

        Raises:
            modules.kit.ToolError, core.errors.Unavailable: that cannot be told now.
        """
        ...


class QuestionsOpen(Exception):
    """Ends a run whose tool has to ask the client first; it is run anew with the answers."""

    def __init__(self, *questions: AskedQuestion) -> None:
        super().__init__("the client has to be asked")
        self.questions = questions


class ToolContext(msgspec.Struct, eq=False):
    """Implements :class:`modules.kit.Context` for one tool run."""

    _database: Database
    _vendors: VendorConnections
    _request: RequestContext
    _tool: CatalogueTool
    _changes: ChangeTracker
    _settings: ServiceSettingsReader
    _search: SearchEngine | None = None
    _reader: ToolReader | None = None
    confirmation: str = ""
    """What became of a question to the client, for the audit log: "" or ``asked``, or what its person confirmed."""
    resource_changes: dict[str, bool] | None = None
    """Resources that have changed, by URI, and whether those of other people are to be told; None where none has."""

    @property
    def request(self) -> RequestContext:
        return self._request

    @property
    def user_id(self) -> UUID:
        return self._request.caller.user_id

    @property
    def vendor(self) -> Vendor:
        return self._vendors.create_client(self._request, self._tool, self._changes)

    def store(self) -> AbstractAsyncContextManager[Store]:
        caller = self._request.caller
        transaction = self._database.personal(caller.tenant_id, caller.user_id)
        return transaction if self._tool.tool.hints.read_only else self._changes.track_transaction(transaction)

    @property
    def documents(self) -> DocumentStore:
        return PersonalDocuments(self._tool.module, self.store, read_only=self._tool.tool.hints.read_only)

    @property
    def collections(self) -> Collections:
        read_only = self._tool.tool.hints.read_only
        return ModuleCollections(self._search, self._request, self._tool.module, self._changes, read_only=read_only)

    @property
    def log(self) -> ModuleLog:
        return get_module_log(self._tool.module)

    async def read(self, tool: str, **arguments: Any) -> Any:
        return await self._get_reader(tool).read(self._request, tool, arguments)

    async def check_read(self, tool: str) -> ReadAccess:
        return await self._get_reader(tool).check_read(self._request, tool)

    async def get_time_zone(self) -> str:
        caller = self._request.caller
        return await load_time_zone(self._database, caller.tenant_id, caller.user_id)

    async def get_settings(self, form: type[Settings]) -> Settings:
        return await self._settings.get_settings(self._tool.owner, form, self._request.caller.tenant_id)

    async def report_progress(self, done: float, total: float | None = None, message: str = "") -> None:
        if self._request.report_progress is not None:
            await self._request.report_progress(done, total, message)

    def announce_resource_change(self, uri: str, *, shared: bool = False) -> None:
        if self.resource_changes is None:
            self.resource_changes = {}
        changes = self.resource_changes
        if not is_announceable(self._tool.owner, uri):
            raise ValueError("a module announces changes of its own resources only")
        if len(changes) >= MAX_ANNOUNCED and uri not in changes:
            raise ValueError(f"one run announces at most {MAX_ANNOUNCED} changed resources")
        changes[uri] = shared or changes.get(uri, False)

    async def confirm(self, message: str, *, label: str, instead: str = "") -> ConfirmationOutcome:
        self._require_unchanged()
        message, label = _clean_question(message, MAX_QUESTION_LENGTH), _clean_question(label, MAX_LABEL_LENGTH)
        question = build_confirmation(message, label, instead)
        asking = self._request.questions
        if asking is None or not supports_forms(asking.capabilities):
            return ConfirmationOutcome.NOT_ASKED
        response = asking.find_response(question)
        if response is None:
            self.confirmation = "asked"
            raise QuestionsOpen(question)
        outcome = read_confirmation(response)
        self.confirmation = outcome.value
        return outcome

    def can_ask(self, question: ClientQuestion[Any]) -> bool:
        asking = self._request.questions
        return asking is not None and has_capability(asking.capabilities, question.capability)

    async def ask(self, question: ClientQuestion[Answer]) -> Answer:
        (answer,) = self._find_answers(question)
        return answer

    async def ask_all(self, *questions: ClientQuestion[Any]) -> None:
        self._find_answers(*questions)

    async def send_log(self, level: LogLevel, text: str) -> None:
        if self._request.send_log is not None:
            await self._request.send_log(level, self._tool.full_name, clean_text(text)[:MAX_LOG_LENGTH])

    def _get_reader(self, tool: str) -> ToolReader:
        if tool not in self._tool.tool.reads or self._reader is None:
            raise RuntimeError(f"{self._tool.full_name} has not declared that it reads by {tool}")
        return self._reader

    def _find_answers(self, *questions: ClientQuestion[Any]) -> list[Any]:
        """Find the answers to all questions.

        Raises:
            QuestionsOpen: some have to be asked.
            modules.kit.ClientCannotAnswer, RuntimeError: see :meth:`modules.kit.Context.ask`.
        """
        self._require_unchanged()
        if len({question.key for question in questions}) < len(questions) or len(questions) > MAX_QUESTIONS:
            raise ValueError(f"at most {MAX_QUESTIONS} questions are asked at once, each with a key of its own")
        asking = self._request.questions
        for question in questions:
            if asking is None or not has_capability(asking.capabilities, question.capability):
                raise build_cannot_answer(question.capability)
        if asking is None:
            return []
        answers = [_find_answer(asking, question) for question in questions]
        still_open = [answer for answer in answers if isinstance(answer, AskedQuestion)]
        if still_open:
            self.confirmation = self.confirmation or "asked"
            raise QuestionsOpen(*still_open)
        return answers

    def _require_unchanged(self) -> None:
        if self._changes:
            raise RuntimeError("a tool asks before it changes anything: it is run anew with the answer")


def get_request(context: Context) -> RequestContext:
    """Return the request that a tool of a built-in module runs for; other modules see the kit's context only."""
    return cast("ToolContext", context).request


def _find_answer(asking: ClientQuestions, question: ClientQuestion[Any]) -> Any:
    """Find the answer to a question; the question as it is sent where it has to be asked, or asked again because what
    came is no answer."""
    asked = AskedQuestion(question.key, question.method, question.build_params())
    response = asking.find_response(asked)
    if response is None or not is_response(question.method, response):
        return asked
    try:
        return question.read_answer(response)
    except InvalidAnswer:
        return asked


def _clean_question(text: str, limit: int) -> str:
    """What a person is to read, without what they would not see. It is never cut: the price may stand at its end.

    Raises:
        ValueError: there is nothing left of it, or it is too long.
    """
    cleaned = " ".join(clean_text(text).split())
    if not 0 < len(cleaned) <= limit:
        raise ValueError(f"a question to a person has 1 to {limit} characters")
    return cleaned


class TaskExecution(msgspec.Struct, eq=False):
    """Implements :class:`gateway.mcp.authority.ToolExecution` for one run of a tool, by the task that runs it."""

    _sieve: Sieve
    _tool: CatalogueTool
    _task: "asyncio.Task[Any] | None"
    _changes: ChangeTracker
    reason: str = ""

    @property
    def has_changed(self) -> bool:
        return bool(self._changes)

    def check(self, caller: Caller) -> None:
        if not self._sieve.get_view(caller).has(self._tool) or not has_scope(caller, self._tool):
            self.stop("the permission for this tool was revoked")

    def stop(self, reason: str) -> None:
        if not self.reason and self._task is not None:
            self.reason = reason
            self._task.cancel()

    def was_stopped(self) -> bool:
        """Check whether the current cancellation is the server's own alone, and end it."""
        return bool(self.reason) and self._task is not None and not self._task.uncancel()

    @property
    def text(self) -> str:
        """Text of the cancellation for the caller."""
        note = "" if self._tool.tool.hints.read_only else f"; {OUTCOME_UNKNOWN}"
        return f"cut off: {self.reason}{note}"
