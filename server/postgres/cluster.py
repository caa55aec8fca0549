"""The database cluster: made once by initdb, checked at every start."""

import os
import secrets
import shutil
import tempfile
from pathlib import Path

from core.private_file import replace_private, sync_folder
from server.postgres.binaries import Binaries
from server.postgres.errors import PostgresError
from server.postgres.layout import DataFolderLayout, create_private_folder
from server.postgres.process import find_first_error, spawn
from server.postgres.system_account import SystemAccount, get_owner_name

SUPERUSER = "postgres"
_STAGING = "initdb-"

# The locale trap: with --locale=C, LC_CTYPE is C and pg_trgm finds no trigram in Japanese. PostgreSQL's built-in
# C.UTF-8 knows all of Unicode and is the same on every operating system.
_INITDB = (
    f"--username={SUPERUSER}",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--lc-collate=C",
    "--lc-ctype=C.UTF-8",
    "--auth=scram-sha-256",
)


def ensure_cluster(layout: DataFolderLayout, binaries: Binaries, account: SystemAccount | None) -> bool:
    """Make the cluster if there is none, else check that these binaries can serve it. Returns whether it was made.

    initdb works in a folder of its own that gets its name at the end, so an interrupted one is simply done again.

    Raises: PostgresError
    """
    _remove_unfinished(layout)
    if layout.data.exists():
        _check_cluster(layout, binaries, account)
        return False
    password = secrets.token_urlsafe(32)
    replace_private(layout.password, password)
    staging = create_private_folder(layout.folder, _STAGING, account)
    _run_initdb(layout, binaries, account, staging, password)
    staging.rename(layout.data)
    sync_folder(layout.folder)
    return True


def read_password(layout: DataFolderLayout) -> str:
    """Raises: PostgresError if the file is missing or damaged."""
    try:
        return layout.password.read_text("ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError) as error:
        defect = "missing" if isinstance(error, FileNotFoundError) else "damaged"
        raise PostgresError(
            f"{layout.password} is {defect}, and without it no login is possible. Put it back from a copy of the data "
            f"folder, or move {layout.folder} away and restore a backup."
        ) from None


def _remove_unfinished(layout: DataFolderLayout) -> None:
    for leftover in layout.folder.glob(f"{_STAGING}*"):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)  # an initdb that outlived its starter may still write there
        else:
            leftover.unlink()


def _check_cluster(layout: DataFolderLayout, binaries: Binaries, account: SystemAccount | None) -> None:
    owner = os.geteuid() if account is None else account.uid
    if layout.data.stat().st_uid != owner:
        raise PostgresError(
            f"{layout.data} belongs to {get_owner_name(layout.data)}, and PostgreSQL would run as another user. "
            "Run it as that user again, or give the folder to the new one (chown -R)."
        )
    version_file = layout.data / "PG_VERSION"
    version = version_file.read_text("ascii", "replace").strip() if version_file.exists() else ""
    if not version.isdecimal():
        raise PostgresError(
            f"{version_file} is missing or damaged, so {layout.data} cannot be served. Move {layout.folder} away, and "
            "run `mcpist restore`."
        )
    if version != binaries.major:
        raise PostgresError(
            f"{layout.data} was written by PostgreSQL {version}, and this MCPist brings {binaries.major}. Run "
            f"`mcpist backup` with the MCPist that wrote it, move {layout.folder} away, start this one, and run "
            "`mcpist restore`."
        )


def _run_initdb(
    layout: DataFolderLayout, binaries: Binaries, account: SystemAccount | None, target: Path, password: str
) -> None:
    descriptor, name = tempfile.mkstemp(prefix=_STAGING, dir=layout.folder)  # 0600
    try:
        os.write(descriptor, password.encode())
        if account is not None:
            os.fchown(descriptor, account.uid, account.gid)
        argv = [binaries.get_program_path("initdb"), *_INITDB, f"--pwfile={name}", f"--pgdata={target}"]
        with tempfile.TemporaryFile() as output:
            code = spawn(argv, account, output.fileno()).wait()
            output.seek(0)
            text = output.read().decode("utf-8", "replace").strip()
    finally:
        os.close(descriptor)
        Path(name).unlink(missing_ok=True)
    if code != 0:
        raise PostgresError(f"initdb failed with code {code}: {find_first_error(text)}")
