"""Key-encryption keys: the interface of key providers, keys in memory, and the file that holds them."""

import base64
import binascii
import contextlib
import fcntl
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from broker.vault.envelope import KEY_BYTES, NONCE_BYTES, DecryptionError, KeyMissing, WrappedKey
from core.errors import Conflict, Invalid, NotFound
from core.private_file import read_private, write_once


@dataclass(frozen=True, slots=True, repr=False)
class KeyFile:
    """Parsed contents of a key file."""

    active: str
    keys: Mapping[str, bytes]


def load_or_create(path: Path) -> KeyFile:
    """Read a key file; a missing one is made (mode 0600) with one fresh key. Of two processes at once, one makes it.

    Raises:
        Invalid: the file can be read by others, or is no key file.
    """
    if not path.exists():
        write_once(path, _serialize(_generate_key()))
    return load(path)


def load(path: Path) -> KeyFile:
    """Read a key file that is there.

    Raises:
        Invalid: the file can be read by others, or is no key file.
    """
    text = read_private(path)
    try:
        data = json.loads(text)
        keys = {str(kek_id): base64.b64decode(key, validate=True) for kek_id, key in data["keys"].items()}
        file = KeyFile(str(data["active"]), keys)
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise Invalid(f"{path} is not a key file of MCPist; restore it from your copy of the keys") from error
    if file.active not in keys or any(len(key) != KEY_BYTES for key in keys.values()):
        raise Invalid(f"{path} names no usable key; restore it from your copy of the keys")
    return file


def add_key(path: Path) -> str:
    """Put one more fresh key into the file, which is not active yet: its id.

    Raises:
        Invalid: the file can be read by others, or is no key file.
    """
    with _lock_file(path) as file:
        fresh = _generate_key()
        _write(path, KeyFile(file.active, {**file.keys, **fresh.keys}))
        return fresh.active


def activate_key(path: Path, kek_id: str) -> None:
    """Make a key of the file the active one.

    Raises:
        NotFound: the file has no such key.
        Invalid: the file can be read by others, or is no key file.
    """
    with _lock_file(path) as file:
        if kek_id not in file.keys:
            raise NotFound(f"{path} has no key {kek_id[:100]!r}; `mcpist keys status` shows those it has")
        if kek_id != file.active:
            _write(path, KeyFile(kek_id, file.keys))


def remove_key(path: Path, kek_id: str) -> bool:
    """Take a key out of the file; whether it was in it.

    Raises:
        Conflict: it is the active one.
        Invalid: the file can be read by others, or is no key file.
    """
    with _lock_file(path) as file:
        if kek_id == file.active:
            raise Conflict(f"the key {kek_id} is active; activate another one first")
        remaining = {known_id: key for known_id, key in file.keys.items() if known_id != kek_id}
        if len(remaining) < len(file.keys):
            _write(path, KeyFile(file.active, remaining))
        return len(remaining) < len(file.keys)


@contextlib.contextmanager
def _lock_file(path: Path) -> Generator[KeyFile]:
    """The file's content, while nobody else changes it. The lock is on the folder: the file itself is replaced."""
    load_or_create(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield load(path)
        os.fsync(folder)
    finally:
        os.close(folder)


def _write(path: Path, file: KeyFile) -> None:
    """Replace the file at once: whoever reads it has all of the old keys or all of the new."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    write_once(temporary, _serialize(file))
    owner = path.stat()
    if (owner.st_uid, owner.st_gid) != (os.geteuid(), os.getegid()):
        os.chown(temporary, owner.st_uid, owner.st_gid)  # root changes the file of the account that runs MCPist
    os.replace(temporary, path)


def _serialize(file: KeyFile) -> str:
    keys = {kek_id: base64.b64encode(key).decode() for kek_id, key in file.keys.items()}
    return json.dumps({"active": file.active, "keys": keys})


def _generate_key() -> KeyFile:
    kek_id = secrets.token_hex(4)
    return KeyFile(kek_id, {kek_id: secrets.token_bytes(KEY_BYTES)})


CHECK_LABEL = b"mcpist.vault.key-check.1:"


class InMemoryKeyProvider:
    """Keys held in memory. Implements :class:`KeyProvider`; a wrapped key is ``nonce (12) | ciphertext and tag``."""

    def __init__(self, active: str, keys: Mapping[str, bytes]) -> None:
        self._active = active
        self._keys = dict(keys)

    @classmethod
    def from_file(cls, path: Path) -> "InMemoryKeyProvider":
        """The keys of a key file as it is now; a missing file is made with one fresh key.

        Raises:
            core.errors.Invalid: the file can be read by others, or is damaged.
        """
        file = load_or_create(path)
        return cls(file.active, file.keys)

    async def get_active_id(self) -> str:
        return self._active

    @property
    def kek_ids(self) -> frozenset[str]:
        return frozenset(self._keys)

    def has(self, kek_id: str) -> bool:
        return kek_id in self._keys

    async def wrap(self, plain: bytes, context: bytes) -> WrappedKey:
        if self._active not in self._keys:
            raise KeyMissing(self._active)
        nonce = os.urandom(NONCE_BYTES)
        return WrappedKey(self._active, nonce + AESGCM(self._keys[self._active]).encrypt(nonce, plain, context))

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        if kek_id not in self._keys:
            raise KeyMissing(kek_id)
        try:
            return AESGCM(self._keys[kek_id]).decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], context)
        except (InvalidTag, ValueError):
            raise DecryptionError from None

    def compute_check_value(self, kek_id: str) -> bytes:
        return hmac.digest(self._keys[kek_id], CHECK_LABEL + kek_id.encode(), hashlib.sha256)

    async def find_problem(self) -> str:
        return ""
