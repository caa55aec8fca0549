"""JSON-RPC batches, which two old revisions have: members run side by side, and each is answered for itself."""

import asyncio
import math

from core.concurrency.cooperative_steps import LARGE_STEP_BYTES, wait_for_turn
from core.errors import LimitReached
from gateway.mcp.context import ProtocolError
from gateway.mcp.dispatch import Answer, Arrival, Dispatcher, failure
from gateway.mcp.envelope import INTERNAL_ERROR, INVALID_REQUEST, Malformed, Message, parse, split
from gateway.mcp.errors import ClientGone
from gateway.mcp.ports import Admit
from gateway.mcp.revisions import Revision
from gateway.mcp.settings import McpSettings
from gateway.mcp.watch import Watch


class Batches:
    """Answers arrays of messages."""

    def __init__(self, dispatcher: Dispatcher, settings: McpSettings, admit: Admit, watch: Watch) -> None:
        self._dispatcher = dispatcher
        self._limit = settings.max_batch
        self._max_depth = settings.max_depth - 1
        self._admit = admit
        self._watch = watch

    async def answer(self, body: bytes, arrival: Arrival, revision: Revision) -> Answer | None:
        """One array of answers in the order of the requests; None if there was no request in it.

        Raises:
            Malformed: the array cannot be read, or this revision has no batches.
            ClientGone: nobody waits for the answer any more.
        """
        if not revision.batch:
            raise Malformed(INVALID_REQUEST, "Invalid request: this protocol version has no batches; send one message")
        await wait_for_turn(len(body))
        messages = await self._parse(split(body, self._limit))
        loop = asyncio.get_running_loop()
        running = self._watch.enter(loop, math.inf, arrival.receive)
        try:
            answers = await asyncio.gather(*(self._one(one, n, arrival, revision) for n, one in enumerate(messages)))
        except asyncio.CancelledError:
            if running.ended is None or running.task.uncancel():
                raise
            raise ClientGone from None
        finally:
            self._watch.leave(running)
        bodies = [answer.body for answer in answers if answer is not None]
        return Answer(200, b"[" + b",".join(bodies) + b"]", revision) if bodies else None

    async def _parse(self, items: list[bytes]) -> list[Message | Malformed]:
        """The members, read before any is run: then all of them can begin in one turn of the event loop."""
        messages: list[Message | Malformed] = []
        size = 0
        for item in items:
            size += len(item)
            if size > LARGE_STEP_BYTES:
                await wait_for_turn(size)
                size = 0
            try:
                messages.append(parse(item, self._max_depth))
            except Malformed as malformed:
                messages.append(malformed)
        await wait_for_turn(sum(map(len, items)))
        return messages

    async def _one(
        self, message: Message | Malformed, position: int, arrival: Arrival, revision: Revision
    ) -> Answer | None:
        if isinstance(message, Malformed):
            return failure(revision, message.id, message.error)
        if not message.id or not message.method:
            return None
        if message.method == "initialize":
            error = ProtocolError(INVALID_REQUEST, "Invalid request: initialize must not be part of a batch")
            return failure(revision, message.id, error)
        try:
            # The request as a whole was admitted as one.
            release = self._admit(arrival.caller) if position else None
        except LimitReached as error:
            return failure(revision, message.id, ProtocolError(INTERNAL_ERROR, str(error)))
        own = Arrival(arrival.caller, arrival.request_id, arrival.headers, None, None, revision, arrival.authenticate)
        try:
            return await self._dispatcher.answer(message, own)
        finally:
            if release is not None:
                release()
