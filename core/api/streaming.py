"""Streamed responses whose source is never cancelled: the reader's going ends it at its next step.

A cancelled source would give its database connection back in the middle of a transaction.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Receive, Scope, Send


def do_nothing() -> None:
    """Stop nothing: the source ends after its present chunk anyway."""


class SteadyStreamResponse(Response):
    """Sends chunks until there are no more, or the reader has gone; `on_disconnect` is called then, at once."""

    def __init__(
        self,
        chunks: AsyncIterator[bytes],
        media_type: str,
        headers: Mapping[str, str] | None = None,
        on_disconnect: Callable[[], None] = do_nothing,
    ) -> None:
        super().__init__(headers=headers, media_type=media_type)
        del self.headers["content-length"]
        self._chunks = chunks
        self._on_disconnect = on_disconnect

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the response."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        waiting = asyncio.create_task(self._wait_for_disconnect(receive), name="streamed response")
        try:
            async with aclosing(_as_generator(self._chunks)) as chunks:
                async for chunk in chunks:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                    if waiting.done():
                        return
            await send({"type": "http.response.body", "body": b""})
        finally:
            waiting.cancel()

    async def _wait_for_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._on_disconnect()


async def _as_generator(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    async for chunk in chunks:
        yield chunk
