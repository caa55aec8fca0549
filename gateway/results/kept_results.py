"""Keeping results that are too large for one answer, and finding them again for their owner."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import orjson

from core.caller import Caller
from core.concurrency.cooperative_steps import wait_for_turn
from core.errors import Unavailable
from core.permissions import permits
from core.token_estimate import count_tokens_up_to
from gateway.auth.tool_scopes import has_scope
from gateway.catalogue import Catalogue, CatalogueTool
from gateway.mcp.request_context import RequestContext
from gateway.results.content_fitting import Block, fit_content, get_data_size, is_content_within
from gateway.results.handles import parse_handle
from gateway.results.partial import HOW_TO_READ, HOW_TO_SHOW, NOT_KEPT, build_partial
from gateway.results.store import MAX_RESULT_BYTES, ResultSource, ResultStore
from gateway.vendor_connections import VendorConnections
from modules.kit import ToolError
from modules.kit.untrusted import UNTRUSTED_FIELD

GONE = (
    "there is no such result for you: it has expired, newer ones have taken its place, its account was disconnected, "
    "or you may not use its tool any more; call the tool again"
)
LARGE = 16 * 1024
"""Bytes of a result from which on a thread works on it: to count as many takes a millisecond."""

Found = TypeVar("Found")


class KeptResults:
    """The kept results of one gateway's callers."""

    def __init__(self, store: ResultStore, catalogue: Catalogue, vendors: VendorConnections) -> None:
        self._store = store
        self._vendors = vendors
        self._tools = {(tool.module, tool.name): tool for tools in catalogue.tools.values() for tool in tools}

    async def fit(
        self, request: RequestContext, tool: CatalogueTool | None, content: bytes, budget: int
    ) -> dict[str, Any] | None:
        """Return what a caller is shown in place of a result that is over the budget in tokens, and keep the whole;
        None where it is within. `content` is the result as JSON of an object, `tool` is None where it does not exist
        for the caller any more: nothing is kept then. A text, of a batch's step, is the field `text` of an object."""
        if content[:1] == b'"':
            content = b'{"text":%b}' % content
        if len(content) <= budget or await work_on(len(content), lambda: _is_within(content, budget)):
            return None
        description = {"bytes": len(content), **await self._keep(request, tool, content)}
        return await work_on(len(content), lambda: build_partial(orjson.loads(content), budget, description))

    async def fit_content(
        self, request: RequestContext, tool: CatalogueTool | None, blocks: list[Block], budget: int
    ) -> list[Block] | None:
        """Return the content blocks that a caller is shown in place of `blocks`, as they go over the wire, that are
        over the budget in tokens, and keep the whole; None where they are within."""
        size = sum(len(block.get("text", "")) + get_data_size(block) for block in blocks)
        if await work_on(size, lambda: is_content_within(blocks, budget)):
            return None
        description = await self.keep_content(request, tool, blocks)
        return await work_on(size, lambda: fit_content(blocks, budget, description))

    async def keep_content(
        self, request: RequestContext, tool: CatalogueTool | None, blocks: list[Block]
    ) -> dict[str, Any]:
        """Keep content blocks; return how they are described."""
        content = orjson.dumps({"content": blocks})
        kept = await self._keep(request, tool, content)
        return {"bytes": len(content), **kept, **({"read": HOW_TO_SHOW} if "read" in kept else {})}

    async def load(self, request: RequestContext, handle: str) -> tuple[Any, ResultSource, int]:
        """Load a result of the caller's: its value, where it comes from, and its size in bytes.

        Raises:
            ToolError: there is none that they may read.
            core.errors.Unavailable: the database is away.
        """
        caller, parsed = request.caller, parse_handle(handle)
        found = None if parsed is None else await self._store.load(caller.tenant_id, caller.user_id, parsed)
        if parsed is None or found is None or not self._may_use(caller, found[0]):
            raise ToolError(GONE)
        source, sealed = found

        def read() -> tuple[Any, int]:
            content = self._store.open(caller.tenant_id, parsed, sealed)
            return (None, 0) if content is None else (orjson.loads(content), len(content))

        value, size = await work_on(len(sealed), read)
        if not size:
            raise ToolError(GONE)
        if source.untrusted:  # the mark is set anew where something is shown
            value.pop(UNTRUSTED_FIELD, None)
        return value, source, size

    def _may_use(self, caller: Caller, source: ResultSource) -> bool:
        """Check whether the tool that a result comes from exists for the caller, by the same decision as a call."""
        tool = self._tools.get((source.module, source.tool))
        return (
            tool is not None
            and permits(
                caller.policy,
                tool.module,
                tool.name,
                read_only=tool.read_only,
                only_reading=caller.credential.read_only,
            )
            and has_scope(caller, tool)
        )

    async def _keep(self, request: RequestContext, tool: CatalogueTool | None, content: bytes) -> dict[str, Any]:
        """Keep a result; return how it is described: its handle, or that there is none."""
        caller, expires_at = request.caller, self._store.expires_at
        if request.keep_until is not None:
            expires_at = max(expires_at, request.keep_until)
        if tool is None or len(content) > MAX_RESULT_BYTES:
            return {"note": NOT_KEPT}
        handle, sealed = await work_on(len(content), lambda: self._store.seal(caller.tenant_id, content))
        try:
            credential_id = await self._vendors.get_credential_id(request, tool)
            source = ResultSource(tool.module, tool.name, credential_id, tool.owner.shows_others_texts)
            kept = await self._store.keep(caller.tenant_id, caller.user_id, source, handle, sealed, expires_at)
        except (ToolError, Unavailable):
            kept = False
        if not kept:
            return {"note": NOT_KEPT}
        return {"handle": handle.text, "expires_at": f"{expires_at:%Y-%m-%dT%H:%MZ}", "read": HOW_TO_READ}


async def work_on(size: int, function: Callable[[], Found]) -> Found:
    """Run what takes time by its `size`: in a turn of its own, or in a thread where it is much."""
    if size > LARGE:
        return await asyncio.to_thread(function)
    await wait_for_turn(size)
    return function()


def _is_within(content: bytes, budget: int) -> bool:
    return count_tokens_up_to(content.decode(), budget) is not None
