"""Key providers that a deployment names in MCPIST_KEYS: the key file's, and several of them as one."""

import contextlib
import logging
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from broker.vault import aws_kms, gcp_kms, vault_transit
from broker.vault.envelope import KeyMissing, KeyProvider, WrappedKey
from broker.vault.key_wrapping import InMemoryKeyProvider, load, load_or_create
from broker.vault.kms import KmsClient, KmsKeyProvider
from core.errors import Invalid

log = logging.getLogger(__name__)

FileStamp = tuple[int, int, int]
NO_FILE: FileStamp = (0, 0, 0)


class FileKeyProvider:
    """Implements :class:`broker.vault.envelope.KeyProvider`.

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
        self._read_at = _read_stamp(path)
        self._keys = _load_keys(path)

    async def get_active_id(self) -> str:
        return await self._get_current().get_active_id()

    @property
    def kek_ids(self) -> frozenset[str]:
        return self._get_current().kek_ids

    def has(self, kek_id: str) -> bool:
        return self._get_current().has(kek_id)

    async def wrap(self, plain: bytes, context: bytes) -> WrappedKey:
        return await self._get_current().wrap(plain, context)

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        return await self._get_current().unwrap(kek_id, wrapped, context)

    def compute_check_value(self, kek_id: str) -> bytes:
        return self._get_current().compute_check_value(kek_id)

    async def find_problem(self) -> str:
        try:
            _load_keys(self._path)
        except (Invalid, OSError) as error:
            return str(error) if isinstance(error, Invalid) else f"{self._path} cannot be read"
        return ""

    def _get_current(self) -> InMemoryKeyProvider:
        """The keys of the file; those that were read last, while it cannot be read."""
        stamp = _read_stamp(self._path)
        if stamp not in (self._read_at, NO_FILE):
            self._read_at = stamp  # of a file that is damaged the log tells once
            try:
                self._keys = _load_keys(self._path)
            except (Invalid, OSError) as error:
                log.error(
                    "the vault's key file cannot be read; the keys read before stay in use",
                    extra={"event": "key_file_unreadable", "error": type(error).__name__},
                )
        return self._keys


def _load_keys(path: Path) -> InMemoryKeyProvider:
    if not path.exists():
        return InMemoryKeyProvider("", {})
    file = load(path)
    return InMemoryKeyProvider(file.active, file.keys)


def _read_stamp(path: Path) -> FileStamp:
    try:
        status = path.stat()
    except OSError:
        return NO_FILE
    return status.st_ino, status.st_mtime_ns, status.st_size


class KeyProviderChain:
    """Implements :class:`KeyProvider`. So a deployment moves from one keeper to another: both are named, the new one
    first, until nothing hangs on the keys of the old one."""

    def __init__(self, keepers: Sequence[KeyProvider]) -> None:
        self._keepers = tuple(keepers)

    async def get_active_id(self) -> str:
        return await self._keepers[0].get_active_id()

    @property
    def kek_ids(self) -> frozenset[str]:
        return frozenset[str]().union(*(keeper.kek_ids for keeper in self._keepers))

    def has(self, kek_id: str) -> bool:
        return any(keeper.has(kek_id) for keeper in self._keepers)

    async def wrap(self, plain: bytes, context: bytes) -> WrappedKey:
        return await self._keepers[0].wrap(plain, context)

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        return await self._find_provider(kek_id).unwrap(kek_id, wrapped, context)

    def compute_check_value(self, kek_id: str) -> bytes:
        return self._find_provider(kek_id).compute_check_value(kek_id)

    async def find_problem(self) -> str:
        problems = [await keeper.find_problem() for keeper in self._keepers]
        return "; ".join(problem for problem in problems if problem)

    def _find_provider(self, kek_id: str) -> KeyProvider:
        for keeper in self._keepers:
            if keeper.has(kek_id):
                return keeper
        raise KeyMissing(kek_id)


FILE_PROVIDER = "file"


@contextlib.asynccontextmanager
async def open_key_providers(
    names: Sequence[str], file: Path, transit_token: Path, *, make: bool = True
) -> AsyncGenerator[KeyProvider]:
    """The keepers of these names, the first of which wraps. No service is asked yet.

    `file` is where the keeper ``file`` has its keys; with `make` it is made where it is missing.

    Raises:
        core.errors.Invalid: the key file can be read by others or is damaged, or a package is missing.
    """
    async with contextlib.AsyncExitStack() as stack:
        keepers: list[KeyProvider] = []
        for name in names:
            if name == FILE_PROVIDER:
                keepers.append(FileKeyProvider(file, make=make))
            else:
                service = KmsKeyProvider(_build_kms_client(name, transit_token))
                stack.push_async_callback(service.close)
                keepers.append(service)
        yield KeyProviderChain(keepers)


def _build_kms_client(name: str, transit_token: Path) -> KmsClient:
    if name.startswith(aws_kms.SCHEME):
        return aws_kms.AwsKms(name.removeprefix(aws_kms.SCHEME))
    if name.startswith(gcp_kms.SCHEME):
        return gcp_kms.GcpKms(name.removeprefix(gcp_kms.SCHEME))
    return vault_transit.VaultTransit(name.removeprefix(vault_transit.SCHEME), transit_token)
