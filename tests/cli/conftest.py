"""A running product on a data folder of its own, and ways to run `mcpist` on it: in this process, or as a process."""

import contextlib
import itertools
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from unittest import mock

import pytest

from cli.app import run_command
from tests.support.fork_server import ForkedProcess
from tests.support.running_product import data_folder, free_port, hear_command, read_ready

ROOT = Path(__file__).resolve().parents[2]
LONG = 60  # seconds
NUMBERS = itertools.count()


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        assert self.code == 0, self.err or self.out
        assert self.out.count("\n") == 1
        return json.loads(self.out)

    def error(self) -> dict[str, Any]:
        """The JSON error; nothing else is printed with it."""
        assert self.out == ""
        assert self.err.count("\n") == 1, self.err
        return json.loads(self.err)["error"]


def heard(arguments: Sequence[str], ended: Ended) -> Ended:
    """The same, with the suite's canary told of it."""
    hear_command(arguments, ended.out.encode(), ended.err.encode())
    return ended


@dataclass(frozen=True, slots=True)
class Home:
    """A data folder and the environment that names it."""

    path: Path
    port: int
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MCPIST_", "OTEL_"))}
        own = {"MCPIST_HOME": str(self.path), "XDG_CONFIG_HOME": str(self.path.with_name("config"))}
        return {**inherited, **own, "MCPIST_PORT": str(self.port), **self.more}

    def run(self, *arguments: str, **more: str) -> Ended:
        """Run a command in this process."""
        environment = {**self.environment, **more}
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8") as out,
            tempfile.TemporaryFile("w+", encoding="utf-8") as err,
            mock.patch.dict(os.environ, environment, clear=True),
            _logging_kept(),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = run_command(arguments)
            return heard(arguments, Ended(code, _read(out), _read(err)))

    def start(
        self, *arguments: str, stdin: int | IO[bytes] = subprocess.DEVNULL, **more: str
    ) -> "subprocess.Popen[bytes]":
        """Start a command as a process of its own."""
        return self._start("", arguments, stdin, more)

    def start_held(self, folder: Path, point: str, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start a command as a process that waits at a fail-point, and return when it is there."""
        given = f"Path({str(folder)!r}), {point!r}"
        arm = f"from pathlib import Path; from core.failpoints import arm_failpoints; arm_failpoints({given}); "
        process = self._start(arm, arguments, subprocess.DEVNULL, {})
        deadline = time.monotonic() + LONG
        while not (folder / f"{point}.reached").exists():
            assert process.poll() is None, process.communicate()[1].decode()
            assert time.monotonic() < deadline, f"{arguments} never comes to {point}"
            time.sleep(0.02)
        return process

    def _start(
        self, first: str, arguments: Sequence[str], stdin: int | IO[bytes], more: Mapping[str, str]
    ) -> "subprocess.Popen[bytes]":
        """`first` is Python that runs before the command."""
        return ForkedProcess(
            [sys.executable, "-c", f"{first}from cli import main; main()", *arguments],
            cwd=ROOT,
            env={**self.environment, **more},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def process(self, *arguments: str, given: bytes = b"", **more: str) -> Ended:
        """Run a command as a process of its own, to its end."""
        with self.start(*arguments, stdin=subprocess.PIPE, **more) as started:
            out, err = started.communicate(given, timeout=LONG)
        return heard(arguments, Ended(started.returncode, out.decode(), err.decode()))


@dataclass(frozen=True, slots=True)
class Product:
    """A running `mcpist up --json`, and the one line that it printed."""

    process: "subprocess.Popen[bytes]"
    ready: dict[str, Any]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> Ended:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=LONG)
        return heard(("up",), Ended(self.process.returncode, out.decode(), err.decode()))


def _read(stream: IO[str]) -> str:
    stream.seek(0)
    return stream.read()


@contextlib.contextmanager
def running(home: Home) -> Iterator[Product]:
    process = home.start("up", "--json")
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, process.communicate(timeout=LONG)[1].decode()
        yield Product(process, read_ready(line))
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            hear_command(("up",), *process.communicate(timeout=LONG))


@contextlib.contextmanager
def new_home(*, migrated: bool = True) -> Iterator[Home]:
    """A data folder that no product has used; without `migrated` it does not exist yet."""
    with data_folder(migrated=migrated) as path:
        yield Home(path, free_port())


@pytest.fixture
def fresh() -> Iterator[Home]:
    """A data folder that does not exist yet."""
    with new_home(migrated=False) as home:
        yield home


@pytest.fixture(scope="session")
def product_home() -> Iterator[tuple[Home, Product]]:
    with new_home() as home, running(home) as product:
        yield home, product


@pytest.fixture
def cli(product_home: tuple[Home, Product]) -> Home:
    """A data folder with a running product. Others use it too: make a tenant of your own."""
    return product_home[0]


@pytest.fixture
def product(product_home: tuple[Home, Product]) -> Product:
    return product_home[1]


@pytest.fixture
def tenant(cli: Home) -> str:
    """A tenant with the administrator ``ada@example.com``."""
    slug = f"tenant-{next(NUMBERS)}"
    assert cli.run("tenant", "create", slug, "--admin", "ada@example.com").code == 0
    return slug


@contextlib.contextmanager
def _logging_kept() -> Iterator[None]:
    """A command sets up the log of its process, which is ours here."""
    root = logging.getLogger()
    handlers, level, loud = root.handlers[:], root.level, logging.raiseExceptions
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.captureWarnings(False)
        logging.raiseExceptions = loud
