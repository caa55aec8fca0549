"""Install a peer in a virtual environment of its own, on a Python of this machine that it allows."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.spawn import REPOSITORY

FOLDER = REPOSITORY / ".venv-peers"
DONE = "installed.txt"

Version = tuple[int, int]


class Missing(Exception):
    """A peer cannot be had here; the text says why, and what would help."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to install, and on which Pythons it runs, the best first."""

    name: str
    packages: tuple[str, ...]
    pythons: tuple[Version, ...]


def installed(recipe: Recipe, progress: Callable[[str], None]) -> Path:
    """The peer's own Python; installing is done once for each recipe.

    Raises:
        Missing: there is no fitting Python, or installing failed.
    """
    folder = FOLDER / recipe.name
    python, done = folder / "bin" / "python", folder / DONE
    wanted = "\n".join((str(folder), *recipe.packages))  # programs in it hold its path: a moved one is made anew
    if done.exists() and done.read_text() == wanted and _version(python):
        return python
    base = fitting(recipe.pythons, interpreters())
    if base is None:
        versions = " or ".join(f"{major}.{minor}" for major, minor in recipe.pythons)
        raise Missing(f"{recipe.name} is left out: it needs Python {versions}, and there is none on this machine")
    progress(f"installing {', '.join(recipe.packages)} in {folder.relative_to(REPOSITORY)} on {base}")
    uv = str(Path(sys.executable).with_name("uv"))
    _run(recipe, [uv, "venv", "--quiet", "--clear", "--no-python-downloads", "--python", str(base), str(folder)])
    _run(recipe, [uv, "pip", "install", "--quiet", "--python", str(python), *recipe.packages])
    done.write_text(wanted)
    return python


def fitting(wanted: Iterable[Version], found: Iterable[Path]) -> Path | None:
    """The first interpreter of the best version."""
    versions: dict[Version, Path] = {}
    for path in found:
        if version := _version(path):
            versions.setdefault(version, path)
    return next((versions[version] for version in wanted if version in versions), None)


def interpreters() -> Iterator[Path]:
    """Where Pythons lie: this one, those on the path, those of pyenv and of uv."""
    yield Path(sys.executable).resolve()
    for minor in range(14, 10, -1):
        if on_path := shutil.which(f"python3.{minor}"):
            yield Path(on_path)
    for pattern in (".pyenv/versions/*/bin/python3", ".local/share/uv/python/*/bin/python3"):
        yield from sorted(Path.home().glob(pattern))


def version_of(python: Path, package: str) -> str:
    """The release of a package that is installed there."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def _version(python: Path) -> Version | None:
    """Its version; None for what only looks like an interpreter, as the shims of absent ones do."""
    code = "import sys, ensurepip; print(*sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    except OSError:
        return None
    if done.returncode:
        return None
    major, minor = map(int, done.stdout.split())
    return major, minor


def _run(recipe: Recipe, argv: list[str]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"{recipe.name} is left out, installing failed: {done.stderr.strip()[-1500:]}")
