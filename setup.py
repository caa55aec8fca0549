"""Puts the migrations into the wheel; everything else about the build is in pyproject.toml.

In the repository they live in alembic/, which is no package (with an __init__.py it would shadow the library).
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SOURCE = Path(__file__).parent / "alembic"


class BuildWithMigrations(build_py):
    """Copies alembic/ to core/_alembic of the wheel; core.migration_scripts finds them in either place."""

    def run(self) -> None:
        # The build folder outlives a build, and the console's files have another name in each.
        shutil.rmtree(Path(self.build_lib) / "admin_ui" / "console_dist", ignore_errors=True)
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib) / "core" / "_alembic"
        # The build folder outlives a build, and a migration that is gone from the sources must not come back.
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(SOURCE, target, ignore=shutil.ignore_patterns("__pycache__"))


setup(cmdclass={"build_py": BuildWithMigrations})
