"""The keys by which a broker knows its gateways: a private one per gateway, and a file of all public ones.

Both are PEM (PKCS #8 and SubjectPublicKeyInfo, RFC 8410), as ``openssl genpkey -algorithm ed25519`` makes them. A
gateway has no name: its id is the fingerprint of its public key, and that key in the broker's file admits it.
"""

import hashlib
import logging
import os
import re
import stat
import time
from collections.abc import Callable
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from core.errors import Invalid
from core.private_file import write_once

RELOAD_SECONDS = 1.0
MOST_FILE = 256 * 1024
_PUBLIC = re.compile(rb"-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----")

log = logging.getLogger(__name__)


def compute_gateway_id(key: Ed25519PublicKey) -> str:
    """Compute the id of a gateway: 32 hexadecimal digits of its public key's SHA-256."""
    return hashlib.sha256(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()[:32]


def make_key_pair(private: Path, public: Path) -> None:
    """Make a gateway's key and the file of public keys with it, where they are missing. Of two processes, one does.

    Raises:
        Invalid: the private key alone is missing: it was lost, and brokers know the public one.
    """
    if not private.exists() and public.exists():
        raise Invalid(
            f"{private} is missing, and {public} has public keys already. Restore it from your copy of the keys, or "
            "remove both files: the next start makes a new pair"
        )
    if not private.exists():
        new_key = Ed25519PrivateKey.generate()
        write_once(private, new_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode())
    if not public.exists():
        public_key = load_private_key(private).public_key()
        write_once(public, public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode())


def load_private_key(path: Path) -> Ed25519PrivateKey:
    """A gateway's own key.

    Raises:
        Invalid: there is none, it can be read by others, or it is no Ed25519 key.
    """
    if stat.S_IMODE(_stat_file(path).st_mode) & 0o077:
        raise Invalid(f"{path} can be read by others; run: chmod 600 {path}")
    try:
        key = load_pem_private_key(_read_file(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise Invalid(f"{path} is not an Ed25519 key; create one: openssl genpkey -algorithm ed25519 -out {path}")
    return key


def load_public_keys(path: Path) -> dict[str, Ed25519PublicKey]:
    """The public keys of a file, by gateway.

    Raises:
        Invalid: it is missing, others can write to it, or it holds anything but Ed25519 public keys.
    """
    status = _stat_file(path)
    if stat.S_IMODE(status.st_mode) & 0o022:
        raise Invalid(f"others can write to {path}; run: chmod go-w {path}")
    if status.st_size > MOST_FILE:
        raise Invalid(f"{path} is too large for a file of public keys")
    try:
        keys = [load_pem_public_key(block) for block in _PUBLIC.findall(_read_file(path))]
    except (ValueError, UnsupportedAlgorithm):
        keys = []
    usable = {compute_gateway_id(key): key for key in keys if isinstance(key, Ed25519PublicKey)}
    if not keys or len(usable) != len(keys):
        raise Invalid(f"{path} must contain only Ed25519 public keys in PEM, one for each gateway")
    return usable


class TrustedGateways:
    """The gateways that a broker serves. The file is read again soon after it changes: keys come and go without a stop.

    A file that has become unreadable changes nothing but the log: the last good one counts.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Read the file.

        Raises:
            Invalid: as :func:`load_public_keys`.
        """
        self._path = path
        self._clock = clock
        self._seen = _read_file_version(path)
        self._keys = load_public_keys(path)
        self._looked_at = clock()

    def find(self, gateway: str) -> Ed25519PublicKey | None:
        """The public key of a gateway that may ask."""
        if self._clock() - self._looked_at >= RELOAD_SECONDS:
            self._reload_if_changed()
        return self._keys.get(gateway)

    def _reload_if_changed(self) -> None:
        self._looked_at = self._clock()
        version = _read_file_version(self._path)
        if version == self._seen:
            return
        self._seen = version
        try:
            self._keys = load_public_keys(self._path)
        except (Invalid, OSError) as error:
            log.error(
                "file of gateway public keys cannot be used; the keys read before stay in use",
                extra={"event": "gateway_keys_unreadable", "error": type(error).__name__},
            )
        else:
            log.info("gateway public keys reloaded", extra={"event": "gateway_keys_reloaded", "count": len(self._keys)})


def _read_file_version(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}") from error


def _stat_file(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}") from error
