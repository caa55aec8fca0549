"""Open streams on which a handshake client hears that the account it was asked to connect is connected
([2025-11-25] Elicitation, Completion Notifications for URL Mode).

Nothing has to be remembered for it, and any gateway serves any of them: what an elicitation is called follows from user
and module, and what is connected now is compared with what was a moment ago.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Generator

import orjson

from core.caller import Caller
from core.errors import LimitReached, MCPistError, Unavailable
from core.secret import Secret
from gateway.mcp.elicitation import Elicitation
from gateway.mcp.ports import Authenticate
from gateway.mcp.replies import Reply
from gateway.mcp.sse import CONTENT_TYPE, STREAM_HEADERS, event
from gateway.mcp.watch import Receive

LOOK_SECONDS = 0.5
KEEP_ALIVE_SECONDS = 15.0
LONGEST_SECONDS = 600.0
MOST_STREAMS = 1_000
MOST_OF_ONE = 8

Connected = Callable[[Caller, Secret], Awaitable[frozenset[str]]]
"""The modules whose account works for a caller now; their own credential comes along for the broker."""


class Listening:
    """The open streams of one gateway. Each ends after `LONGEST_SECONDS` (clients open the next one by themselves),
    when its credential counts no more, and at :meth:`close`."""

    def __init__(self, elicitation: Elicitation, authenticate: Authenticate, connected: Connected) -> None:
        self._elicitation = elicitation
        self._authenticate = authenticate
        self._connected = connected
        self._streams: set[asyncio.Future[None]] = set()
        self._of_one: Counter[str] = Counter()

    def close(self) -> None:
        """End every stream: the process stops."""
        for gone in self._streams:
            if not gone.done():
                gone.set_result(None)

    async def serve(self, authorization: str | None, address: str, receive: Receive, reply: Reply) -> None:
        """One stream, until it ends.

        Raises:
            gateway.mcp.errors.Unauthenticated: before anything was answered.
            core.errors.LimitReached: too many are open.
        """
        caller = await self._authenticate(authorization, address)
        with self._place(caller) as gone:
            departing = asyncio.create_task(_departure(receive, gone))
            try:
                await reply.start(200, CONTENT_TYPE, STREAM_HEADERS)
                await reply.more(b": listening\n\n")
                with contextlib.suppress(MCPistError):  # the credential does not count any more
                    await self._tell(caller, authorization, address, reply, gone)
                await reply.more(b"", last=True)
            finally:
                departing.cancel()

    async def _tell(
        self, caller: Caller, authorization: str | None, address: str, reply: Reply, gone: "asyncio.Future[None]"
    ) -> None:
        subject = Secret((authorization or "").partition(" ")[2].strip())
        now = asyncio.get_running_loop().time
        end, quiet_since = now() + LONGEST_SECONDS, now()
        before = await self._connected(caller, subject)
        while not gone.done() and now() < end:
            await asyncio.wait({gone}, timeout=LOOK_SECONDS)
            try:
                known, caller = caller, await self._authenticate(authorization, address)
                after = before if caller is known else await self._connected(caller, subject)
            except Unavailable:
                continue
            for module in sorted(after - before):
                await reply.more(_completed(self._elicitation.id(caller, module)))
                quiet_since = now()
            before = after
            if now() - quiet_since >= KEEP_ALIVE_SECONDS:
                quiet_since = now()
                await reply.more(b": keep-alive\n\n")

    @contextlib.contextmanager
    def _place(self, caller: Caller) -> "Generator[asyncio.Future[None]]":
        key = caller.credential.id
        if len(self._streams) >= MOST_STREAMS or self._of_one[key] >= MOST_OF_ONE:
            raise LimitReached("too many streams are open; close one", retry_after=KEEP_ALIVE_SECONDS)
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._streams.add(gone)
        self._of_one[key] += 1
        try:
            yield gone
        finally:
            self._streams.discard(gone)
            self._of_one[key] -= 1
            if not self._of_one[key]:
                del self._of_one[key]


async def _departure(receive: Receive, gone: "asyncio.Future[None]") -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    if not gone.done():
        gone.set_result(None)


def _completed(elicitation_id: str) -> bytes:
    params = {"elicitationId": elicitation_id}
    return event(orjson.dumps({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": params}))
