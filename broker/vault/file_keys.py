"""The keys of a key file, as it is at every moment: what `mcpist keys` changes in it counts without a restart."""

import logging
from pathlib import Path

from broker.vault.key_file import load, load_or_create
from broker.vault.keys import LocalKeys, Wrapped
from core.errors import Invalid

log = logging.getLogger(__name__)

Stamp = tuple[int, int, int]
NONE: Stamp = (0, 0, 0)


class FileKeys:
    """Implements :class:`broker.vault.keys.KeyProvider`.

    Data keys are unwrapped once in minutes, so the file is looked at (not read) each time: 2 µs.
    """

    def __init__(self, path: Path, *, make: bool = True) -> None:
        """`make`: a missing file is made with one fresh key; else there are no keys while it is missing.

        Raises:
            core.errors.Invalid: the file can be read by others, or is damaged.
        """
        self._path = path
        if make:
            load_or_create(path)
        self._read_at = _stamp(path)
        self._keys = _loaded(path)

    async def active(self) -> str:
        return await self._now().active()

    @property
    def kek_ids(self) -> frozenset[str]:
        return self._now().kek_ids

    def has(self, kek_id: str) -> bool:
        return self._now().has(kek_id)

    async def wrap(self, plain: bytes, context: bytes) -> Wrapped:
        return await self._now().wrap(plain, context)

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        return await self._now().unwrap(kek_id, wrapped, context)

    def check(self, kek_id: str) -> bytes:
        return self._now().check(kek_id)

    async def trouble(self) -> str:
        try:
            _loaded(self._path)
        except (Invalid, OSError) as error:
            return str(error) if isinstance(error, Invalid) else f"{self._path} cannot be read"
        return ""

    def _now(self) -> LocalKeys:
        """The keys of the file; those that were read last, while it cannot be read."""
        stamp = _stamp(self._path)
        if stamp not in (self._read_at, NONE):
            self._read_at = stamp  # of a file that is damaged the log tells once
            try:
                self._keys = _loaded(self._path)
            except (Invalid, OSError) as error:
                log.error("the vault's key file cannot be read; going on with the keys that were read before",
                          extra={"cause": type(error).__name__})  # fmt: skip
        return self._keys


def _loaded(path: Path) -> LocalKeys:
    if not path.exists():
        return LocalKeys("", {})
    file = load(path)
    return LocalKeys(file.active, file.keys)


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return NONE
    return found.st_ino, found.st_mtime_ns, found.st_size
