"""Deployment data beside the database: the keys in the data folder, and the logins of the database roles."""

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from core.database_login import PasswordFile
from core.database_url import DatabaseAddress
from core.errors import Invalid
from core.migrations import LOGIN_ROLES, create_roles
from core.private_file import read_private, replace_private, write_once
from core.secret import Secret

KEYS_FOLDER = "keys"
PASSWORDS_FILE = "database-roles.json"
DIGEST_KEY_FILE = "audit-digest.json"
PEPPERS_FILE = "token-peppers.json"
VAULT_KEYS_FILE = "vault-kek.json"
DIGEST_MEMBER = "key"
GATEWAY_ROLE = "mcpist_gateway"
ROLES_OF_EVERY_FILE = ("mcpist_gateway", "mcpist_console", "mcpist_broker")
"""Those whose passwords are in the files of all versions; `mcpist_worker` came with schema 0032."""
TRANSIT_TOKEN_FILE = "transit-token"  # noqa: S105 the name of a file


@dataclass(frozen=True, slots=True)
class KeyProviderSettings:
    """Key providers of the vault, as MCPIST_KEYS names them, and the file of HashiCorp Vault's token, if it is not the
    default one."""

    names: tuple[str, ...] = ("file",)
    transit_token: Path | None = None


KEY_FILE_ONLY = KeyProviderSettings()


@dataclass(frozen=True, slots=True)
class Deployment:
    """One data folder and its database. `admin` may create roles and runs migrations; the product never uses it.

    Where `only` is set, `admin` logs in as that role of the product's, and there is no other to be had.
    """

    home: Path
    admin: DatabaseAddress
    passwords: Mapping[str, Secret]
    digest_key: Secret
    only_role: str | None = None
    key_providers: KeyProviderSettings = KEY_FILE_ONLY

    def get_role_address(self, name: str) -> DatabaseAddress:
        """Return the database as one of the product's own roles.

        Raises:
            Invalid: this process may log in as another one only.
        """
        if self.only_role is not None:
            if name != self.only_role:
                raise Invalid(f"MCPIST_DATABASE_URL logs in as {self.only_role}; this needs {name}")
            return self.admin
        file = PasswordFile(self.home / KEYS_FOLDER / PASSWORDS_FILE, name)
        return self.admin.as_role(name, self.passwords[name], file if file.path.exists() else None)

    @property
    def data_plane_role(self) -> str:
        """The role in which this process runs tools: the only one that it has, else a gateway's."""
        return self.only_role or GATEWAY_ROLE

    @property
    def digest_key_path(self) -> Path:
        """Return the file of the key of argument digests."""
        return self.home / KEYS_FOLDER / DIGEST_KEY_FILE

    @property
    def peppers(self) -> Path:
        """The broker's file of peppers."""
        return self.home / KEYS_FOLDER / PEPPERS_FILE


def open_deployment(home: Path, admin: DatabaseAddress, keepers: KeyProviderSettings = KEY_FILE_ONLY) -> Deployment:
    """Read the keys of a data folder; missing ones are created, readable by the owner only.

    Raises:
        Invalid: a key file can be read by others, or is damaged.
    """
    folder = home / KEYS_FOLDER
    passwords = _load_passwords(folder / PASSWORDS_FILE)
    digest = _load_or_create(folder / DIGEST_KEY_FILE, {DIGEST_MEMBER: secrets.token_urlsafe(32)})
    return Deployment(
        home,
        admin,
        {role: Secret(passwords[role]) for role in LOGIN_ROLES},
        Secret(digest[DIGEST_MEMBER]),
        None,
        keepers,
    )


def open_deployment_as(
    home: Path, address: DatabaseAddress, role: str, *, make_keys: bool, has_digest_key: bool = True
) -> Deployment:
    """Open a deployment of which this process knows one role's login and, with `has_digest_key`, the key of the
    argument digests.

    Raises:
        Invalid: `address` names another role; the key can be read by others, is damaged, or is missing and not made.
    """
    if urlsplit(address.url.reveal()).username != role:
        raise Invalid(f"MCPIST_DATABASE_URL has to log in as {role} here: postgresql://{role}:password@host/database")
    if not has_digest_key:
        return Deployment(home, address, {}, Secret(""), only_role=role)
    path = home / KEYS_FOLDER / DIGEST_KEY_FILE
    if make_keys:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    elif not path.exists():
        raise Invalid(f"{path} is missing; copy it from the broker's data folder, so that all gateways have one key")
    digest = _load_or_create(path, {DIGEST_MEMBER: secrets.token_urlsafe(32)})
    return Deployment(home, address, {}, Secret(digest[DIGEST_MEMBER]), only_role=role)


def _load_passwords(path: Path) -> dict[str, str]:
    """Load the passwords of all roles; those of roles that a newer version has are added to the file."""
    made = {role: secrets.token_urlsafe(32) for role in LOGIN_ROLES}
    if not path.exists():
        write_once(path, json.dumps(made))
    read_key_file_values(path, ROLES_OF_EVERY_FILE)
    with _lock_folder(path.parent):  # of two processes that find one missing, one adds it
        known: dict[str, Any] = json.loads(read_private(path))
        if added := [role for role in LOGIN_ROLES if role not in known]:
            try:
                replace_private(path, json.dumps({role: made[role] for role in added} | known))
            except OSError as error:
                raise Invalid(
                    f"{path} has no password of {', '.join(added)}, and cannot be written; add one"
                ) from error
    return read_key_file_values(path, LOGIN_ROLES)


@contextlib.contextmanager
def _lock_folder(folder: Path) -> Generator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _load_or_create(path: Path, defaults: dict[str, str]) -> dict[str, str]:
    """Load the file's content, or `defaults` if there is no file yet."""
    if not path.exists():
        write_once(path, json.dumps(defaults))
    return read_key_file_values(path, defaults)


def read_key_file_values(path: Path, names: Iterable[str]) -> dict[str, str]:
    """Read the values of these names in a key file.

    Raises:
        Invalid: it can be read by others, or is damaged.
    """
    text = read_private(path)
    try:
        values: Any = json.loads(text)
        return {name: _read_first(values[name]) for name in names}
    except (ValueError, LookupError, TypeError) as error:
        raise Invalid(f"{path} is damaged; restore it from your copy of the keys") from error


def _read_first(value: Any) -> str:
    """Read a value, or the first of those that count during a rotation."""
    return str(value if isinstance(value, str) else value[0])


async def rotate_role_passwords(deployment: Deployment) -> Deployment:
    """Give every role of the product a new password. Processes that read this folder's file go on: while the database
    changes, the file has the old and the new ones, and each is tried."""
    path = deployment.home / KEYS_FOLDER / PASSWORDS_FILE
    made = {role: secrets.token_urlsafe(32) for role in LOGIN_ROLES}
    both = {role: [made[role], deployment.passwords[role].reveal()] for role in LOGIN_ROLES}
    replace_private(path, json.dumps(both))
    await create_roles(deployment.admin, {role: Secret(password) for role, password in made.items()})
    replace_private(path, json.dumps(made))
    return replace(deployment, passwords={role: Secret(password) for role, password in made.items()})
