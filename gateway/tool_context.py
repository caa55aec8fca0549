"""What a running tool is given: the caller's own rows and a way to report progress. Never a credential."""

from contextlib import AbstractAsyncContextManager
from uuid import UUID

from core.db import Database
from gateway.mcp.context import RequestContext
from modules.kit import Store


class ToolContext:
    """Implements :class:`modules.kit.Context` for one tool run."""

    __slots__ = ("_database", "_request")

    def __init__(self, database: Database, request: RequestContext) -> None:
        self._database = database
        self._request = request

    @property
    def user_id(self) -> UUID:
        return self._request.caller.user_id

    def store(self) -> AbstractAsyncContextManager[Store]:
        caller = self._request.caller
        return self._database.personal(caller.tenant_id, caller.user_id)

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        if self._request.report_progress is not None:
            await self._request.report_progress(done, total, message)
