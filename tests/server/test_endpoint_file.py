"""A killed product leaves its endpoint file behind: it names nobody, even where another program has got its number."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.endpoint_file import ENDPOINT_FILE, announce_server, find_running_server

URL = "http://127.0.0.1:1/mcp"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="start times of processes are Linux's")


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    """The file of a product that runs: this process."""
    with announce_server(tmp_path, URL):
        found = find_running_server(tmp_path)
        assert found is not None
        assert found.mcp_url == URL
        text = (tmp_path / ENDPOINT_FILE).read_text()
    assert find_running_server(tmp_path) is None, "it has ended in order"
    return json.loads(text)


@pytest.fixture
def another() -> Iterator[int]:
    """The number of another program that runs."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process.pid
        process.kill()


def is_found(folder: Path, document: dict[str, Any]) -> bool:
    (folder / ENDPOINT_FILE).write_text(json.dumps(document))
    return find_running_server(folder) is not None


def test_a_number_that_another_program_has_now(tmp_path: Path, document: dict[str, Any], another: int) -> None:
    assert is_found(tmp_path, document)
    assert not is_found(tmp_path, document | {"pid": another})
    assert not is_found(tmp_path, document | {"started": str(int(document["started"]) - 1)}), "in a container"


def test_a_number_that_nobody_has(tmp_path: Path, document: dict[str, Any]) -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert not is_found(tmp_path, document | {"pid": process.pid})


def test_the_file_of_the_version_before(tmp_path: Path, document: dict[str, Any]) -> None:
    del document["started"]
    assert is_found(tmp_path, document)
