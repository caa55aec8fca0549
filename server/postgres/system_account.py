"""The system account that PostgreSQL runs as: PostgreSQL refuses to run as root."""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from server.postgres.errors import PostgresError


@dataclass(frozen=True, slots=True)
class SystemAccount:
    """A user to change to before running a PostgreSQL program."""

    name: str
    uid: int
    gid: int


def find_runtime_account(run_as: str) -> SystemAccount | None:
    """Find the account to change to when this process is root; None for a plain user, who runs everything as itself.

    Raises: PostgresError if there is no such user, or if it is root itself.
    """
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(run_as)
    except KeyError:
        raise PostgresError(f"There is no system user {run_as!r} to run PostgreSQL as; name an existing one.") from None
    if entry.pw_uid == 0:
        raise PostgresError("PostgreSQL does not run as root; name another system user for it, such as nobody.")
    return SystemAccount(run_as, entry.pw_uid, entry.pw_gid)


def get_owner_name(path: Path) -> str:
    uid = path.stat().st_uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def find_blocked_parent(path: Path, account: SystemAccount) -> Path | None:
    """Find the outermost folder above `path` that the account may not pass through (by its mode; ACLs are not read)."""
    return next((parent for parent in reversed(path.parents) if not may_traverse(parent, account)), None)


def may_traverse(folder: Path, account: SystemAccount) -> bool:
    status = folder.stat()
    if status.st_uid == account.uid:
        return bool(status.st_mode & 0o100)
    if status.st_gid == account.gid:
        return bool(status.st_mode & 0o010)
    return bool(status.st_mode & 0o001)
