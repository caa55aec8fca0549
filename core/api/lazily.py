"""An application that is loaded when it is first asked for: FastAPI takes half a second, and most starts need none."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

Application = Callable[[Any, Any, Any], Awaitable[None]]


class Lazily:
    """Stands for the application that `build` makes. `build` imports what it needs, in a thread, so that other requests
    of this process are served meanwhile. One that fails is tried again by the next request.
    """

    def __init__(self, build: Callable[[], Application]) -> None:
        self._build = build
        self._built: asyncio.Task[Application] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await (await self.loaded())(scope, receive, send)

    async def loaded(self) -> Application:
        """The application, built once however many ask for it."""
        built = self._built
        if built is None or (built.done() and built.exception() is not None):
            built = self._built = asyncio.create_task(asyncio.to_thread(self._build))
        return await asyncio.shield(built)
