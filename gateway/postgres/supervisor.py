"""The embedded server under a product's life: started, watched, restarted when it dies, stopped in order."""

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from core.storage import LEAST_FREE, free_bytes, full_disk, storage_trouble
from gateway.postgres.account import Account, account_to_drop_to
from gateway.postgres.binaries import Binaries, bundled, copied, remove_other_copies
from gateway.postgres.cluster import ensure_cluster, read_password
from gateway.postgres.errors import HomeInUse, OwnerGone, PostgresError
from gateway.postgres.home import Layout, existing_home, prepare_home
from gateway.postgres.lock import HomeLock, is_held
from gateway.postgres.process import read_pid_file, server_pids
from gateway.postgres.server import Report, Server, ServerAddress

_FIRST_DELAY = 0.1  # seconds
_LONGEST_DELAY = 10.0
_LIVED_WELL = 10.0  # seconds of life after which the next death counts as the first again
_ATTACH_POLL = 0.05

_log = logging.getLogger(__name__)
_P = ParamSpec("_P")
_T = TypeVar("_T")


class EmbeddedPostgres:
    """Owns the server on one data folder between `start` and `stop`.

    `ready` is set while the server accepts connections; it is cleared as soon as its death is seen (within 0.1 s).
    `on_progress` gets one short line for each step that a person may wait for. It must not raise.
    """

    def __init__(
        self,
        home: Path,
        *,
        run_as: str = "nobody",
        short_parent: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        on_progress: Report | None = None,
    ) -> None:
        self.ready = asyncio.Event()
        self._home = home
        self._run_as = run_as
        self._short_parent = short_parent
        self._clock = clock
        self._report = on_progress or _silent
        self._turn = asyncio.Lock()
        self._lock: HomeLock | None = None
        self._server: Server | None = None
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
                if not isinstance(error, HomeInUse) and (trouble := storage_trouble(error, self._home)):
                    raise PostgresError(f"MCPist cannot start: {trouble}.") from error
                raise

    async def stop(self) -> None:
        """Stop the server in order and give the folder free. Does nothing if it is not running."""
        async with self._turn:
            await self._stop()

    async def _start(self) -> ServerAddress:
        account = account_to_drop_to(self._run_as)
        layout = prepare_home(self._home, account)
        self._lock = await HomeLock.acquire(layout.lock)
        binaries = await self._prepare(layout, account)
        password = await asyncio.to_thread(read_password, layout)
        self._server = Server(layout, binaries, account, layout.socket_dir(self._short_parent), password, self._clock)
        await self._server.launch(self._report)
        if account is not None:
            await _in_thread(remove_other_copies, binaries)
        self.ready.set()
        self._watcher = asyncio.create_task(self._watch(self._server), name="watch PostgreSQL")
        return self._server.address

    async def _prepare(self, layout: Layout, account: Account | None) -> Binaries:
        binaries = bundled()
        if account is not None:
            self._report(f"Preparing PostgreSQL {binaries.version}")
            binaries = await _in_thread(copied, binaries, layout.binaries)
        if not layout.data.exists():
            self._report("Creating the database")
        await _in_thread(ensure_cluster, layout, binaries, account)
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

    async def _watch(self, server: Server) -> None:
        delay = _FIRST_DELAY
        while True:
            lived = await server.wait_for_death()
            self.ready.clear()
            if lived > _LIVED_WELL:
                delay = _FIRST_DELAY
            why = f": {full_disk(self._home)}" if free_bytes(self._home) < LEAST_FREE else ""
            self._tell(f"PostgreSQL ended with code {server.code}{why}; it is started again in {delay:.1f} s")
            await asyncio.sleep(delay)
            delay = min(delay * 2, _LONGEST_DELAY)
            try:
                await server.launch(self._report)
            except (PostgresError, OSError) as error:  # a full disk, too, must not end the watch
                self._tell(storage_trouble(error, self._home) or str(error))
            else:
                self._tell("PostgreSQL is running again")
                self.ready.set()

    def _tell(self, line: str) -> None:
        _log.warning("%s", line)
        self._report(line)


async def attach(home: Path, *, on_progress: Report | None = None) -> ServerAddress:
    """The address of the server that another process owns, as soon as it accepts connections.

    Raises: OwnerGone if no process owns the folder (any more): then start the server instead.
    """
    layout = existing_home(home)
    report = on_progress or _silent
    waiting = False
    while layout is not None and is_held(layout.lock):
        noted = read_pid_file(layout.data)
        if noted is not None and noted.ready and noted.pid in server_pids(layout):
            return ServerAddress(noted.socket_dir, noted.port, read_password(layout))
        if not waiting:
            report("Waiting for the MCPist that owns this data folder")
        waiting = True
        await asyncio.sleep(_ATTACH_POLL)
    raise OwnerGone(f"No MCPist is running on {home}; start it there first.")


async def _in_thread(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Run it in a thread, and if we are cancelled, wait for its end first: it must not outlive the folder's lock."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    finally:
        if not work.done():
            await asyncio.wait([work])


def _silent(_line: str) -> None:
    """For callers that show no progress."""
