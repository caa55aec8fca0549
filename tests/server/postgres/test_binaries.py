"""The programs of PostgreSQL are there for every account, linked or copied."""

import errno
import os
import stat
import subprocess
from pathlib import Path

import pytest

from server.postgres.binaries import copy_binaries, find_bundled_binaries


@pytest.mark.parametrize("links", [True, False])
def test_every_account_can_run_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    def refuse(_source: str, _target: str) -> None:
        raise OSError(errno.EXDEV, "another disk")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    installed = find_bundled_binaries()
    copied = copy_binaries(installed, tmp_path / "bin")
    files = [path for path in copied.root.rglob("*") if path.is_file()]
    assert len(files) > 500
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o644, 0o755}
    assert {stat.S_IMODE(path.stat().st_mode) for path in copied.root.rglob("*") if path.is_dir()} == {0o755}
    program, original = (Path(one.get_program_path("postgres")) for one in (copied, installed))
    assert program.samefile(original) is links or program.stat().st_dev != original.stat().st_dev
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert told.startswith(f"postgres (PostgreSQL) {copied.major}.")
    assert copy_binaries(installed, tmp_path / "bin") == copied, "made once"
