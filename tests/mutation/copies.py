"""A copy of the repository in which one error at a time is tried: the working tree is never touched."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from tests.mutation.mutants import ROOT, Mutant

LEFT_OUT = (
    ".git", ".venv", ".venv-peers", "__pycache__", "node_modules", "build", "dist", "*.egg-info",
    ".hypothesis", ".pytest_cache", ".ruff_cache", ".import_linter_cache",
)  # fmt: skip
NODE_MODULES = Path("tests/node/node_modules")
ONE_TEST = 60
"""Seconds for one test: an error may make it wait without end."""
ONE_RUN = 200
"""Seconds for all tests of one error."""
TO_CLEAN_UP = 20
PYTEST = ("-q", "-x", "-p", "no:cacheprovider", "--no-header", "--tb=no", f"--timeout={ONE_TEST}", "-o", "addopts=")


class Outcome(StrEnum):
    """What the tests made of an error."""

    KILLED = "killed"
    SURVIVED = "SURVIVED"
    INVALID = "INVALID"
    """The tests could not be run with it, or do not pass without it: that says nothing of them."""

    NOT_TRIED = "NOT TRIED"
    """The time was over."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of tests: pytest's exit code (None: out of time), how many passed, and the first failure."""

    code: int | None
    passed: int
    failure: str


@dataclass(slots=True)
class Clone:
    """A copy below `folder`, where ../shared is as beside the repository."""

    folder: Path
    _clock: Iterator[int] = field(default_factory=lambda: iter(range(1_000_000_000, 2_000_000_000, 10)))

    @property
    def root(self) -> Path:
        return self.folder / "mcpist"

    def make(self) -> None:
        """Copy what the tests need."""
        shutil.copytree(ROOT, self.root, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        if (ROOT / NODE_MODULES).exists():
            (self.root / NODE_MODULES).symlink_to(ROOT / NODE_MODULES)
        if (shared := ROOT.parent / "shared").exists():
            (self.folder / "shared").symlink_to(shared.resolve())

    def check(self) -> None:
        """The copy's code is what its tests import, although the installed package leads to the working tree."""
        program = "import core.db, cli; print(core.db.__file__, cli.__file__)"
        ran = subprocess.run(
            [sys.executable, "-c", program], cwd=self.folder, env=self._environment(), capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        assert all(Path(file).is_relative_to(self.root) for file in ran.stdout.split()), ran.stdout

    def tried(self, mutant: Mutant) -> Ran:
        """Run the mutant's tests with the error in place."""
        with self._mutated(mutant):
            return self.run(mutant)

    def run(self, mutant: Mutant) -> Ran:
        """Run its tests on the code as it is now."""
        only = ["-k", mutant.only] if mutant.only else []
        files = [f"tests/{file}" for file in mutant.tests]
        command = [sys.executable, "-m", "pytest", *PYTEST, "-m", "not long", *only, *files]
        process = subprocess.Popen(
            command, cwd=self.root, env=self._environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            out, _ = process.communicate(timeout=ONE_RUN)
        except subprocess.TimeoutExpired:
            out = _ended(process)
            return Ran(None, 0, "out of time")
        passed = re.search(r"(\d+) passed", out)
        failure = re.search(r"^(?:FAILED|ERROR) (\S+)", out, re.MULTILINE)
        said = failure[1] if failure else "" if process.returncode == 0 else out.strip()[-300:]
        return Ran(process.returncode, int(passed[1]) if passed else 0, said)

    @contextlib.contextmanager
    def _mutated(self, mutant: Mutant) -> Iterator[None]:
        path = self.root / mutant.file
        before = path.read_text("utf-8")
        self._write(path, mutant.applied(before))
        try:
            yield
        finally:
            self._write(path, before)

    def _write(self, path: Path, text: str) -> None:
        """Compiled code is taken for current by the file's size and its time in seconds, so each text has its own."""
        path.write_text(text, "utf-8")
        moment = next(self._clock)
        os.utime(path, (moment, moment))

    def _environment(self) -> dict[str, str]:
        """Processes that tests start import the copy, too; what this run is told is not for them."""
        own = ("PYTEST_", "MCPIST_", "PYTHONDONTWRITEBYTECODE")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        return {**inherited, "PYTHONPATH": str(self.root)}


def _ended(process: "subprocess.Popen[str]") -> str:
    """End a run that takes too long: by Ctrl-C, so that it stops the servers that it has started, else for good."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=TO_CLEAN_UP)[0]
    return ""


def outcome_of(ran: Ran) -> Outcome:
    """pytest's exit code 1 says that tests failed; every other but 0, that they could not be run."""
    if ran.code == 0:
        return Outcome.SURVIVED if ran.passed else Outcome.INVALID
    return Outcome.KILLED if ran.code in (1, None) else Outcome.INVALID


@contextlib.contextmanager
def clone(parent: Path, name: str) -> Iterator[Clone]:
    """A copy that is there while the block lasts. Other users may pass through: PostgreSQL is not run as root."""
    made = Clone(parent / name)
    made.folder.mkdir(mode=0o755)
    try:
        made.make()
        made.check()
        yield made
    finally:
        shutil.rmtree(made.folder, ignore_errors=True)


def now() -> float:
    """Seconds, for budgets."""
    return time.monotonic()
