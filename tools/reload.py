"""Run `mcpist up` and start it anew whenever a file of the product changes: `make dev`.

    python -m tools.reload [ARGUMENT ...]      # the arguments of `mcpist up`; its settings are those of the environment

The data folder stays, with its database: a start takes a second. Needs nothing but the standard library.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("admin_ui", "alembic", "broker", "cli", "core", "gateway", "jobs", "modules", "search", "server")
SUFFIXES = frozenset({".css", ".html", ".json", ".py", ".sql", ".toml"})
"""Of the files that the wheel takes, too."""
NOT_LOOKED_AT = frozenset({"__pycache__", "console", "console_dist", "node_modules"})
"""The console has its own way: `make console-dev`."""
LOOK_SECONDS = 0.3
SETTLE_SECONDS = 0.1
"""An editor writes a file in several steps, and a checkout many files."""
STOP_SECONDS = 15.0
"""What the product has for what runs, before it is killed."""

Snapshot = Mapping[Path, tuple[int, int]]


def take_snapshot(root: Path) -> Snapshot:
    """Take the time and size of every file that the product is made of."""
    return dict(_list_files(root))


def _list_files(root: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    folders = [root / name for name in FOLDERS]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in NOT_LOOKED_AT:
                        folders.append(Path(entry.path))
                elif Path(entry.name).suffix in SUFFIXES:
                    status = entry.stat()
                    yield Path(entry.path), (status.st_mtime_ns, status.st_size)


def list_changes(before: Snapshot, after: Snapshot) -> list[Path]:
    """List the files that were changed, made or deleted, in order."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


class Reloader:
    """One product, and the next one after each change."""

    def __init__(self, root: Path, arguments: Sequence[str]) -> None:
        self._root = root
        self._command = [str(Path(sys.executable).with_name("mcpist")), "up", *arguments]
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopping = False

    def run(self) -> int:
        """Run until SIGINT or SIGTERM; return the exit status."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        seen = take_snapshot(self._root)
        self._start()
        while not self._is_stopping:
            time.sleep(LOOK_SECONDS)
            found = take_snapshot(self._root)
            if changed := list_changes(seen, found):
                seen = self._wait_until_settled(found)
                _say(f"{changed[0].relative_to(self._root)} has changed: starting anew")
                self._end()
                self._start()
            elif self._process is not None and (status := self._process.poll()) is not None:
                _say(f"MCPist has ended with {status}: waiting for a change")
                self._process = None
        self._end()
        return 0

    def _wait_until_settled(self, found: Snapshot) -> Snapshot:
        while True:
            time.sleep(SETTLE_SECONDS)
            if (again := take_snapshot(self._root)) == found:
                return found
            found = again

    def _start(self) -> None:
        if self._is_stopping:
            return
        # This clone's files, wherever the environment has installed the product from. A group of its own: Ctrl-C
        # reaches it by way of this process alone.
        environment = {**os.environ, "PYTHONPATH": str(self._root)}
        self._process = subprocess.Popen(self._command, env=environment, process_group=0)

    def _end(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._is_stopping = True


def _say(text: str) -> None:
    print(f"mcpist: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(Reloader(ROOT, sys.argv[1:]).run())
