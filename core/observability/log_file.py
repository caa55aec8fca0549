"""The log of a data folder: the newest lines of what runs there, in a few files of bounded size, as JSON.

Several processes write to it; each block of whole lines is one write, so no line is torn. What is not written, because
the disk is full or the folder is read-only, is lost: standard error has every line, and no call waits for this file.
"""

import contextlib
import fcntl
import os
import threading
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

LOG_FOLDER = "logs"
LOG_FILE = "mcpist.log"
MAX_BYTES = 8 * 1024 * 1024
"""Of each file; one is a little larger where its last block was."""
FILES = 4
"""The newest is ``mcpist.log``, the one before ``mcpist.log.1``."""


class LogFile:
    """Appends to the log at `path`, whose folder is made, but not the data folder that it lies in; from any thread."""

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES, files: int = FILES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._files = files
        self._descriptor = -1
        self._turn = threading.Lock()

    def write(self, block: bytes) -> None:
        """Append whole lines."""
        with self._turn, contextlib.suppress(OSError):
            self._open_newest()
            os.write(self._descriptor, block)

    def close(self) -> None:
        """Close the file; a later block opens it again."""
        with self._turn:
            self._close()

    def _open_newest(self) -> None:
        if self._descriptor >= 0 and not self._is_newest():  # another process has begun a new file
            self._close()
        if self._descriptor < 0:
            self._open()
        if os.fstat(self._descriptor).st_size >= self._max_bytes:
            self._begin_new()

    def _begin_new(self) -> None:
        """Rename the files, unless another process just did."""
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        if self._is_newest():
            names = list_log_files(self._path, self._files)
            for older, newer in pairwise(names):
                with contextlib.suppress(FileNotFoundError):
                    newer.replace(older)
        self._close()  # and with it the lock
        self._open()

    def _open(self) -> None:
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor = os.open(self._path, flags, 0o600)

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _is_newest(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except FileNotFoundError:
            return False


def is_log_kept(choice: str, environment: Mapping[str, str], descriptor: int) -> bool:
    """Decide whether the log is kept in a file: ``yes``, ``no``, or ``auto``, which is yes unless `descriptor` is the
    journal's, as systemd's variable JOURNAL_STREAM says (systemd.exec(5))."""
    if choice != "auto":
        return choice == "yes"
    try:
        status = os.fstat(descriptor)
    except OSError:
        return True
    return environment.get("JOURNAL_STREAM") != f"{status.st_dev}:{status.st_ino}"


def get_log_path(home: Path) -> Path:
    """Return the newest file of a data folder's log."""
    return home / LOG_FOLDER / LOG_FILE


def list_log_files(path: Path, files: int = FILES) -> list[Path]:
    """List the files of the log whose newest is `path`, oldest first, whether they are there or not."""
    return [*(path.with_name(f"{path.name}.{number}") for number in range(files - 1, 0, -1)), path]
