"""An event loop that knows how much CPU time its longest turn took, and a client that asks without a socket."""

import asyncio
import contextlib
import gc
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from server.listener import GC_YOUNG_THRESHOLD


class WatchedLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop: uvloop shows nobody its turns, and the steps of a task are the same on both."""

    longest = 0.0

    def _run_once(self) -> None:
        began = time.thread_time()
        super()._run_once()  # type: ignore[misc]
        self.longest = max(self.longest, time.thread_time() - began)


@contextlib.contextmanager
def collected_as_in_the_product() -> Iterator[None]:
    """The garbage collector sees what a request makes, and not all of pytest (server.listener)."""
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_YOUNG_THRESHOLD, 10, 10)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
        gc.collect()
        gc.freeze()  # again what lives as long as the suite (tests.support.collector_plugin)


ENDLESS = "/api/v1/events"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as a server hands it over: the body in one piece."""

    method: str
    path: str
    query: bytes = b""
    headers: Sequence[tuple[bytes, bytes]] = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Served:
    """How it was answered, and the CPU seconds of the longest turn of the loop meanwhile."""

    status: int
    size: int
    stall: float


async def served(app: Any, request: Request, port: int, seconds: float = 30.0) -> Served:
    """Have `app` answer one request."""
    return (await served_together(app, [request], port, seconds))[0]


async def served_together(app: Any, requests: Sequence[Request], port: int, seconds: float = 30.0) -> list[Served]:
    """Have `app` answer all of them at once; the longest turn is that of all together. The applications run in tasks
    that the loop begins while it is watched, so that their first steps are part of a turn."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, WatchedLoop)
    sent: list[list[Any]] = [[] for _ in requests]
    tasks = [
        asyncio.create_task(_begin_later(app, _scope(request, port), *_client_of(request, messages)))
        for request, messages in zip(requests, sent, strict=True)
    ]
    await asyncio.sleep(0)
    loop.longest = 0.0
    async with asyncio.timeout(seconds):
        with contextlib.suppress(ConnectionAbortedError):
            await asyncio.gather(*tasks)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return [
        Served(
            messages[0]["status"] if messages else 0, sum(len(one.get("body", b"")) for one in messages), loop.longest
        )
        for messages in sent
    ]


def _scope(request: Request, port: int) -> dict[str, Any]:
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "",
        "method": request.method, "path": unquote(request.path), "raw_path": request.path.encode("latin-1"),
        "query_string": request.query, "headers": list(request.headers),
        "client": ("127.0.0.1", 50000), "server": ("127.0.0.1", port),
    }  # fmt: skip


def _client_of(request: Request, messages: list[Any]) -> tuple[Any, Any]:
    """What the application receives and sends; a client of an endless stream leaves after its first event."""
    given = [{"type": "http.request", "body": request.body, "more_body": False}]
    has_enough = asyncio.Event()

    async def receive() -> Any:
        if given:
            return given.pop()
        await has_enough.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        messages.append(message)
        if message.get("more_body") and request.path == ENDLESS:
            has_enough.set()

    return receive, send


async def _begin_later(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Nothing of the application runs before the clock is set back."""
    await asyncio.sleep(0)
    await app(scope, receive, send)
