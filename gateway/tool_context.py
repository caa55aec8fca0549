"""Context of a running tool: the caller's own rows, its vendor, a way to report progress. Never a credential."""

from contextlib import AbstractAsyncContextManager
from uuid import UUID

from core.db import Database
from gateway.catalogue import CatalogueTool
from gateway.change_tracker import ChangeTracker
from gateway.mcp.request_context import RequestContext
from gateway.vendor_connections import VendorConnections
from modules.kit import Store, Vendor


class ToolContext:
    """Implements :class:`modules.kit.Context` for one tool run."""

    __slots__ = ("_changes", "_database", "_request", "_tool", "_vendors")

    def __init__(
        self,
        database: Database,
        vendors: VendorConnections,
        request: RequestContext,
        tool: CatalogueTool,
        changes: ChangeTracker,
    ) -> None:
        self._database = database
        self._vendors = vendors
        self._request = request
        self._tool = tool
        self._changes = changes

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

    async def report_progress(self, done: float, total: float | None = None, message: str = "") -> None:
        if self._request.report_progress is not None:
            await self._request.report_progress(done, total, message)
