"""The clients of the matrix as the registries have them, in the versions of package.json: `dependencies` are npm's, and
`python` names the packages of each virtual environment; python-lock.json has what they need, made by
`python -m tests.clients.matrix.installed`. All of it is kept below .venv/.cache, made once per version."""

import fcntl
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
CACHE = ROOT / ".venv" / ".cache" / "clients"
INSTALL_SECONDS = 900
PINNED = json.loads((HERE / "package.json").read_text("utf-8"))
PYTHON_LOCK = HERE / "python-lock.json"
UV = Path(sys.executable).with_name("uv")


class NotInstalled(Exception):
    """A client could not be installed; the message says why."""


@functools.cache
def install_python(name: str) -> Path:
    """The interpreter of a virtual environment with the packages that `python` has for that name.

    Raises:
        NotInstalled
    """
    packages: list[str] = json.loads(PYTHON_LOCK.read_text("utf-8"))[name]
    place = CACHE / f"{name.replace(' ', '-')}-{_digest(packages)}"
    make = [str(UV), "venv", "--quiet", "--clear", "--python", sys.executable, str(place)]
    fill = [str(UV), "pip", "install", "--quiet", "--no-deps", "--python", str(place / "bin" / "python"), *packages]
    return _install(place, make, fill) / "bin" / "python"


@functools.cache
def install_node() -> Path:
    """The `node_modules` with all npm packages.

    Raises:
        NotInstalled
    """
    lock = HERE / "package-lock.json"
    place = CACHE / f"npm-{_digest(lock.read_text('utf-8'))}"
    place.mkdir(parents=True, exist_ok=True)
    for file in (HERE / "package.json", lock):
        shutil.copy(file, place)
    options = ["--include=optional", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    # Not `npm ci`: it wants the optional packages of all platforms in the lock file, and some registries lack them.
    return _install(place, [str(ROOT / "tools" / "npm"), "install", "--no-save", *options]) / "node_modules"


def node_version(package: str) -> str:
    """The pinned version of an npm package."""
    return PINNED["dependencies"][package]


def python_version(name: str) -> str:
    """The pinned version of the first package of a virtual environment."""
    return PINNED["python"][name][0].partition("==")[2]


def _digest(pinned: object) -> str:
    return hashlib.sha256(json.dumps(pinned).encode()).hexdigest()[:10]


def _install(place: Path, *commands: list[str]) -> Path:
    """Processes that start together wait for the first."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = place / ".installed"
        if not done.exists():
            for command in commands:
                _run(command, place)
            done.touch()
    return place


def _run(command: list[str], place: Path) -> None:
    try:
        folder = place if place.exists() else CACHE
        tried = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS, env=os.environ
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(f"{Path(command[0]).name}: {type(error).__name__}") from None
    if tried.returncode:
        raise NotInstalled(f"{Path(command[0]).name} ended with {tried.returncode}: {tried.stderr.strip()[-300:]}")


def _resolve_python(packages: list[str]) -> list[str]:
    """These packages and all that they need, each in one version."""
    line = [str(UV), "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python", sys.executable, "-"]
    made = subprocess.run(line, input="\n".join(packages), capture_output=True, text=True, check=True)
    return made.stdout.split("\n")[:-1]


if __name__ == "__main__":
    locked = {name: _resolve_python(packages) for name, packages in PINNED["python"].items()}
    PYTHON_LOCK.write_text(json.dumps(locked, indent=2) + "\n", "utf-8")
