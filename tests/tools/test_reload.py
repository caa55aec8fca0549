"""`make dev`: the product is started anew by a change of its code or of a page, on the same data folder."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from typing import IO

import httpx2
import pytest

from tests.support.eventually import within
from tests.support.running_product import START_SECONDS, data_folder, environment, free_port, read_ready
from tools.reload import FOLDERS, list_changes, take_snapshot

ROOT = Path(__file__).resolve().parents[2]
CHANGES, SERVED_SECONDS = 5, 2.0
SKIPPED = shutil.ignore_patterns("__pycache__", "console", "console_dist", "node_modules")


def copy_clone(folder: Path) -> Path:
    """A copy of the product's sources and of this tool."""
    for name in (*FOLDERS, "tools"):
        shutil.copytree(ROOT / name, folder / name, ignore=SKIPPED)
    return folder


def change(path: Path, old: str, new: str) -> None:
    """As an editor does: a new file in the place of the old one."""
    text = path.read_text()
    assert old in text
    temporary = path.with_suffix(".swp")
    temporary.write_text(text.replace(old, new))
    temporary.replace(path)


@contextlib.contextmanager
def reloading(clone: Path, home: Path, port: int) -> Iterator["Queue[bytes]"]:
    """The tool on a copy; the lines of its products."""
    variables = {**environment(home, port), "PYTHONDONTWRITEBYTECODE": ""}
    with (clone / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tools.reload", "--json"], cwd=clone, env=variables,
            stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    assert process.stdout is not None
    lines: Queue[bytes] = Queue()
    reader = threading.Thread(target=_pass_on, args=(process.stdout, lines), daemon=True)
    reader.start()
    try:
        yield lines
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=START_SECONDS) == 0
        reader.join(timeout=START_SECONDS)
        process.stdout.close()


def _pass_on(stream: IO[bytes], lines: "Queue[bytes]") -> None:
    for line in stream:
        lines.put(line)


@pytest.mark.timeout(180)
@pytest.mark.long
async def test_changes_of_code_and_pages_are_served_on_the_same_data_folder(tmp_path: Path) -> None:
    clone, port = copy_clone(tmp_path / "clone"), free_port()
    with data_folder() as home, reloading(clone, home, port) as lines:
        token = read_ready(lines.get(timeout=START_SECONDS))["api_token"]
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False) as http:
            assert (await http.get("/healthz")).json() == {"alive": True}

            change(clone / "server" / "health.py", '{"alive":true}', '{"alive":"anew"}')
            assert "api_token" not in json.loads(lines.get(timeout=START_SECONDS)), "it is the same data folder"
            assert (await http.get("/healthz")).json() == {"alive": "anew"}
            assert (await http.get("/api/v1/me")).status_code == 200, "so the token is still one"

            change(clone / "broker" / "web" / "templates" / "sign_in.html", "{% block content %}",
                   "{% block content %}<p>changed by a test</p>")  # fmt: skip
            lines.get(timeout=START_SECONDS)
            assert "changed by a test" in (await http.get("/sign-in")).text

            # A mistake ends the product, and its correction starts it.
            change(clone / "server" / "health.py", "def build_health_routes(", "def build_health_routes((")
            await within(START_SECONDS, lambda: _is_told(clone, "waiting for a change"))
            change(clone / "server" / "health.py", "def build_health_routes((", "def build_health_routes(")
            lines.get(timeout=START_SECONDS)
            assert (await http.get("/healthz")).status_code == 200
        assert lines.empty(), "one start for each change"
    told = (clone / "log").read_text()
    assert "server/health.py has changed" in told
    assert "broker/web/templates/sign_in.html has changed" in told
    assert not (home / "endpoint.json").exists(), "the last one was ended in order"


@pytest.mark.long
@pytest.mark.timeout(180)
async def test_a_change_is_served_within_two_seconds(tmp_path: Path) -> None:
    """Of docs/dev/console.md. The best of some: a busy machine only takes longer."""
    clone, port = copy_clone(tmp_path / "clone"), free_port()
    taken: list[float] = []
    with data_folder() as home, reloading(clone, home, port) as lines:
        read_ready(lines.get(timeout=START_SECONDS))
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
            said = "true"
            for number in range(CHANGES):
                began = time.monotonic()
                change(clone / "server" / "health.py", f'{{"alive":{said}}}', f'{{"alive":{number}}}')
                said = str(number)
                lines.get(timeout=START_SECONDS)
                assert (await http.get("/healthz")).json() == {"alive": number}
                taken.append(time.monotonic() - began)
    assert min(taken) < SERVED_SECONDS, taken


async def _is_told(clone: Path, text: str) -> bool:
    return text in (clone / "log").read_text()


def test_what_is_looked_at(tmp_path: Path) -> None:
    clone = copy_clone(tmp_path)
    before = take_snapshot(clone)
    (clone / "core" / "__pycache__").mkdir()
    (clone / "core" / "__pycache__" / "x.py").write_text("")
    (clone / "core" / "notes.txt").write_text("")
    assert not list_changes(before, take_snapshot(clone))
    made, removed = clone / "core" / "made.py", clone / "core" / "errors.py"
    made.write_text("")
    removed.unlink()
    touched = clone / "broker" / "web" / "locales" / "ja.json"
    os.utime(touched)
    assert list_changes(before, take_snapshot(clone)) == sorted([made, removed, touched])
