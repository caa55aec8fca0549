"""The lock files fit pyproject.toml and pin every file by hash; checked without any network."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.lock import MARK, WANTED, digest
from tools.locked import ENTRY, LOCKS, ROOT, read_locked

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUPS = PYPROJECT["dependency-groups"]
LOCK_FILES = [LOCKS / f"{name}.txt" for name in WANTED]
RUNTIME = PYPROJECT["project"]["dependencies"]
DEV = [line for line in GROUPS["dev"] if isinstance(line, str)]
ASKED = {"runtime": RUNTIME, "dev": [*RUNTIME, *GROUPS["build"], *DEV], "build": PYPROJECT["build-system"]["requires"]}


def entries(name: str) -> dict[str, str]:
    return {one.name: one.version for one in read_locked(name)}


@pytest.mark.parametrize("path", LOCK_FILES, ids=lambda path: path.name)
def test_a_lock_was_made_from_this_pyproject(path: Path) -> None:
    assert path.read_text().splitlines()[0] == MARK + digest(PYPROJECT), "run `make lock`"


@pytest.mark.parametrize("name", ASKED)
def test_a_lock_satisfies_what_is_asked_for(name: str) -> None:
    pinned = entries(name)
    for line in ASKED[name]:
        asked = Requirement(line)
        assert asked.specifier.contains(pinned[canonicalize_name(asked.name)]), line


def test_the_locks_agree() -> None:
    dev = entries("dev")
    assert entries("runtime").items() <= dev.items()
    assert entries("build").items() <= dev.items()


@pytest.mark.parametrize("path", LOCK_FILES, ids=lambda path: path.name)
def test_a_lock_holds_pins_with_hashes_and_nothing_else(path: Path) -> None:
    rest = ENTRY.sub("", path.read_text())
    assert not [line for line in rest.splitlines() if line and not line.lstrip().startswith("#")]
    assert "://" not in path.read_text()
    hashes = re.findall(r"--hash=(\S+)", path.read_text())
    assert hashes
    assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", value) for value in hashes)
