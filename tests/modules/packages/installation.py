"""Install the example package into a folder of its own, as its user would, without asking any registry."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.modules.packages.conftest import SOURCE


def install_example(folder: Path, source: Path = SOURCE) -> Path:
    """Install a copy of the source below `folder`; return where it is importable from."""
    copy, site = folder / "source", folder / "site"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    command = [*pip, "--no-build-isolation", "--target", str(site), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return site
