"""Run a reference server: uvicorn as the product runs it, on a free port that one line of JSON tells."""

import json
import socket
from typing import Any

import uvicorn
import uvloop


def serve(app: Any) -> None:
    """Serve an ASGI application until a signal ends it."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    config = uvicorn.Config(app, http="httptools", loop="none", ws="none", access_log=False, log_config=None)
    announce(listener)  # the kernel queues whoever connects before the server accepts
    uvloop.run(uvicorn.Server(config).serve([listener]))


def announce(listener: socket.socket) -> None:
    """Tell the port."""
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
