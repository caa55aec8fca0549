"""Files that hold keys: written whole and once, read by their owner alone."""

import os
import secrets
import stat
from pathlib import Path

from core.errors import Invalid


def write_once(path: Path, text: str) -> None:
    """Make the file (mode 0600), durably, unless it is there: of two processes at once, one makes it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = _write_temporary(path, text)
    try:
        os.link(temporary, path)  # unlike a rename, never replaces keys that another process wrote first
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
    sync_folder(path.parent)


def replace_private(path: Path, text: str) -> None:
    """Replace the file's content (mode 0600), durably: whoever reads it meanwhile has the old or the new one, whole."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write_temporary(path, text).replace(path)
    sync_folder(path.parent)


def _write_temporary(path: Path, text: str) -> Path:
    """Write a file beside `path`, durably but for its name."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return temporary


def read_private(path: Path) -> str:
    """Read the file's text.

    Raises:
        Invalid: others can read it too, or it cannot be read as text.
        FileNotFoundError: there is none.
    """
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise Invalid(f"{path} can be read by others; run: chmod 600 {path}")
        return path.read_text()
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} cannot be read; it must be a text file owned by the user that MCPist runs as") from error


def sync_folder(folder: Path) -> None:
    """Make a new name in the folder survive a power cut: a lost key file makes all that it sealed unreadable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
