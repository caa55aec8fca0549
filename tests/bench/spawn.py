"""Start a server of ours, wait for its ready line, end it by its own pid."""

import contextlib
import ctypes
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.bench.processes import trees

START_SECONDS = 120.0
LISTEN_SECONDS = 300.0
STOP_SECONDS = 60.0
REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Started:
    """A running server: its process and what its ready line said."""

    process: "subprocess.Popen[str]"
    said: dict[str, Any]

    @property
    def pid(self) -> int:
        return self.process.pid


@contextlib.contextmanager
def started(argv: list[str], log: Path, environment: Mapping[str, str] | None = None) -> Iterator[Started]:
    """Run a program that prints one line of JSON when it is ready; stop it in order at the end.

    Raises:
        RuntimeError: it ended, or said nothing for too long; the text has the end of its log.
    """
    with log.open("ab") as errors:
        process = _process(argv, subprocess.PIPE, errors, environment)
    try:
        yield Started(process, _ready_line(process, log))
    finally:
        _stop(process)


@contextlib.contextmanager
def listening(
    argv: list[str], log: Path, port: int, environment: Mapping[str, str] | None = None, *, folder: Path = REPOSITORY
) -> Iterator[Started]:
    """Run a program in `folder` that is ready when its port takes a connection; stop it in order at the end.

    Raises:
        RuntimeError: it ended, or did not listen for too long; the text has the end of its log.
    """
    with log.open("ab") as output:
        process = _process(argv, output, output, environment, folder)
    try:
        _wait_for_port(process, port, log)
        yield Started(process, {})
    finally:
        _stop(process)


def module(name: str, **options: object) -> list[str]:
    """The command line of one of our own modules."""
    given = [f"--{option}={value}" for option, value in options.items()]
    return [sys.executable, "-m", f"tests.bench.{name}", *given]


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def _process(
    argv: list[str], out: int | IO[bytes], err: IO[bytes], environment: Mapping[str, str] | None, cwd: Path = REPOSITORY
) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        text=True,
        cwd=cwd,
        env=environment,
        preexec_fn=_dies_with_us,
    )


def _wait_for_port(process: "subprocess.Popen[str]", port: int, log: Path) -> None:
    deadline = time.monotonic() + LISTEN_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.2)
    raise RuntimeError(f"{process.args} did not start: {log.read_text(errors='replace')[-3000:]}")


def _ready_line(process: "subprocess.Popen[str]", log: Path) -> dict[str, Any]:
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        line = process.stdout.readline() if selector.select(START_SECONDS) else ""
    if not line:
        raise RuntimeError(f"a server of the benchmark did not start: {log.read_text(errors='replace')[-3000:]}")
    said: dict[str, Any] = json.loads(line)
    if "first_access_file" in said:
        said |= json.loads(Path(said["first_access_file"]).read_text())
    return said


def _stop(process: "subprocess.Popen[str]") -> None:
    members = trees([process.pid])
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(STOP_SECONDS)
    finally:
        if process.stdout is not None:
            process.stdout.close()


def _dies_with_us() -> None:
    """A killed benchmark leaves no server behind (Linux: PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, int(signal.SIGTERM))
