"""One owner per data folder: an exclusive lock that the kernel releases when its holder dies, however it dies."""

import asyncio
import fcntl
import os
from pathlib import Path
from types import TracebackType

from server.postgres.errors import HomeInUse

_ATTEMPTS = 5
_PAUSE_SECONDS = 0.02  # seconds; `is_held` takes the lock for some microseconds


class HomeLock:
    """Holds `<home>/lock` until `release` or the end of the process.

    The descriptor is close-on-exec (PEP 446): a PostgreSQL that inherited it would keep the lock of a killed owner.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    async def acquire(cls, path: Path) -> "HomeLock":
        """Raises: HomeInUse if another process owns the folder."""
        for _ in range(_ATTEMPTS):
            descriptor = _try_lock(path, fcntl.LOCK_EX)
            if descriptor is not None:
                return cls(descriptor)
            await asyncio.sleep(_PAUSE_SECONDS)
        raise HomeInUse(f"Another MCPist is running on {path.parent}; stop it, or choose another MCPIST_HOME.")

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> "HomeLock":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def is_held(path: Path) -> bool:
    """Check whether some process owns the folder."""
    if not path.exists():
        return False
    descriptor = _try_lock(path, fcntl.LOCK_SH)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False


def _try_lock(path: Path, kind: int) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
