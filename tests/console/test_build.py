"""The build of the console: when it runs, what it leaves, and how it fails."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.console.console_app import require_console
from tools import console

WITHOUT_REGISTRY = {"npm_config_registry": "http://127.0.0.1:9/"}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files that a build needs, in a folder of their own."""
    for folder in ("admin_ui/console", "tools", "requirements"):
        ignored = shutil.ignore_patterns("node_modules", "__pycache__")
        shutil.copytree(console.ROOT / folder, tmp_path / folder, ignore=ignored)
    return tmp_path


def _build(clone: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(clone), **variables}
    command = [sys.executable, "-m", "tools.console", *arguments]
    return subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, timeout=110, check=False)


@pytest.mark.long
def test_where_the_registry_is_out_of_reach_the_product_goes_on_and_says_what_to_do(clone: Path) -> None:
    tried = _build(clone, **WITHOUT_REGISTRY)
    assert tried.returncode == 0
    assert "the console is missing; everything else works. Once the cause is gone: make console" in tried.stderr
    assert not (clone / "admin_ui" / "console_dist").exists()
    assert not [*(clone / "admin_ui").glob(".console-*")]
    assert _build(clone, "--required", **WITHOUT_REGISTRY).returncode == 1


def test_what_is_built_is_used_without_node_and_registry(clone: Path) -> None:
    require_console()
    shutil.copytree(console.OUTPUT, clone / "admin_ui" / "console_dist")
    again = _build(clone, "--required", **WITHOUT_REGISTRY)
    assert (again.returncode, again.stderr) == (0, "")
    (clone / "admin_ui" / "console" / "src" / "main.tsx").write_text("")
    stale = _build(clone, **WITHOUT_REGISTRY)
    assert "the console is one of older sources" in stale.stderr
    assert (clone / "admin_ui" / "console_dist" / "index.html").exists(), "the older one stays until there is another"


def test_every_text_file_has_its_compressed_forms() -> None:
    require_console()
    files = [path for path in console.OUTPUT.rglob("*") if path.suffix in (".js", ".css", ".html", ".svg")]
    assert files
    for path in files:
        for ending in (".br", ".gz"):
            assert path.with_name(path.name + ending).stat().st_size < path.stat().st_size + 50


def test_the_first_load_is_small() -> None:
    """Under 250 kB of compressed script: what the page names, and one language."""
    require_console()
    page = (console.OUTPUT / "index.html").read_text()
    first = [path for path in console.OUTPUT.rglob("*.js.gz") if path.name.removesuffix(".gz") in page]
    language = max(path.stat().st_size for path in (console.OUTPUT / "assets").glob("ja-*.js.gz"))
    assert len(first) >= 2
    assert sum(path.stat().st_size for path in first) + language < 250_000


@pytest.mark.long
def test_two_builds_are_the_same(clone: Path) -> None:
    require_console()
    (clone / "admin_ui" / "console" / "node_modules").symlink_to(console.SOURCES / "node_modules")
    built = _build(clone, "--required")
    assert built.returncode == 0, built.stderr
    compared = ["diff", "-r", str(clone / "admin_ui" / "console_dist"), str(console.OUTPUT)]
    assert subprocess.run(compared, capture_output=True, text=True, check=False).stdout == ""
