"""Context of a running tool: the caller's own rows, its vendor, a way to report progress, never a credential. And its
execution, which is stopped when the caller loses the permission."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any
from uuid import UUID

import msgspec

from core.caller import Caller
from core.db import Database
from gateway.auth.tool_scopes import has_scope
from gateway.catalogue import CatalogueTool
from gateway.change_tracker import ChangeTracker
from gateway.document_store import PersonalDocuments
from gateway.mcp.request_context import RequestContext
from gateway.module_log import get_module_log
from gateway.sieve.sieve import Sieve
from gateway.vendor_connections import VendorConnections
from modules.kit import OUTCOME_UNKNOWN, DocumentStore, ModuleLog, Store, Vendor


class ToolContext(msgspec.Struct, eq=False):
    """Implements :class:`modules.kit.Context` for one tool run."""

    _database: Database
    _vendors: VendorConnections
    _request: RequestContext
    _tool: CatalogueTool
    _changes: ChangeTracker

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
    def log(self) -> ModuleLog:
        return get_module_log(self._tool.module)

    async def report_progress(self, done: float, total: float | None = None, message: str = "") -> None:
        if self._request.report_progress is not None:
            await self._request.report_progress(done, total, message)


class TaskExecution(msgspec.Struct, eq=False):
    """Implements :class:`gateway.mcp.authority.ToolExecution` for one run of a tool, by the task that runs it."""

    _sieve: Sieve
    _tool: CatalogueTool
    _task: "asyncio.Task[Any] | None"
    reason: str = ""

    def check(self, caller: Caller) -> None:
        tool = self._tool
        is_visible = self._sieve.get_view(caller).find(tool.module, tool.name) is not None
        if not is_visible or not has_scope(caller, tool):
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
