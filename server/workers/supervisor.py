"""The further workers of `mcpist up --workers N`: started, watched, started again when they die, stopped in order.

A worker inherits the listening socket and the memory of limits. What it has to know comes over a socket that is its
standard input; when that ends, so does the worker, whatever ended the first process.
"""

import asyncio
import contextlib
import json
import logging
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator
from typing import Any

from core.concurrency.background import report_turn, run_in_background
from core.concurrency.shared_limits import SharedLimitMemory
from core.config.settings import Settings
from core.errors import Unavailable
from server.operator_access import OperatorAccess

FIRST_DELAY = 0.5
"""Seconds before a worker that ended is started again; doubled each time."""
MAX_DELAY = 30.0
STABLE_SECONDS = 10.0
"""Seconds of life after which the next end counts as the first again."""
STOP_SECONDS = 40.0
"""Seconds that a worker has after its drain delay for its running requests before it is killed; its own limit is
shorter."""
METRICS_SECONDS = 1.0
CHANNEL_BYTES = 16 << 20
"""The longest message of a worker: its metrics."""

log = logging.getLogger(__name__)


class Workers:
    """The further workers of this process."""

    def __init__(self, workers: "list[_WorkerProcess]") -> None:
        self._workers = workers

    async def wait_until_ready(self) -> None:
        """Wait until all workers serve.

        Raises:
            Unavailable: one ended before; its log says why.
        """
        await asyncio.gather(*(worker.first_ready for worker in self._workers))

    def terminate(self) -> None:
        """Let all workers finish their running requests and end; return at once."""
        for worker in self._workers:
            worker.terminate()

    async def read_metrics(self) -> dict[int, Any]:
        """Read the metrics of each worker that answers within a second, as `exposition.dump_metrics` gives them."""
        metrics = await asyncio.gather(*(worker.read_metrics() for worker in self._workers))
        return {worker.number: dump for worker, dump in zip(self._workers, metrics, strict=True) if dump is not None}


@contextlib.asynccontextmanager
async def run_workers(
    settings: Settings, listener: socket.socket, memory: SharedLimitMemory, operator: OperatorAccess | None
) -> AsyncGenerator[Workers]:
    """Run the workers from the second to the last until the block is left."""
    plan = {
        "listener": listener.fileno(),
        "memory": memory.descriptor,
        "workers": settings.workers,
        "operator": None if operator is None else [operator.url, operator.token.reveal()],
    }
    processes = [
        _WorkerProcess(number, plan, memory, settings.drain_delay) for number in range(2, settings.workers + 1)
    ]
    async with contextlib.AsyncExitStack() as stack:
        for process in processes:
            await stack.enter_async_context(run_in_background(f"worker {process.number}", process.supervise()))
        try:
            yield Workers(processes)
        finally:
            await asyncio.gather(*(process.stop() for process in processes))


class _WorkerProcess:
    """One worker over all its lives."""

    def __init__(self, number: int, plan: dict[str, Any], memory: SharedLimitMemory, drain_delay: float) -> None:
        self.number = number
        self.first_ready = asyncio.get_running_loop().create_future()
        self.first_ready.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        self._plan = {**plan, "worker": number}
        self._stop_seconds = STOP_SECONDS + drain_delay
        self._memory = memory
        self._process: asyncio.subprocess.Process | None = None
        self._channel: asyncio.StreamWriter | None = None
        self._metrics: asyncio.Future[Any] | None = None
        self._is_stopping = False
        self._ended = asyncio.Event()

    async def supervise(self) -> None:
        """Keep the worker running until :meth:`stop`."""
        delay = FIRST_DELAY
        while not self._is_stopping:
            started = time.monotonic()
            status = await self._run_once()
            if self._is_stopping:
                break
            log.error(
                "worker %d ended; starting it again",
                self.number,
                extra={"event": "worker_ended", "worker": self.number, "exit_status": status},
            )
            report_turn(failed=True)
            if not self.first_ready.done():
                self.first_ready.set_exception(
                    Unavailable(f"worker {self.number} could not start; the log says why. Start with --workers 1")
                )
            delay = FIRST_DELAY if time.monotonic() - started > STABLE_SECONDS else min(delay * 2, MAX_DELAY)
            await asyncio.sleep(delay)
        self._ended.set()

    async def _run_once(self) -> int:
        """Run one process to its end; return its exit status."""
        ours, theirs = socket.socketpair()
        reader, channel = await asyncio.open_connection(sock=ours, limit=CHANNEL_BYTES)
        try:
            with theirs:
                process = self._process = await self._spawn(theirs)
            self._channel = channel
            channel.write(json.dumps(self._plan).encode() + b"\n")
            if self._is_stopping:
                self.terminate()
            await self._read_messages(reader)
            return await process.wait()
        finally:
            self._process = self._channel = None
            self._memory.forget_worker(self.number)
            channel.close()

    async def _spawn(self, channel: socket.socket) -> asyncio.subprocess.Process:
        # -P: the folder in which `mcpist up` was called is no place for Python to find modules in. A session of its
        # own: Ctrl-C in a terminal reaches the first process only, which stops the others in order.
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "server.workers.process"),
            stdin=channel.fileno(),
            pass_fds=(self._plan["listener"], self._plan["memory"]),
            start_new_session=True,
        )

    async def _read_messages(self, reader: asyncio.StreamReader) -> None:
        """Read what the worker says until it ends."""
        with contextlib.suppress(ConnectionError, ValueError):
            while line := await reader.readline():
                message = json.loads(line)
                if message.get("ready"):
                    report_turn(failed=False)
                    fields = {"worker": self.number, "worker_pid": message["pid"]}
                    log.info("worker %d is ready", self.number, extra={"event": "worker_ready", **fields})
                    if not self.first_ready.done():
                        self.first_ready.set_result(None)
                elif self._metrics is not None and not self._metrics.done():
                    self._metrics.set_result(message["metrics"])

    async def read_metrics(self) -> Any:
        """Read the worker's metrics; None where it does not answer."""
        if self._channel is None:
            return None
        if self._metrics is None or self._metrics.done():
            self._metrics = asyncio.get_running_loop().create_future()
            self._channel.write(b'{"send":"metrics"}\n')
        try:
            return await asyncio.wait_for(asyncio.shield(self._metrics), METRICS_SECONDS)
        except TimeoutError:
            return None

    def terminate(self) -> None:
        """Let the worker finish its running requests and end."""
        self._is_stopping = True
        self._send_signal(signal.SIGTERM)

    async def stop(self) -> None:
        """Wait for the worker's end; kill it where it takes too long."""
        self.terminate()
        if self._process is None:
            return
        try:
            await asyncio.wait_for(self._ended.wait(), self._stop_seconds)
        except TimeoutError:
            log.error("worker %d did not stop; killing it", self.number, extra={"event": "worker_killed"})
            self._send_signal(signal.SIGKILL)
            await self._ended.wait()

    def _send_signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)
