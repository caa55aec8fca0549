"""This repository obeys its own rules."""

import re
import subprocess
from functools import cache
from pathlib import Path

import alembic
import pytest

from tests.lint.rules import PRODUCT, findings, parse

ROOT = Path(__file__).resolve().parents[2]

# In pieces, so that this file does not break its own rule.
REGISTRIES = ["pypi" + ".org", "pypi" + ".python.org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com"]
REGISTRIES += ["yarn" + "pkg.com", "deb." + "debian.org", "proxy." + "golang.org", "crates" + ".io"]
MACHINE_PATHS = ["/" + "work/", "/" + "root/.", "/" + "opt/wheels", "/" + "opt/pypi", "/" + "home/"]


@cache
def repository_files() -> tuple[Path, ...]:
    """What git tracks or would track: the tests also run on changes that are not committed yet."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return tuple(ROOT / name for name in names if name and (ROOT / name).is_file())


def python_files() -> list[Path]:
    return [path for path in repository_files() if path.suffix == ".py"]


def test_the_rules_see_the_product() -> None:
    seen = {path.relative_to(ROOT).parts[0] for path in python_files()}
    assert seen >= {name for name in PRODUCT if (ROOT / name).is_dir()}


def test_own_rules() -> None:
    sources = (parse(path.relative_to(ROOT), path.read_text("utf-8")) for path in python_files())
    broken = [str(finding) for source in sources for finding in findings(source)]
    assert not broken, "\n" + "\n".join(broken)


@pytest.mark.parametrize("forbidden", [REGISTRIES, MACHINE_PATHS], ids=["registry", "machine path"])
def test_no_file_names_a_registry_or_a_path_of_one_machine(forbidden: list[str]) -> None:
    pattern = re.compile("|".join(map(re.escape, forbidden)).encode())
    named = [
        f"{path.relative_to(ROOT)}: {hit.group().decode()}"
        for path in repository_files()
        if (hit := pattern.search(path.read_bytes()))
    ]
    assert not named


def test_the_migrations_folder_does_not_shadow_the_library() -> None:
    assert not (ROOT / "alembic" / "__init__.py").exists()
    assert alembic.__file__ is not None
    assert "site-packages" in alembic.__file__
