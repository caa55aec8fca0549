"""Account for the tool names in a request: charge the rate limiter for each, and audit those that do not exist for the
caller with one event per HTTP request."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import orjson

from core.audit.truncation import MAX_DETAIL_TEXT_LENGTH
from core.caller import Caller
from core.observability.redaction import redact
from gateway.mcp.request_context import RequestContext

MAX_REDACTED_LENGTH = 4_096
"""Characters of a name that are scrubbed. More than an event keeps, so that a secret is not cut before it is masked."""
MAX_LISTED_NAME = 100
"""Characters of one name in the list of an event."""

Charge = Callable[[Caller, int], None]
"""Take that many more requests from the caller's rate limit."""


class MissingName(NamedTuple):
    """A name that does not exist for the caller. `tool` is empty if a whole module was requested; `arguments` is the
    JSON text sent with it."""

    module: str
    tool: str
    arguments: bytes


WriteDenial = Callable[[RequestContext, Sequence[MissingName]], Awaitable[None]]
"""Write one audit event for the missing names of one request; returns when it is durable."""

_Key = tuple[str, str]


class LookupRecorder:
    """Collects the lookups of one HTTP request, which may be an array of JSON-RPC messages."""

    def __init__(self, write: WriteDenial, charge: Charge) -> None:
        self._write = write
        self._charge = charge
        self._pending: dict[_Key, list[MissingName]] = {}
        self._writes: dict[_Key, asyncio.Task[None]] = {}

    async def record(self, request: RequestContext, count: int, missing: Sequence[MissingName]) -> None:
        """Charge the caller for `count` names, of which the request itself covers one, and audit the `missing` ones.
        Returns when the audit event is durable.

        Raises:
            core.errors.Unavailable: the event could not be written in time.
        """
        if count > 1:
            self._charge(request.caller, count - 1)
        if missing:
            # Shielded: the messages of an array share the event, and one that is cancelled must not take it along.
            await asyncio.shield(self._collect(request, missing))

    def _collect(self, request: RequestContext, missing: Sequence[MissingName]) -> asyncio.Task[None]:
        key = (request.caller.credential.id, request.request_id)
        if key in self._pending:
            self._pending[key] += missing
            return self._writes[key]
        self._pending[key] = list(missing)
        task = self._writes[key] = asyncio.create_task(self._write_pending(key, request))
        task.add_done_callback(lambda done: self._discard(key, done))
        return task

    async def _write_pending(self, key: _Key, request: RequestContext) -> None:
        """Record the collected lookups. The event loop runs this task after those of the other messages of an array,
        which exist already and look up their names before they await anything."""
        await self._write(request, self._pending.pop(key))

    def _discard(self, key: _Key, task: asyncio.Task[None]) -> None:
        if self._writes.get(key) is task:
            del self._writes[key]
        if not task.cancelled():
            task.exception()  # retrieved here too: every waiter may have been cancelled


def redact_name(name: str) -> str:
    """Redact a name for the audit log, likely secrets masked. core.audit.truncation cuts it to the field's size."""
    return redact(name[:MAX_REDACTED_LENGTH])


def describe_missing(missing: Sequence[MissingName]) -> dict[str, str | int] | None:
    """Build the detail of an event about several names: their exact number and the first of them. None for one name."""
    if len(missing) < 2:
        return None
    names = ""
    for entry in missing:
        name = redact_name(f"{entry.module}.{entry.tool}" if entry.tool else entry.module)[:MAX_LISTED_NAME]
        extended = f"{names}, {name}" if names else name
        if len(extended) > MAX_DETAIL_TEXT_LENGTH:
            break
        names = extended
    return {"count": len(missing), "names": names}


def build_digest_input(missing: Sequence[MissingName]) -> bytes:
    """Build the bytes that an event's digest is computed from: the arguments of one name; of several, the names as
    well, so that requests without arguments differ."""
    if len(missing) == 1:
        return missing[0].arguments
    return orjson.dumps([name[:2] for name in missing]) + b"".join(b"\n" + name.arguments for name in missing)
