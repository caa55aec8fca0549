"""Answers of reading tools, kept in this process while nothing in their workspace has changed.

Every write raises the generation of its workspace in its own transaction. Each read first asks the database for that
number, under the caller's policies, and takes a kept answer only of the very same one. So an answer is never older than
a write that was acknowledged before the read began, whichever process wrote, and whoever may no longer read the
workspace gets nothing. What is saved is the work of the answer, not the question whether it still holds.

An answer that is being read is waited for by identical reads of the same caller at the same generation.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from datetime import datetime
from typing import NamedTuple, TypeVar, cast
from uuid import UUID

from pydantic import BaseModel

from modules.items.workspaces import Workspace, find_workspace
from modules.kit import Context, Store

MAX_AGE_SECONDS = 60.0
"""Of an answer; a person who was renamed has the old name in it as long."""
MAX_ENTRIES = 4_000
MAX_BYTES = 32 * 1024 * 1024
MAX_ANSWER_BYTES = MAX_BYTES // 16
BYTES_OF_JSON_BYTE = 4
"""Bytes of memory that an answer takes for each byte of its JSON."""

Answer = TypeVar("Answer", bound=BaseModel)
Read = Callable[[Store, Workspace | None], Awaitable[Answer]]


class ReadKey(NamedTuple):
    """What two reads with the same answer have in common. `server_start`: a database server that takes over from a lost
    one may give out generations again whose writes were lost with that."""

    tenant_id: UUID
    user_id: UUID
    workspace_id: UUID
    workspace_name: str
    generation: int
    server_start: datetime
    operation: str
    parameters: Hashable


class _KeptAnswer(NamedTuple):
    answer: BaseModel
    size: int
    ends_at: float


class ReadCache:
    """Kept answers, the oldest first, and those that are being read."""

    def __init__(self, max_bytes: int = MAX_BYTES, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        self._kept: dict[ReadKey, _KeptAnswer] = {}
        self._size = 0
        self._reading: dict[ReadKey, asyncio.Future[BaseModel | None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._kept)

    async def read(
        self, context: Context, workspace: str | None, operation: str, parameters: Hashable, read: Read[Answer]
    ) -> Answer:
        """Return the kept answer to these `parameters` of an `operation`, or what `read` returns. That is given the
        open transaction and the workspace of this name, or None where the caller has none of their own yet.

        Raises:
            modules.kit.DocumentedError: the caller may read no such workspace; and what `read` raises.
        """
        async with context.store() as store:
            found = await find_workspace(store, workspace)
            if found is None:
                return await read(store, None)
            key = _build_key(found, context.user_id, operation, parameters)
            kept = self._get(key)
            if kept is not None:
                return cast("Answer", kept)
            reading = self._reading.get(key)
            if reading is None:
                return await self._read_for_all(key, read(store, found))
        shared = await asyncio.shield(reading)
        if shared is not None:
            return cast("Answer", shared)
        async with context.store() as store:  # it failed or was cancelled, which is no answer to this one
            return await read(store, await find_workspace(store, workspace))

    async def _read_for_all(self, key: ReadKey, read: Awaitable[Answer]) -> Answer:
        began = self._clock()
        reading = self._reading[key] = asyncio.get_running_loop().create_future()
        answer: Answer | None = None
        try:
            answer = await read
            self._keep(key, answer, began)
            return answer
        finally:
            del self._reading[key]
            reading.set_result(answer)

    def _get(self, key: ReadKey) -> BaseModel | None:
        kept = self._kept.get(key)
        return kept.answer if kept is not None and kept.ends_at > self._clock() else None

    def _keep(self, key: ReadKey, answer: BaseModel, began: float) -> None:
        size = BYTES_OF_JSON_BYTE * len(answer.__pydantic_serializer__.to_json(answer))
        if size > min(MAX_ANSWER_BYTES, self._max_bytes):
            return
        self._drop(key)
        self._kept[key] = _KeptAnswer(answer, size, began + MAX_AGE_SECONDS)
        self._size += size
        while self._size > self._max_bytes or len(self._kept) > MAX_ENTRIES:
            self._drop(next(iter(self._kept)))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(MAX_AGE_SECONDS, self._drop_outdated)

    def _drop(self, key: ReadKey) -> None:
        dropped = self._kept.pop(key, None)
        if dropped is not None:
            self._size -= dropped.size

    def _drop_outdated(self) -> None:
        """Drop what is too old, also where nobody reads any more."""
        now = self._clock()
        while self._kept:
            key, oldest = next(iter(self._kept.items()))
            if oldest.ends_at > now:
                self._timer = asyncio.get_running_loop().call_later(oldest.ends_at - now, self._drop_outdated)
                return
            self._drop(key)
        self._timer = None


def _build_key(workspace: Workspace, user_id: UUID, operation: str, parameters: Hashable) -> ReadKey:
    return ReadKey(
        workspace.tenant_id,
        user_id,
        workspace.id,
        workspace.full_name,
        workspace.generation,
        workspace.server_start,
        operation,
        parameters,
    )


READ_CACHE = ReadCache()
"""The answers of this process."""
