"""The data folder: where the server's files lie in it, and who may reach them."""

import hashlib
import os
import re
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from server.postgres.errors import PostgresError
from server.postgres.system_account import SystemAccount, find_blocked_parent, get_owner_name, may_traverse

POSTGRES_PORT = 5432
SOCKET_NAME = f".s.PGSQL.{POSTGRES_PORT}"
_MAX_SOCKET_PATH = 99  # bytes; the kernel's limit is 107 on Linux and 103 on macOS

_UNUSABLE_CHARACTERS = re.compile(
    r'["`$\\\x00-\x1f]'
)  # initdb and postgres hand their own path to a shell in double quotes


@dataclass(frozen=True, slots=True)
class DataFolderLayout:
    """The server's files below a data folder (absolute, without symbolic links).

    Files that this process writes lie in folders of its own. Only `data` and the socket folder belong to the account
    PostgreSQL runs as: root writing into another user's folder could be led elsewhere by a symbolic link.
    """

    home: Path

    @property
    def lock(self) -> Path:
        return self.home / "lock"

    @property
    def binaries(self) -> Path:
        return self.home / "bin"

    @property
    def folder(self) -> Path:
        return self.home / "postgres"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def password(self) -> Path:
        return self.folder / "superuser.password"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    @property
    def name(self) -> str:
        """Tells this server's processes from those of any other server on the machine (`cluster_name`)."""
        return "mcpist-" + hashlib.sha256(os.fsencode(self.data)).hexdigest()[:16]

    def get_socket_dir(self, short_parent: Path | None) -> Path:
        """Beside the data; in a short folder below `short_parent` (the system's temporary folder) if that is too long.

        libpq reads a comma in a host name as the start of the next host, so such a path counts as too long.
        """
        beside = self.folder / "run"
        if len(os.fsencode(beside / SOCKET_NAME)) <= _MAX_SOCKET_PATH and "," not in str(beside):
            return beside
        return (short_parent or Path(tempfile.gettempdir())).resolve() / self.name


def prepare_home(home: Path, account: SystemAccount | None) -> DataFolderLayout:
    """Create the data folder if need be and check that only we can write to it and that PostgreSQL can reach it.

    Raises: PostgresError that names the folder and says what to change.
    """
    if _UNUSABLE_CHARACTERS.search(str(home.resolve())):
        raise PostgresError(f"PostgreSQL cannot work in a path with quotes, $, \\ or control characters: {home}.")
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise PostgresError(f"Cannot make the folder {home}: {error.strerror}. Choose another MCPIST_HOME.") from None
    layout = DataFolderLayout(home.resolve())
    _check_ownership(layout.home)
    layout.folder.mkdir(exist_ok=True, mode=0o700)
    if account is not None:
        _grant_traversal(layout, account)
    return layout


def find_layout(home: Path) -> DataFolderLayout | None:
    """Find the layout of a data folder that is there and ours, None if there is none.

    Raises: PostgresError if it belongs to another user or others can write to it.
    """
    layout = DataFolderLayout(home.resolve())
    if not layout.home.exists():
        return None
    _check_ownership(layout.home)
    return layout


def prepare_socket_dir(folder: Path, account: SystemAccount | None) -> None:
    """Make the socket folder, 0700 and PostgreSQL's own.

    Raises: PostgresError if something else is there (the name of a short folder can be guessed by other users).
    """
    if account is not None:
        _check_parents(folder, account)
    owner = os.geteuid() if account is None else account.uid
    try:
        folder.mkdir(mode=0o700)
        _give_to_account(folder, account)
    except FileExistsError:
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != owner or status.st_mode & 0o077:
            raise PostgresError(
                f"{folder} is not PostgreSQL's own private folder; remove it and start again."
            ) from None


def create_private_folder(parent: Path, prefix: str, account: SystemAccount | None) -> Path:
    """Create a new empty 0700 folder that belongs to the account."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    _give_to_account(folder, account)
    return folder


def _give_to_account(folder: Path, account: SystemAccount | None) -> None:
    if account is not None:
        os.chown(folder, account.uid, account.gid, follow_symlinks=False)


def _check_ownership(home: Path) -> None:
    status = home.stat()
    if status.st_uid != os.geteuid():
        raise PostgresError(
            f"{home} belongs to {get_owner_name(home)}; run as that user, or choose another MCPIST_HOME."
        )
    if status.st_mode & 0o022:
        raise PostgresError(f"Others can write to {home}; run: chmod go-w '{home}', or choose another MCPIST_HOME.")


def _grant_traversal(layout: DataFolderLayout, account: SystemAccount) -> None:
    _check_parents(layout.home, account)
    for folder in (layout.home, layout.folder):
        if not may_traverse(folder, account):
            folder.chmod(stat.S_IMODE(folder.stat().st_mode) | 0o001)


def _check_parents(folder: Path, account: SystemAccount) -> None:
    parent = find_blocked_parent(folder, account)
    if parent is not None:
        raise PostgresError(
            f"PostgreSQL runs as {account.name!r} and cannot pass through {parent}, which MCPist leaves as it is. "
            f"Choose another MCPIST_HOME (as root, /var/lib/mcpist), or run: chmod o+x '{parent}'."
        )
