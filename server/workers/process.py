"""A further worker of `mcpist up --workers N`: a process that serves the port which it inherits."""

import asyncio
import contextlib
import json
import logging
import os
import socket
import sys
from dataclasses import replace
from typing import Any

from core.concurrency.event_loop import run_event_loop
from core.concurrency.shared_limits import SharedLimitMemory
from core.config.settings import Settings
from core.errors import MCPistError
from core.observability.log_file import LogFile, get_log_path, is_log_kept
from core.observability.logs import configure_logs
from core.observability.metrics import Metrics
from core.secret import Secret
from server.data_folder import attach_database
from server.listener import watch_stop_signals
from server.operator_access import OperatorAccess
from server.postgres.errors import PostgresError
from server.serving import serve_worker
from server.workers.worker import Worker

log = logging.getLogger(__name__)


def main() -> int:
    """Run a worker by the plan that standard input, a socket, begins with; return the exit status."""
    settings = Settings.from_environment(os.environ)  # reads-environment: a program of its own, as a command is
    keeps_log = is_log_kept(settings.log_file, os.environ, sys.stderr.fileno())  # reads-environment: the same
    file = LogFile(get_log_path(settings.home)) if keeps_log else None
    configure_logs(settings.log_level, settings.log_format, file=file)
    try:
        run_event_loop(_run(settings, socket.socket(fileno=os.dup(0))))
    except (MCPistError, PostgresError) as error:
        log.error("this worker cannot start: %s", str(error), extra={"event": "worker_failed"})
        return 1
    return 0


async def _run(settings: Settings, channel: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=channel)
    line = await reader.readline()
    if not line:
        return  # the first process has ended already
    plan = json.loads(line)
    settings = replace(settings, workers=plan["workers"])
    memory = SharedLimitMemory(plan["memory"], plan["worker"], plan["workers"])
    operator = plan["operator"] and OperatorAccess(plan["operator"][0], Secret(plan["operator"][1]))
    with watch_stop_signals() as stop, socket.socket(fileno=plan["listener"]) as listener:
        async with (
            attach_database(settings, _ignore_progress) as deployment,
            serve_worker(settings, deployment, listener, Worker(plan["worker"], memory), operator) as metrics,
        ):
            _send(writer, {"ready": True, "pid": os.getpid()})
            answering = asyncio.create_task(_answer(reader, writer, metrics, stop))
            await stop.wait()
            answering.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await answering
    writer.close()


async def _answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, metrics: Metrics, stop: asyncio.Event
) -> None:
    """Answer the first process, and set `stop` when it ends."""
    registry = None
    try:
        while await reader.readline():
            from core.observability.exposition import build_registry, dump_metrics

            registry = registry or build_registry(metrics)
            await metrics.look()
            _send(writer, {"metrics": await asyncio.to_thread(dump_metrics, registry)})
    except ConnectionError:
        pass
    finally:
        stop.set()


def _send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    writer.write(json.dumps(message).encode() + b"\n")


def _ignore_progress(step: str) -> None:
    """Ignore progress: the first process has shown it."""


if __name__ == "__main__":
    sys.exit(main())
