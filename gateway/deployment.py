"""What belongs to one deployment beside its database: the keys in the data folder, and how each role logs in."""

import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from core.address import DatabaseAddress
from core.errors import Invalid
from core.migrations import LOGIN_ROLES
from core.private_file import read_private, write_once
from core.secret import Secret

KEYS = "keys"
PASSWORDS = "database-roles.json"
DIGEST_KEY = "audit-digest.json"
PEPPERS = "token-peppers.json"
VAULT_KEYS = "vault-kek.json"
DIGEST = "key"
TRANSIT_TOKEN = "transit-token"  # noqa: S105 the name of a file


@dataclass(frozen=True, slots=True)
class KeeperSettings:
    """Who keeps the vault's keys, as MCPIST_KEYS says, and the file with HashiCorp Vault's token, if not the usual."""

    names: tuple[str, ...] = ("file",)
    transit_token: Path | None = None


FILE_ALONE = KeeperSettings()


@dataclass(frozen=True, slots=True)
class Deployment:
    """One data folder and its database. `admin` may create roles and runs migrations; the product never uses it.

    Where `only` is set, `admin` logs in as that role of the product's, and there is no other to be had.
    """

    home: Path
    admin: DatabaseAddress
    passwords: Mapping[str, Secret]
    digest_key: Secret
    only: str | None = None
    keepers: KeeperSettings = FILE_ALONE

    def role(self, name: str) -> DatabaseAddress:
        """The database as one of the product's own roles.

        Raises:
            Invalid: this process may log in as another one only.
        """
        if self.only is not None:
            if name != self.only:
                raise Invalid(f"MCPIST_DATABASE_URL logs in as {self.only}; this needs {name}")
            return self.admin
        return self.admin.as_role(name, self.passwords[name])

    @property
    def peppers(self) -> Path:
        """The broker's file of peppers."""
        return self.home / KEYS / PEPPERS


def open_deployment(home: Path, admin: DatabaseAddress, keepers: KeeperSettings = FILE_ALONE) -> Deployment:
    """Read the keys of a data folder; those that are missing are made, readable by nobody else.

    Raises:
        Invalid: a key file can be read by others, or is damaged.
    """
    folder = home / KEYS
    passwords = _kept(folder / PASSWORDS, {role: secrets.token_urlsafe(32) for role in LOGIN_ROLES})
    digest = _kept(folder / DIGEST_KEY, {DIGEST: secrets.token_urlsafe(32)})
    return Deployment(
        home, admin, {role: Secret(passwords[role]) for role in LOGIN_ROLES}, Secret(digest[DIGEST]), None, keepers
    )


def open_as(home: Path, address: DatabaseAddress, role: str, *, make_keys: bool) -> Deployment:
    """A deployment of which this process knows one role's login and the key of the argument digests.

    Raises:
        Invalid: `address` names another role; the key can be read by others, is damaged, or is missing and not made.
    """
    if urlsplit(address.url.reveal()).username != role:
        raise Invalid(f"MCPIST_DATABASE_URL has to log in as {role} here: postgresql://{role}:password@host/database")
    path = home / KEYS / DIGEST_KEY
    if make_keys:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    elif not path.exists():
        raise Invalid(f"{path} is missing; copy it from the broker's data folder, so that all gateways have one key")
    digest = _kept(path, {DIGEST: secrets.token_urlsafe(32)})
    return Deployment(home, address, {}, Secret(digest[DIGEST]), only=role)


def _kept(path: Path, fresh: dict[str, str]) -> dict[str, str]:
    """The file's content, or `fresh` if there is no file yet."""
    if not path.exists():
        write_once(path, json.dumps(fresh))
    return read_kept(path, fresh)


def read_kept(path: Path, names: Iterable[str]) -> dict[str, str]:
    """The values of these names in a key file.

    Raises:
        Invalid: it can be read by others, or is damaged.
    """
    text = read_private(path)
    try:
        kept: Any = json.loads(text)
        return {name: str(kept[name]) for name in names}
    except (ValueError, KeyError, TypeError) as error:
        raise Invalid(f"{path} is damaged; restore it from your copy of the keys") from error
