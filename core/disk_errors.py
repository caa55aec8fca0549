"""Recognition of full and read-only disks."""

import errno
import os
import shutil
from pathlib import Path

import asyncpg

from core.errors import Unavailable

MIN_FREE_BYTES = 16 * 1024 * 1024
"""One segment of PostgreSQL's write-ahead log: where there is less, it cannot begin the next one and ends."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_SAYS_FULL = tuple(os.strerror(one) for one in sorted(_FULL))
_SAYS_READ_ONLY = os.strerror(errno.EROFS)


class DiskFull(Unavailable):
    """Raised where nothing can be stored until the operator makes room."""

    component_state = "disk full"

    def __init__(self) -> None:
        super().__init__(
            "MCPist cannot store anything: its database's disk is full; the operator has to free space", 30.0
        )


def is_disk_full(error: BaseException) -> bool:
    """Check whether an error comes from a full disk, the database's or this process's."""
    if isinstance(error, asyncpg.DiskFullError):
        return True
    return isinstance(error, OSError) and (error.errno in _FULL or _mentions(error, *_SAYS_FULL))


def explain_storage_error(error: BaseException, home: Path) -> str:
    """Explain an error that comes from a full or a read-only disk below `home`; "" for every other error."""
    if is_disk_full(error) or _mentions(error, *_SAYS_FULL):
        return explain_full_disk(home)
    if (isinstance(error, OSError) and error.errno == errno.EROFS) or _mentions(error, _SAYS_READ_ONLY):
        return f"{home} is on a read-only file system: make it writable, or choose another MCPIST_HOME"
    return ""


def explain_full_disk(home: Path) -> str:
    """Explain the remedy for a full disk."""
    return (
        f"the disk of {home} is full ({get_free_bytes(home) >> 20} MiB left): make room, or choose another MCPIST_HOME"
    )


def get_free_bytes(folder: Path) -> int:
    """Return the free space where a folder is, or will be."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


def is_read_only(folder: Path) -> bool:
    """Check whether a folder's file system is read-only."""
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def _mentions(error: BaseException, *signs: str) -> bool:
    """Errors of many files at once (shutil.Error), and what PostgreSQL's programs have said, have the reason in their
    text alone."""
    return any(sign in str(error) for sign in signs)
