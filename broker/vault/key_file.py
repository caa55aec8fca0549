"""A file of 32-byte keys: several ids, one of them active, readable by its owner alone."""

import base64
import binascii
import json
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from broker.vault.envelope import KEY_BYTES
from core.errors import Invalid


@dataclass(frozen=True, slots=True, repr=False)
class KeyFile:
    """What a key file holds."""

    active: str
    keys: Mapping[str, bytes]


def load_or_create(path: Path) -> KeyFile:
    """Read a key file; a missing one is made (mode 0600) with one fresh key. Of two processes at once, one makes it.

    Raises:
        Invalid: the file can be read by others, or is no key file.
    """
    if not path.exists():
        _create(path)
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise Invalid(f"{path} can be read by others; run: chmod 600 {path}")
    try:
        data = json.loads(path.read_text())
        keys = {str(kek_id): base64.b64decode(key, validate=True) for kek_id, key in data["keys"].items()}
        file = KeyFile(str(data["active"]), keys)
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise Invalid(f"{path} is not a key file of MCPist; restore it from your copy of the keys") from error
    if file.active not in keys or any(len(key) != KEY_BYTES for key in keys.values()):
        raise Invalid(f"{path} names no usable key; restore it from your copy of the keys")
    return file


def _create(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    kek_id = secrets.token_hex(4)
    text = json.dumps({"active": kek_id, "keys": {kek_id: base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()}})
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(temporary, path)  # unlike a rename, never replaces the keys of whoever was first
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """A key whose name is lost in a power cut takes with it all that was sealed meanwhile."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
