"""Cancellation of a request by its client, on whichever process runs it ([2025-11-25] Cancellation).

Without sessions a request is found by the credential that sent it and its JSON-RPC id. Clients that share a credential
may use the same id: where several open requests match, none is cancelled. So the processes are counted before one acts:
whoever receives the notification asks all others, by notifications of PostgreSQL, how many such requests they run.

An announcement is worth what any login of the database may send: it names a request by a digest with a key that only
gateways have, and holds nothing that can be read.
"""

import asyncio
import hashlib
import hmac
import logging
import secrets
from collections.abc import Awaitable, Callable, Coroutine
from enum import StrEnum
from typing import Any, TypeVar

import msgspec
import orjson

from core.caller import Credential
from core.errors import Unavailable
from core.secret import Secret
from gateway.mcp.call_supervisor import CallSupervisor, CancelReason, SupervisedCall

CANCEL_CHANNEL = "mcpist_cancel"
COUNT_SECONDS = 0.3
"""How long other processes have to answer; one that does not runs no such request."""
MAX_PENDING = 256
_DIGEST_LENGTH = 32
_LABEL = b"mcpist request cancellation"

Announce = Callable[[str], Awaitable[None]]
"""Sends a text to all gateways, this one too. Raises core.errors.Unavailable."""

_T = TypeVar("_T")

log = logging.getLogger(__name__)


class _Step(StrEnum):
    COUNT = "count"
    FOUND = "found"
    CANCEL = "cancel"


class _Announcement(msgspec.Struct, frozen=True, array_like=True):
    step: _Step
    nonce: str
    digest: str = ""
    number: int = 0


class Cancellations:
    """Cancels running requests of all gateways. One that is asked for while too many are pending is left out: clients
    may not rely on cancellation."""

    def __init__(self, calls: CallSupervisor, key: Secret, announce: Announce) -> None:
        self._calls = calls
        self._key = key
        self._announce = announce
        self._found: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def cancel(self, credential: Credential, request_id: Any) -> None:
        """Begin to cancel the request that `credential` has sent with this id, if exactly one runs."""
        if isinstance(request_id, str | int):
            self._start(self._cancel, self._compute_digest(credential, orjson.dumps(request_id)))

    def handle_announcement(self, text: str) -> None:
        """Act on what a gateway has announced."""
        try:
            announcement = msgspec.json.decode(text, type=_Announcement)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return
        nonce = announcement.nonce
        if announcement.step is _Step.FOUND:
            if nonce in self._found:
                self._found[nonce] += max(0, announcement.number)
        elif matching := self._find_calls(announcement.digest):
            if announcement.step is _Step.COUNT:
                self._start(self._send, _Announcement(_Step.FOUND, nonce, number=len(matching)))
            elif len(matching) == 1:
                matching[0].cancel(CancelReason.REQUEST_CANCELLED)

    async def _cancel(self, digest: str) -> None:
        nonce = secrets.token_hex(8)
        self._found[nonce] = 0
        try:
            await self._send(_Announcement(_Step.COUNT, nonce, digest))
            await asyncio.sleep(COUNT_SECONDS)
            if self._found[nonce] == 1:
                await self._send(_Announcement(_Step.CANCEL, nonce, digest))
        finally:
            del self._found[nonce]

    async def _send(self, announcement: _Announcement) -> None:
        try:
            await self._announce(msgspec.json.encode(announcement).decode())
        except Unavailable:
            log.info("cancellation not announced: the database is unavailable", extra={"event": "cancel_not_announced"})

    def _start(self, act: Callable[[_T], Coroutine[Any, Any, None]], subject: _T) -> None:
        if len(self._tasks) < MAX_PENDING:
            task = asyncio.create_task(act(subject))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _find_calls(self, digest: str) -> list[SupervisedCall]:
        return [call for call in self._calls.list_calls() if call.id and self._matches(call, digest)]

    def _matches(self, call: SupervisedCall, digest: str) -> bool:
        if not call.digest:  # once for each call: anybody may ask often, and all processes look
            request_id = orjson.dumps(orjson.loads(call.id))
            call.digest = self._compute_digest(call.authority.caller.credential, request_id)
        return hmac.compare_digest(call.digest, digest)

    def _compute_digest(self, credential: Credential, request_id: bytes) -> str:
        parts = (_LABEL, str(credential.tenant_id).encode(), credential.id.encode(), request_id)
        digest = hmac.new(self._key.reveal().encode(), b"\0".join(parts), hashlib.sha256)
        return digest.hexdigest()[:_DIGEST_LENGTH]
