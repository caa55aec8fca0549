"""The check that no refresh token is shown twice: whoever does it fails by name, also in xdist's workers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.reuse import Reuses

ROOT = Path(__file__).resolve().parents[2]
SUITE = """
import pytest
from tests.support.reuse import REUSES

COUNT = [0]

@pytest.fixture(scope="module", autouse=True)
def vendor():
    with REUSES.counted("a vendor", lambda: COUNT[0]):
        yield

def test_shows_one_token_once(): ...
def test_shows_one_token_twice(): COUNT[0] += 1
@pytest.mark.reuse("to see what happens")
def test_shows_one_token_twice_on_purpose(): COUNT[0] += 1
def test_shows_one_token_once_again(): ...
"""


def ran(folder: Path, text: str, *options: str) -> tuple[int, str]:
    (folder / "conftest.py").write_text('pytest_plugins = ("tests.support.reuse_plugin",)\n')
    (folder / "test_made_up.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "xdist", "--rootdir", folder, *options]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([*command, folder], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.guarantee("G2")
def test_whoever_shows_a_token_twice_fails_by_name(tmp_path: Path) -> None:
    code, said = ran(tmp_path, SUITE, "-n", "2", "--dist", "loadfile")
    assert code == 1, said
    assert "4 passed, 1 error" in said
    assert "test_made_up.py::test_shows_one_token_twice showed a spent refresh token to a vendor (a vendor: 1)" in said


def test_a_marker_has_to_say_why(tmp_path: Path) -> None:
    code, said = ran(tmp_path, "import pytest\n@pytest.mark.reuse\ndef test_something(): ...\n")
    assert code != 0
    assert "needs a reason" in said


def test_what_a_counterpart_counted_is_known_after_its_end_and_only_once() -> None:
    reuses, count = Reuses(), 0
    with reuses.counted("one", lambda: count), reuses.counted("two", lambda: 0):
        count = 2
        assert reuses.taken() == {"one": 2}
        assert reuses.taken() == {}
        count = 3
    assert reuses.taken() == {"one": 1}
