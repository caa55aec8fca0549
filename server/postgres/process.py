"""PostgreSQL's processes: how they are started, found, watched and ended."""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from server.postgres.errors import PostgresError
from server.postgres.layout import SOCKET_NAME, DataFolderLayout
from server.postgres.system_account import SystemAccount

POLL_SECONDS = 0.01  # seconds
# Fast shutdown (checkpoint), then immediate (recovery at the next start), then the kernel's. All keep committed data.
STOP_SIGNALS = ((signal.SIGINT, 60.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))
_PID_FILE = "postmaster.pid"


@dataclass(frozen=True, slots=True)
class PidFile:
    """Contents of `postmaster.pid` (format: src/include/utils/pidfile.h)."""

    pid: int
    port: int
    socket_dir: Path
    ready: bool


def read_pid_file(data: Path) -> PidFile | None:
    """Read PostgreSQL's pid file; None while there is none or it is incomplete."""
    try:
        lines = (data / _PID_FILE).read_text("utf-8", "surrogateescape").splitlines()
        return PidFile(int(lines[0]), int(lines[3]), Path(lines[4]), lines[7].strip() == "ready")
    except (FileNotFoundError, IndexError, ValueError):
        return None


def spawn(argv: list[str], account: SystemAccount | None, output: int) -> subprocess.Popen[bytes]:
    """Start a PostgreSQL program as a direct child.

    It gets a session of its own: Ctrl-C on the terminal must reach MCPist only, which drains before it stops the
    server. It gets an environment of its own: other processes of the account can read it, and ours may hold secrets.
    No PR_SET_PDEATHSIG: an orphan loses nothing, and the next start ends it in order, while that signal would also come
    when the *thread* that started the server ends.
    """
    try:
        return subprocess.Popen(  # noqa: S603 -- programs and arguments are ours
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
            umask=0o077,
            start_new_session=True,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    except (OSError, subprocess.SubprocessError) as error:
        account_text = f" as {account.name}" if account else ""
        raise PostgresError(
            f"Cannot run {argv[0]}{account_text}: {error}. Check the folder's mount options and rights."
        ) from None


def find_first_error(output: str) -> str:
    """Find the first line in which a program of PostgreSQL's says what went wrong (later ones may quote rows)."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    complaints = (line for line in lines if re.search(r"FATAL|PANIC|ERROR|error:", line))
    return next(complaints, lines[-1] if lines else "it did not say why")[:500]


def find_server_pids(layout: DataFolderLayout) -> list[int]:
    """Find the live processes (postmaster and its children) of the server on this data folder.

    Found by the cluster's name in their command lines: that tells them from a process that got a dead server's pid,
    needs no right to look into another user's process (as /proc/PID/cwd does in a container), and leaves out zombies,
    which have no command line; where PID 1 does not reap, a dead server stays a zombie that `kill -0` calls alive.
    """
    owner = layout.data.stat().st_uid
    listing = _list_from_proc(owner) if Path("/proc/self/cmdline").exists() else _list_from_ps(owner)
    return [pid for pid, line in listing if layout.name in line and _is_postgres(line)]


async def stop_previous(layout: DataFolderLayout, report: Callable[[str], None]) -> None:
    """End what an earlier run left on this data folder: a live server, children of a killed one, stale lock files.

    A live orphan is stopped and not adopted: so the server is always our own child, runs this version's binaries and
    settings, and there is one way to watch it. A stop and a start cost about 0.2 s.

    Raises: PostgresError if some process does not end.
    """
    pids = find_server_pids(layout)
    pid_file = read_pid_file(layout.data)
    if pid_file is not None and pid_file.pid in pids:
        report("Stopping the PostgreSQL server that an earlier MCPist left running")
        await stop_process(pid_file.pid, lambda: pid_file.pid in find_server_pids(layout))
    # Children of a killed postmaster notice its death and leave, unless they are deep in a computation.
    if not await _wait_until(lambda: not find_server_pids(layout), 5.0):
        for pid in find_server_pids(layout):
            await stop_process(pid, lambda pid=pid: pid in find_server_pids(layout), skip=1)
    # PostgreSQL itself takes the pid of a zombie, or of a process that got the same pid since, for a live server.
    (layout.data / _PID_FILE).unlink(missing_ok=True)


def remove_socket(folder: Path) -> None:
    for name in (SOCKET_NAME, SOCKET_NAME + ".lock"):
        (folder / name).unlink(missing_ok=True)


async def stop_process(pid: int, alive: Callable[[], bool], *, skip: int = 0) -> None:
    """Stop a process by ever stronger signals; `skip` leaves out the first of them.

    Raises: PostgresError if it survives everything.
    """
    for number, timeout in STOP_SIGNALS[skip:]:
        if not alive():
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        if await _wait_until(lambda: not alive(), timeout):
            return
    raise PostgresError(f"The PostgreSQL process {pid} does not end, not even when killed; restart the machine.")


async def _wait_until(condition: Callable[[], bool], timeout: float) -> bool:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    while not condition():
        if loop.time() > deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True


def _is_postgres(line: str) -> bool:
    program = line.partition("\0")[0].partition(" -D ")[0]
    return line.startswith("postgres: ") or program.endswith("/postgres")


def _list_from_proc(owner: int) -> Iterator[tuple[int, str]]:
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # the process is gone
            if folder.name.isdigit() and folder.stat().st_uid == owner:
                yield int(folder.name), (folder / "cmdline").read_text("utf-8", "surrogateescape")


def _list_from_ps(owner: int) -> Iterator[tuple[int, str]]:
    listing = subprocess.run(["ps", "-axww", "-o", "pid=,uid=,args="], capture_output=True, check=True)  # noqa: S607
    for line in listing.stdout.decode("utf-8", "surrogateescape").splitlines():
        pid, uid, arguments = line.split(None, 2)
        if int(uid) == owner:
            yield int(pid), arguments
