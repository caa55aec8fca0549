"""The embedded server under a product's life: started, watched, restarted when it dies, stopped in order."""

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from core.disk_errors import MIN_FREE_BYTES, explain_full_disk, explain_storage_error, get_free_bytes
from server.postgres.binaries import Binaries, copy_binaries, find_bundled_binaries, remove_other_copies
from server.postgres.cluster import ensure_cluster, read_password
from server.postgres.errors import HomeInUse, OwnerGone, PostgresError
from server.postgres.layout import DataFolderLayout, find_layout, prepare_home
from server.postgres.lock import HomeLock, is_held
from server.postgres.postmaster import Postmaster, Report, ServerAddress
from server.postgres.process import find_server_pids, read_pid_file
from server.postgres.system_account import SystemAccount, find_runtime_account

_FIRST_DELAY = 0.1  # seconds
_MAX_DELAY = 10.0
_STABLE_SECONDS = 10.0  # seconds of life after which the next death counts as the first again
_ATTACH_POLL = 0.05
MAX_CONNECTIONS = 60
"""Connections that the server accepts of one process that serves, and of commands beside it."""
WORKER_CONNECTIONS = 36
"""The same of each further worker: its pools at their largest."""

_log = logging.getLogger(__name__)
_P = ParamSpec("_P")
_T = TypeVar("_T")


class EmbeddedPostgres:
    """Owns the server on one data folder between `start` and `stop`.

    `ready` is set while the server accepts connections; it is cleared as soon as its death is seen (within 0.1 s).
    `on_progress` gets one short line for each step that a person may wait for. It must not raise.
    `workers` is the number of processes that will use the server.
    """

    def __init__(
        self,
        home: Path,
        *,
        run_as: str = "nobody",
        short_parent: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        on_progress: Report | None = None,
        workers: int = 1,
    ) -> None:
        self.ready = asyncio.Event()
        self._home = home
        self._run_as = run_as
        self._short_parent = short_parent
        self._clock = clock
        self._report = on_progress or _ignore_progress
        self._max_connections = MAX_CONNECTIONS + (workers - 1) * WORKER_CONNECTIONS
        self._turn = asyncio.Lock()
        self._lock: HomeLock | None = None
        self._server: Postmaster | None = None
        self._watcher: asyncio.Task[None] | None = None

    async def start(self) -> ServerAddress:
        """Make the cluster if there is none, start the server, and return when it accepts connections.

        There is no time-out while the server lives: recovery after a crash takes as long as it takes.

        Raises: HomeInUse if another process owns the folder; PostgresError for everything else, with what to do.
        """
        async with self._turn:
            if self._server is not None:
                return self._server.address
            try:
                return await self._start()
            except BaseException as error:
                await self._stop()
                if not isinstance(error, HomeInUse) and (problem := explain_storage_error(error, self._home)):
                    raise PostgresError(f"MCPist cannot start: {problem}.") from error
                raise

    async def stop(self) -> None:
        """Stop the server in order and give the folder free. Does nothing if it is not running."""
        async with self._turn:
            await self._stop()

    async def _start(self) -> ServerAddress:
        account = find_runtime_account(self._run_as)
        layout = prepare_home(self._home, account)
        self._lock = await HomeLock.acquire(layout.lock)
        binaries = await self._prepare(layout, account)
        password = await asyncio.to_thread(read_password, layout)
        self._server = Postmaster(
            layout,
            binaries,
            account,
            layout.get_socket_dir(self._short_parent),
            password,
            self._clock,
            self._max_connections,
        )
        await self._server.launch(self._report)
        if account is not None:
            await _run_in_thread(remove_other_copies, binaries)
        self.ready.set()
        self._watcher = asyncio.create_task(self._watch(self._server), name="watch PostgreSQL")
        return self._server.address

    async def _prepare(self, layout: DataFolderLayout, account: SystemAccount | None) -> Binaries:
        binaries = find_bundled_binaries()
        if account is not None:
            self._report(f"Preparing PostgreSQL {binaries.version}")
            binaries = await _run_in_thread(copy_binaries, binaries, layout.binaries)
        if not layout.data.exists():
            self._report("Creating the database")
        await _run_in_thread(ensure_cluster, layout, binaries, account)
        return binaries

    async def _stop(self) -> None:
        self.ready.clear()
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.wait([self._watcher])
            self._watcher = None
        try:
            if self._server is not None:
                await self._server.stop()
                self._server = None
        finally:
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    async def _watch(self, server: Postmaster) -> None:
        delay = _FIRST_DELAY
        while True:
            lifetime = await server.wait_for_death()
            self.ready.clear()
            if lifetime > _STABLE_SECONDS:
                delay = _FIRST_DELAY
            reason = f": {explain_full_disk(self._home)}" if get_free_bytes(self._home) < MIN_FREE_BYTES else ""
            self._report_progress(
                "postgres_exited",
                f"PostgreSQL exited with code {server.code}{reason}; restarting it in {delay:.1f} s",
            )
            await asyncio.sleep(delay)
            delay = min(delay * 2, _MAX_DELAY)
            try:
                await server.launch(self._report)
            except (PostgresError, OSError) as error:  # a full disk, too, must not end the watch
                self._report_progress("postgres_restart_failed", explain_storage_error(error, self._home) or str(error))
            else:
                self._report_progress("postgres_restarted", "PostgreSQL is running again")
                self.ready.set()

    def _report_progress(self, event: str, line: str) -> None:
        _log.warning("%s", line, extra={"event": event})
        self._report(line)


async def attach_server(home: Path, *, on_progress: Report | None = None) -> ServerAddress:
    """Return the address of the server that another process owns, as soon as it accepts connections.

    Raises: OwnerGone if no process owns the folder (any more): then start the server instead.
    """
    layout = find_layout(home)
    report = on_progress or _ignore_progress
    is_waiting = False
    while layout is not None and is_held(layout.lock):
        pid_file = read_pid_file(layout.data)
        if pid_file is not None and pid_file.ready and pid_file.pid in find_server_pids(layout):
            return ServerAddress(pid_file.socket_dir, pid_file.port, read_password(layout))
        if not is_waiting:
            report("Waiting for the MCPist that owns this data folder")
        is_waiting = True
        await asyncio.sleep(_ATTACH_POLL)
    raise OwnerGone(f"No MCPist is running on {home}; start it there first.")


async def _run_in_thread(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Run it in a thread, and if we are cancelled, wait for its end first: it must not outlive the folder's lock."""
    task = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    finally:
        if not task.done():
            await asyncio.wait([task])


def _ignore_progress(_line: str) -> None:
    """Ignore progress, for callers that show none."""
