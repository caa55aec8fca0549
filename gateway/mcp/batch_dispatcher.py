"""JSON-RPC batches, which two old revisions have: members run side by side, and each is answered for itself."""

import asyncio

from core.concurrency.cooperative_steps import LARGE_STEP_BYTES, wait_for_turn
from core.errors import LimitReached
from gateway.mcp.dispatcher import Dispatcher
from gateway.mcp.interfaces import Admit
from gateway.mcp.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    JsonRpcMessage,
    MalformedJsonRpc,
    parse_message,
    split_batch,
)
from gateway.mcp.request_context import ProtocolError
from gateway.mcp.revisions import JsonRpcAnswer, Revision, build_error_answer
from gateway.mcp.settings import McpSettings
from gateway.mcp.transport_context import TransportContext


class BatchDispatcher:
    """Answers arrays of messages."""

    def __init__(self, dispatcher: Dispatcher, settings: McpSettings, admit: Admit) -> None:
        self._dispatcher = dispatcher
        self._limit = settings.max_batch
        self._max_depth = settings.max_depth - 1
        self._admit = admit

    async def answer(self, body: bytes, request: TransportContext, revision: Revision) -> JsonRpcAnswer | None:
        """Answer an array in the order of its requests; None if it holds no request.

        Raises:
            Malformed: the array cannot be read, or this revision has no batches.
        """
        if not revision.batch:
            raise MalformedJsonRpc(
                INVALID_REQUEST, "Invalid request: this protocol version has no batches; send one message"
            )
        await wait_for_turn(len(body))
        messages = await self._parse(split_batch(body, self._limit))
        request.turn.release()  # its members have their own
        answers = await asyncio.gather(
            *(self._answer_member(message, n, request, revision) for n, message in enumerate(messages))
        )
        bodies = [answer.body for answer in answers if answer is not None]
        return JsonRpcAnswer(200, b"[" + b",".join(bodies) + b"]", revision) if bodies else None

    async def _parse(self, items: list[bytes]) -> list[JsonRpcMessage | MalformedJsonRpc]:
        """Parse all members before any is run, so that all can begin in one turn of the event loop."""
        messages: list[JsonRpcMessage | MalformedJsonRpc] = []
        size = 0
        for item in items:
            size += len(item)
            if size > LARGE_STEP_BYTES:
                await wait_for_turn(size)
                size = 0
            try:
                messages.append(parse_message(item, self._max_depth))
            except MalformedJsonRpc as malformed:
                messages.append(malformed)
        await wait_for_turn(sum(map(len, items)))
        return messages

    async def _answer_member(
        self, message: JsonRpcMessage | MalformedJsonRpc, position: int, request: TransportContext, revision: Revision
    ) -> JsonRpcAnswer | None:
        if isinstance(message, MalformedJsonRpc):
            return build_error_answer(revision, message.id, message.error)
        if not message.id or not message.method:
            self._dispatcher.accept_notification(message, request, revision)
            return None
        if message.method == "initialize":
            error = ProtocolError(INVALID_REQUEST, "Invalid request: initialize must not be part of a batch")
            return build_error_answer(revision, message.id, error)
        caller = request.caller
        assert caller is not None
        try:
            # The request as a whole was admitted as one.
            release = self._admit(caller) if position else None
        except LimitReached as error:
            return build_error_answer(revision, message.id, ProtocolError(INTERNAL_ERROR, str(error)))
        turn = request.turn.fork()
        try:
            await turn.wait()
            return await self._dispatcher.answer(message, request.fork(revision, turn))
        except LimitReached as error:
            return build_error_answer(revision, message.id, ProtocolError(INTERNAL_ERROR, str(error)))
        finally:
            turn.release()
            if release is not None:
                release()
