"""What belongs to one deployment beside its database: the keys in the data folder, and how each role logs in."""

import json
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.address import DatabaseAddress
from core.errors import Invalid
from core.migrations import LOGIN_ROLES
from core.secret import Secret

KEYS = "keys"
PASSWORDS = "database-roles.json"
DIGEST_KEY = "audit-digest.json"
PEPPERS = "token-peppers.json"


@dataclass(frozen=True, slots=True)
class Deployment:
    """One data folder and its database. `admin` may create roles and runs migrations; the product never uses it."""

    home: Path
    admin: DatabaseAddress
    passwords: Mapping[str, Secret]
    digest_key: Secret

    def role(self, name: str) -> DatabaseAddress:
        """The database as one of the product's own roles."""
        return self.admin.as_role(name, self.passwords[name])

    @property
    def peppers(self) -> Path:
        """The broker's file of peppers."""
        return self.home / KEYS / PEPPERS


def open_deployment(home: Path, admin: DatabaseAddress) -> Deployment:
    """Read the keys of a data folder; those that are missing are made, readable by nobody else.

    Raises:
        Invalid: a key file can be read by others, or is damaged.
    """
    folder = home / KEYS
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    passwords = _kept(folder / PASSWORDS, {role: secrets.token_urlsafe(32) for role in LOGIN_ROLES})
    digest = _kept(folder / DIGEST_KEY, {"key": secrets.token_urlsafe(32)})
    return Deployment(home, admin, {role: Secret(passwords[role]) for role in LOGIN_ROLES}, Secret(digest["key"]))


def _kept(path: Path, fresh: dict[str, str]) -> dict[str, str]:
    """The file's content, or `fresh` if there is no file yet; of two processes that start at once, one wins."""
    if not path.exists():
        _write_once(path, json.dumps(fresh))
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise Invalid(f"{path} can be read by others; run: chmod 600 {path}")
    try:
        kept: Any = json.loads(path.read_text())
        return {name: str(kept[name]) for name in fresh}
    except (ValueError, KeyError, TypeError) as error:
        raise Invalid(f"{path} is damaged; restore it from your copy of the keys") from error


def _write_once(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(temporary, path)  # unlike a rename, never replaces the file of whoever was first
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
