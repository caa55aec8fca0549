"""An event loop that knows how much CPU time its longest turn took, and a client that asks without a socket."""

import asyncio
import contextlib
import gc
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from gateway.single.serving import YOUNG_OBJECTS


class WatchedLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop: uvloop shows nobody its turns, and the steps of a task are the same on both."""

    longest = 0.0

    def _run_once(self) -> None:
        began = time.thread_time()
        super()._run_once()  # type: ignore[misc]
        self.longest = max(self.longest, time.thread_time() - began)


@contextlib.contextmanager
def collected_as_in_the_product() -> Iterator[None]:
    """The garbage collector sees what a request makes, and not all of pytest (gateway.single.serving)."""
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 10, 10)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


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
    """Have `app` answer. The application runs in the task that waits, so its first step is part of a turn."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, WatchedLoop)
    sent: list[Any] = []
    given = [{"type": "http.request", "body": request.body, "more_body": False}]

    async def receive() -> Any:
        return given.pop() if given else await asyncio.get_running_loop().create_future()

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "",
        "method": request.method, "path": unquote(request.path), "raw_path": request.path.encode("latin-1"),
        "query_string": request.query, "headers": list(request.headers),
        "client": ("127.0.0.1", 50000), "server": ("127.0.0.1", port),
    }  # fmt: skip
    task = asyncio.create_task(_first_turn_alone(app, scope, receive, send))
    await asyncio.sleep(0)
    loop.longest = 0.0
    async with asyncio.timeout(seconds):
        with contextlib.suppress(ConnectionAbortedError):
            await task
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    size = sum(len(message.get("body", b"")) for message in sent)
    return Served(sent[0]["status"] if sent else 0, size, loop.longest)


async def _first_turn_alone(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Nothing of the application runs before the clock is set back."""
    await asyncio.sleep(0)
    await app(scope, receive, send)
