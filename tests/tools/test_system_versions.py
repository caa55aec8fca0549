"""What the checks need of the system is printed, and refused where it is too old."""

from pathlib import Path

import pytest

from tools.locked import ROOT
from tools.system_versions import PROGRAMS, Program, check_versions, version_in


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Spin Version 6.5.2 -- 6 December 2019\n", (6, 5, 2)),
        ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022\n", (12, 2, 0)),
        ("GNU Make 4.3\nBuilt for x86_64-pc-linux-gnu\n", (4, 3)),
        ("Chromium 156.0.8078.79 built on Debian GNU/Linux 12 (bookworm)\n", (156, 0, 8078, 79)),
        ("wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer\n", (4, 1, 0)),
        ("version 7", (7,)),
        ("nothing", None),
    ],
)
def test_the_version_in_what_a_program_says(text: str, version: tuple[int, ...] | None) -> None:
    assert version_in(text) == version


@pytest.mark.parametrize(
    ("says", "fits", "line"),
    [
        ("Spin Version 6.5.2", True, "spin 6.5.2"),
        ("Spin Version 6.5", True, "spin 6.5"),
        ("Spin Version 6.4.9", False, "spin 6.4.9: too old, 6.5 is needed for a model"),
        ("Spin Version 10.0", True, "spin 10.0"),
        ("usage: spin", False, "spin of an unknown version: too old, 6.5 is needed for a model"),
    ],
)
def test_one_that_is_too_old_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, fits: bool, line: str
) -> None:
    program = tmp_path / "spin"
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert list(check_versions([Program(("spin",), "-V", (6, 5), "a model")])) == [(line, fits)]


def test_one_that_is_missing_is_for_others_to_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert list(check_versions([Program(("spin",), "-V", (6, 5), "a model")])) == [("spin: missing", True)]


def test_all_that_is_installed_by_apt_is_looked_at() -> None:
    asked = (ROOT / ".ci" / "run").read_text() + (ROOT / "Makefile").read_text()
    lines = [line.strip() for line in asked.splitlines()]
    installed = {line.split()[1].removesuffix("-light") for line in lines if line.startswith("need ")}
    installed |= {"wrk"}
    programs = {"prometheus": "promtool", "postgresql": "psql"}
    installed = {programs.get(name, name) for name in installed}
    installed.discard('"$manual"')  # texts, which are no programs
    installed.discard("python3-venv")  # tools/setup looks at Python itself
    assert all(installed & {*one.names} for one in PROGRAMS)
    assert installed <= {name for one in PROGRAMS for name in one.names}
    assert "tools.system_versions" in asked
