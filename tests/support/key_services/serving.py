"""A small HTTP server on loopback for the doubles."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class Faults:
    """What the service does instead of its work, one for each of the next requests; and how often it was asked."""

    next: list[int] = field(default_factory=list)
    asked: int = 0

    def take(self) -> int | None:
        """The status to answer with now, if any."""
        self.asked += 1
        return self.next.pop(0) if self.next else None


@contextlib.asynccontextmanager
async def served(handler: Handler) -> AsyncIterator[str]:
    """Serve every path; the server's URL without a slash at its end."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()
