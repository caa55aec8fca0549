"""The log of a data folder: bounded, private, whole lines from several processes, and never in anybody's way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.observability.log_file import LogFile, get_log_path, is_log_kept, list_log_files

WRITER = """
import sys
from pathlib import Path
from core.observability.log_file import LogFile
file = LogFile(Path(sys.argv[1]), max_bytes=int(sys.argv[3]), files=int(sys.argv[4]))
for number in range(2000):
    file.write(f"{sys.argv[2]} {number} {'x' * (number % 90)} end\\n".encode())
"""


def read_lines(path: Path, files: int) -> list[str]:
    found = [file for file in list_log_files(path, files) if file.exists()]
    return [line for file in found for line in file.read_text().splitlines()]


def test_the_newest_lines_are_kept_within_bounds_and_are_their_owners_alone(tmp_path: Path) -> None:
    path = get_log_path(tmp_path)
    file = LogFile(path, max_bytes=1000, files=3)
    written = [f"line {number}" for number in range(1000)]
    for line in written:
        file.write(f"{line}\n".encode())
    file.close()
    kept = read_lines(path, 3)
    assert kept == written[-len(kept) :]
    assert 2000 < sum(one.stat().st_size for one in path.parent.iterdir()) <= 3 * (1000 + 10)
    assert len([*path.parent.iterdir()]) == 3
    assert all(one.stat().st_mode & 0o777 == 0o600 for one in path.parent.iterdir())
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_processes_that_write_and_rename_together_lose_and_tear_nothing(tmp_path: Path) -> None:
    path = get_log_path(tmp_path)
    limits = ("20000", "60")
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, name, *limits], cwd=Path(__file__).parents[3]) for name in "abc"]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    lines = [line.split(" ") for line in read_lines(path, 60)]
    assert all((len(words), words[-1]) == (4, "end") for words in lines)
    for name in "abc":
        assert [int(words[1]) for words in lines if words[0] == name] == list(range(2000))
    assert len([*path.parent.iterdir()]) > 5, "it was renamed often"


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """The first start makes the data folder itself, with the rights that it checks."""
    file = LogFile(get_log_path(tmp_path / "home"))
    file.write(b"lost\n")
    assert not (tmp_path / "home").exists()
    (tmp_path / "home").mkdir()
    file.write(b"kept\n")
    assert get_log_path(tmp_path / "home").read_text() == "kept\n"


def test_what_cannot_be_written_is_lost_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file")
    LogFile(get_log_path(tmp_path)).write(b"lost\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("")
    (tmp_path / "other" / "logs").mkdir(parents=True)
    get_log_path(tmp_path / "other").symlink_to(elsewhere)
    LogFile(get_log_path(tmp_path / "other")).write(b"not there\n")
    assert elsewhere.read_text() == "", "a link is not followed"


@pytest.mark.parametrize(("choice", "kept"), [("yes", True), ("no", False), ("auto", True)])
def test_whether_it_is_kept(choice: str, kept: bool, tmp_path: Path) -> None:
    with (tmp_path / "stderr").open("w") as stream:
        status = os.fstat(stream.fileno())
        journal = {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}
        assert is_log_kept(choice, {}, stream.fileno()) is kept
        # A shell below a unit has the variable too, but another standard error.
        assert is_log_kept(choice, {"JOURNAL_STREAM": "1:1"}, stream.fileno()) is kept
        assert is_log_kept(choice, journal, stream.fileno()) is (choice == "yes")
