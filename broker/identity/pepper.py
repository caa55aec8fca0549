"""The keys under which API token secrets are hashed. They live in a file of their own, apart from the database."""

import base64
import json
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.errors import Invalid

KEY_BYTES = 32


@dataclass(frozen=True, slots=True, repr=False)
class Peppers:
    """Every pepper that stored tokens may name, and the id of the one that new tokens get."""

    active: str
    keys: Mapping[str, bytes]


def load_or_create(path: Path) -> Peppers:
    """Read the pepper file; a missing one is made (mode 0600) with one fresh key.

    Raises:
        Invalid: the file can be read by others, or is not a pepper file.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _load(path)
    kid = secrets.token_hex(4)
    with os.fdopen(descriptor, "w") as file:
        json.dump({"active": kid, "keys": {kid: base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()}}, file)
        file.flush()
        os.fsync(file.fileno())
    return _load(path)


def _load(path: Path) -> Peppers:
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise Invalid(f"{path} can be read by others; run: chmod 600 {path}")
    try:
        data = json.loads(path.read_text())
        peppers = Peppers(data["active"], {kid: base64.b64decode(key) for kid, key in data["keys"].items()})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Invalid(f"{path} is not a key file of MCPist; restore it from your copy of the keys") from error
    if peppers.active not in peppers.keys or any(len(key) != KEY_BYTES for key in peppers.keys.values()):
        raise Invalid(f"{path} names no usable key; restore it from your copy of the keys")
    return peppers
