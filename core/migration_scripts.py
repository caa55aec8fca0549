"""Location of the Alembic scripts, which differs between a clone and an installed wheel."""

from pathlib import Path

_PACKAGE = Path(__file__).parent


def get_migration_scripts_path() -> Path:
    """Alembic's `script_location`.

    A wheel carries the scripts as `core/_alembic` (setup.py puts them there): beside `core` they would land in the
    library's own folder in site-packages. In a clone they are the repository's `alembic/`.
    """
    packaged = _PACKAGE / "_alembic"
    return packaged if packaged.is_dir() else _PACKAGE.parent / "alembic"
