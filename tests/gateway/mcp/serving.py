"""An application on a loopback socket, as the product serves it: uvicorn, uvloop, httptools."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import uvicorn


@contextlib.asynccontextmanager
async def served(app: Any) -> AsyncIterator[int]:
    """The port under which `app` answers while the context is open."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, http="httptools", ws="none")
    server = uvicorn.Server(config)
    with contextlib.closing(listener):
        task = asyncio.create_task(server._serve(sockets=[listener]))  # `serve` would take the signals
        try:
            async with asyncio.timeout(5):
                while not server.started:
                    await asyncio.sleep(0.005)
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await asyncio.wait_for(task, 10)
