"""A file of 32-byte keys: several ids, one of them active, readable by its owner alone."""

import base64
import binascii
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from broker.vault.envelope import KEY_BYTES
from core.errors import Invalid
from core.private_file import read_private, write_once


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
        write_once(path, _fresh())
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


def _fresh() -> str:
    kek_id = secrets.token_hex(4)
    return json.dumps({"active": kek_id, "keys": {kek_id: base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()}})
