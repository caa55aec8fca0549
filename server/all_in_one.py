"""The whole product in this process, or one more gateway on a data folder: from settings to a clean end.

What serves takes long to import (server/serving.py): a thread does it while PostgreSQL starts.
"""

import asyncio
import contextlib
import gc
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from core.config.settings import Settings
from core.migrations import prepare_migration
from server.data_folder import Report, attach_database, has_database, start_database
from server.deployment import GATEWAY_ROLE, Deployment
from server.listen_port import open_port
from server.listener import watch_stop_signals
from server.ready import ServerReady

SWITCH_SECONDS = 0.0002
OnReady = Callable[[ServerReady], None]
_Ready = AbstractAsyncContextManager[ServerReady]


class _Serving(Protocol):
    """The functions of `server/serving.py`."""

    def serve_product(
        self, settings: Settings, deployment: Deployment, listener: socket.socket, report: Report
    ) -> _Ready: ...
    def serve_gateway(self, settings: Settings, deployment: Deployment, listener: socket.socket) -> _Ready: ...
    def serve_gateway_alone(self, settings: Settings, deployment: Deployment, listener: socket.socket) -> _Ready: ...


async def run_all_in_one(settings: Settings, report: Report, on_ready: OnReady) -> None:
    """Run database, broker and gateway until SIGINT or SIGTERM; then drain, and stop everything in order.

    Raises:
        core.errors.MCPistError, server.postgres.errors.PostgresError: it cannot start; the text says what to do.
    """
    with _pause_garbage_collection(), watch_stop_signals() as stop, open_port(settings) as listener:
        if not has_database(settings):
            prepare_migration()
        loading = asyncio.ensure_future(asyncio.to_thread(_load_serving))
        async with start_database(settings, report) as deployment:
            serving = await loading
            async with serving.serve_product(settings, deployment, listener, report) as ready:
                on_ready(ready)
                await stop.wait()


async def run_gateway(settings: Settings, report: Report, on_ready: OnReady) -> None:
    """Run one more gateway beside a product that runs already, on another port, until SIGINT or SIGTERM.

    Where the settings name a broker, the gateway has none of its own, and needs neither the broker's keys nor its role.
    """
    with _pause_garbage_collection(), watch_stop_signals() as stop, open_port(settings) as listener:
        serving = _load_serving()
        if settings.broker_url:
            from server.standalone import open_role_deployment

            opening, serve = open_role_deployment(settings, report, GATEWAY_ROLE), serving.serve_gateway_alone
        else:
            opening, serve = attach_database(settings, report), serving.serve_gateway
        async with opening as deployment, serve(settings, deployment, listener) as ready:
            on_ready(ready)
            await stop.wait()


@contextlib.contextmanager
def _pause_garbage_collection() -> Generator[None]:
    """Let the start make its objects, none of which is garbage, without the collector looking through them: a tenth of
    its time. The listener turns the collector on (server/listener.py), else the end does."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _load_serving() -> _Serving:
    interval = sys.getswitchinterval()
    # Each file that is copied meanwhile would wait 5 ms for the interpreter, several times.
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        from gateway.catalogue import import_own_modules
        from server import serving

        import_own_modules()
    finally:
        sys.setswitchinterval(interval)
    return serving
