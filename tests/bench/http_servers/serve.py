"""Run one of our own candidates: ``python -m tests.bench.http_servers.serve mcpist|httptools|h11 PORT``."""

import asyncio
import socket
import sys

import uvicorn
import uvloop

from core.http_server.server import HttpServer, run_http_server
from tests.bench.http_servers.application import app


async def _mcpist(listener: socket.socket) -> None:
    async with run_http_server(HttpServer(app), listener):
        await asyncio.Event().wait()


def main() -> None:
    name, port = sys.argv[1:]
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=2048)
    if name == "mcpist":
        uvloop.run(_mcpist(listener))
    else:
        config = uvicorn.Config(
            app, http=name, loop="none", ws="none", lifespan="off", access_log=False, log_config=None
        )
        uvloop.run(uvicorn.Server(config).serve([listener]))


if __name__ == "__main__":
    main()
