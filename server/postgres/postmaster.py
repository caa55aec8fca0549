"""One postmaster after the other on the same cluster: start, wait until ready, wait for its death, stop."""

import asyncio
import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from server.postgres.binaries import Binaries
from server.postgres.cluster import SUPERUSER
from server.postgres.errors import PostgresError
from server.postgres.layout import POSTGRES_PORT, DataFolderLayout, prepare_socket_dir
from server.postgres.process import (
    POLL_SECONDS,
    find_first_error,
    read_pid_file,
    remove_socket,
    spawn,
    stop_previous,
    stop_process,
)
from server.postgres.system_account import SystemAccount

_WATCH_SECONDS = 0.1  # seconds
_LOG_CHECK_SECONDS = 10.0
_MAX_LOG_BYTES = 16 << 20  # bytes; as much again is kept as server.log.1

# On the command line, so that they hold for old data folders too and nothing inside the folder can undo them.
_SETTINGS = {
    "listen_addresses": "",
    "port": str(POSTGRES_PORT),
    "unix_socket_permissions": "0700",
    "fsync": "on",
    "full_page_writes": "on",
    "shared_buffers": "128MB",
    "random_page_cost": "1.1",
    "jit": "off",
    # Their work is done by checkpoints and commits here; by default they wake ten times a second for it.
    "bgwriter_delay": "10s",
    "wal_writer_delay": "10s",
    # A file of the log that is no more needed is removed, and not used again with what it held.
    "wal_recycle": "off",
    # The log names errors, never the statements or the rows in question.
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
}

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Address of the server: asyncpg and libpq take `socket_dir` as the host. Login is by scram."""

    socket_dir: Path
    port: int
    password: str = field(repr=False)
    superuser: str = SUPERUSER
    database: str = "postgres"

    def build_url(self) -> str:
        """Build a libpq URL without the password."""
        folder, database = quote(str(self.socket_dir), ""), quote(self.database, "")
        return f"postgresql://{self.superuser}@/{database}?host={folder}&port={self.port}"


class Postmaster:
    """One postmaster after the other on the same cluster."""

    def __init__(
        self,
        layout: DataFolderLayout,
        binaries: Binaries,
        account: SystemAccount | None,
        socket_dir: Path,
        password: str,
        clock: Callable[[], float],
        max_connections: int,
    ) -> None:
        self.address = ServerAddress(socket_dir, POSTGRES_PORT, password)
        self._layout = layout
        self._binaries = binaries
        self._account = account
        self._clock = clock
        self._max_connections = max_connections
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0

    @property
    def code(self) -> int | None:
        return self._process.returncode if self._process is not None else None

    async def launch(self, report: Report) -> None:
        """Raises: PostgresError if the server ends before it is ready."""
        await stop_previous(self._layout, report)
        prepare_socket_dir(self.address.socket_dir, self._account)
        remove_socket(self.address.socket_dir)
        _truncate_log(self._layout.log)
        log = os.open(self._layout.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            said_before = os.fstat(log).st_size
            report("Starting PostgreSQL")
            self._process = spawn(self._build_command(), self._account, log)
        finally:
            os.close(log)
        self._started = self._clock()
        await self._wait_until_ready(self._process, said_before, report)

    async def wait_for_death(self) -> float:
        """Returns: the seconds it lived."""
        log = self._layout.log
        while self._is_alive():
            _truncate_log(log)
            await self._wait_for_death_or(_LOG_CHECK_SECONDS)
        return self._clock() - self._started

    async def _wait_for_death_or(self, seconds: float) -> None:
        """Wait for the server's end; where the system cannot tell of it (Linux can), look again soon."""
        assert self._process is not None
        try:
            descriptor = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):
            await asyncio.sleep(_WATCH_SECONDS)
            return
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(descriptor, ended.set)
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), seconds)
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)

    async def stop(self) -> None:
        if self._process is not None:
            await stop_process(self._process.pid, self._is_alive)
        if self.address.socket_dir.parent != self._layout.folder:
            shutil.rmtree(self.address.socket_dir, ignore_errors=True)

    def _is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _build_command(self) -> list[str]:
        quoted = str(self.address.socket_dir).replace('"', '""')
        settings = {
            **_SETTINGS,
            "max_connections": str(self._max_connections),
            "cluster_name": self._layout.name,
            "unix_socket_directories": f'"{quoted}"',
        }
        pairs = [argument for name, value in settings.items() for argument in ("-c", f"{name}={value}")]
        return [self._binaries.get_program_path("postgres"), "-D", str(self._layout.data), *pairs]

    async def _wait_until_ready(self, process: subprocess.Popen[bytes], log_offset: int, report: Report) -> None:
        reported_at = self._started
        while process.poll() is None:
            pid_file = read_pid_file(self._layout.data)
            if pid_file is not None and pid_file.pid == process.pid and pid_file.ready:
                return
            now = self._clock()
            if now - reported_at >= 1:
                reported_at = now
                report(f"PostgreSQL is recovering after an unclean stop ({now - self._started:.0f} s)")
            await asyncio.sleep(POLL_SECONDS)
        log_text = _read_tail(self._layout.log, log_offset)
        raise PostgresError(
            f"PostgreSQL ended with code {process.returncode} before it was ready: {find_first_error(log_text)} "
            f"(its log: {self._layout.log})"
        )


def _truncate_log(log: Path) -> None:
    """Start the log anew when it is long. The server appends, so a live one simply goes on at the new end."""
    with contextlib.suppress(OSError):
        if log.stat().st_size > _MAX_LOG_BYTES:
            shutil.copyfile(log, log.with_suffix(".log.1"))
            os.truncate(log, 0)


def _read_tail(log: Path, start: int) -> str:
    with log.open("rb") as file:
        file.seek(start)
        return file.read(1 << 16).decode("utf-8", "replace")
