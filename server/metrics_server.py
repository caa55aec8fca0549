"""`/metrics` on a port of its own: a path on the public port would be public behind every reverse proxy."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from core.config.settings import Settings
from core.errors import Unavailable
from core.http_server.http_limits import HttpLimits
from core.http_server.server import HttpServer, run_http_server
from core.observability.metrics import Metrics

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

ReadWorkers = Callable[[], Awaitable[Mapping[int, Any]]]

MAX_CONNECTIONS = 20
LIMITS = HttpLimits(connections=MAX_CONNECTIONS, connections_per_address=MAX_CONNECTIONS, drain_seconds=2.0)


@contextlib.asynccontextmanager
async def serve_metrics(
    host: str, port: int, metrics: Metrics, read_workers: ReadWorkers | None = None
) -> AsyncGenerator[int]:
    """Serve until the block is left; gives the port, which matters where `port` is 0. `read_workers` gives the metrics
    of the other workers of this process, if it has any.

    Raises:
        Unavailable: the port is taken, or the address is not this machine's.
    """
    listener = open_metrics_socket(host, port)
    server = HttpServer(create_metrics_app(metrics, read_workers), limits=LIMITS)
    async with run_http_server(server, listener):
        yield listener.getsockname()[1]


@contextlib.asynccontextmanager
async def serve_process_metrics(
    settings: Settings, metrics: Metrics, read_workers: ReadWorkers | None = None
) -> AsyncGenerator[None]:
    """Serve the metrics of a process, and of its further workers, at the port that the settings name; nothing without
    one.

    Raises:
        Unavailable: as :func:`serve_metrics`.
    """
    if not settings.metrics_port:
        yield
        return
    async with serve_metrics(settings.metrics_host, settings.metrics_port, metrics, read_workers):
        yield


def create_metrics_app(numbers: Metrics, read_workers: ReadWorkers | None = None) -> Starlette:
    """Create the application of /metrics; text is made in a thread, one at a time, so that a scrape delays no call."""
    # 50 ms of import that only metrics need
    from prometheus_client.exposition import choose_encoder

    from core.observability.exposition import build_registry, dump_metrics, merge_workers

    registry = build_registry(numbers)
    one_at_a_time = asyncio.Lock()

    def render(encode: "Callable[[CollectorRegistry], bytes]", workers: "Mapping[int, Any] | None") -> bytes:
        return encode(registry if workers is None else merge_workers({1: dump_metrics(registry), **workers}))

    async def metrics(request: Request) -> Response:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        async with one_at_a_time:
            await numbers.look()
            workers = await read_workers() if read_workers is not None else None
            body = await asyncio.to_thread(render, encode, workers)
        return Response(body, headers={"content-type": content_type, "cache-control": "no-store"})

    return Starlette(routes=[Route("/metrics", metrics, methods=["GET"])])


def _format_reason(error: OSError) -> str:
    """Format the error without the address, which `socket.create_server` adds."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error.strerror)


def open_metrics_socket(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=MAX_CONNECTIONS)
    except OSError as error:
        raise Unavailable(
            f"The metrics port {port} on {host} cannot be opened ({_format_reason(error)}): "
            "choose another MCPIST_METRICS_PORT or MCPIST_METRICS_HOST, or 0 for no metrics."
        ) from error
