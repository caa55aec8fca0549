"""Logs of jobs, from their end."""

from typing import Any

import pytest
from pydantic import ValidationError

from modules.github.job_logs import PAGE_BYTES
from modules.kit import ToolError, VendorProblem
from modules.kit.cursors import encode_cursor
from tests.modules.github.conftest import GitHubApp
from tests.support.github_double.file_store import LargeFile
from tests.support.github_double.parts import Job
from tests.support.github_double.world import Run

APP = {"owner": "mona", "repo": "app"}
JOB = {**APP, "job_id": 71}


@pytest.fixture
def app(session_app: GitHubApp) -> GitHubApp:
    at = session_app.app.created
    run = Run(7, "Build", "main", "0" * 40, "push", "completed", "failure", "mona", at)
    run.jobs.append(Job(71, "test", "completed", "failure", at, at))
    session_app.app.runs.append(run)
    return session_app


def write(app: GitHubApp, log: bytes | LargeFile | None) -> None:
    app.app.runs[0].jobs[0].log = log


async def read_all(app: GitHubApp, **more: Any) -> list[str]:
    """All pages, the last of the log first."""
    texts: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        page = await app.mona.call("get_job_logs", **JOB, **more, **cursor)
        texts.append(page["text"])
        if "nextCursor" not in page:
            return texts
        cursor = {"cursor": page["nextCursor"]}


async def test_a_short_log_is_read_whole(app: GitHubApp) -> None:
    log = (
        "\ufeff2026-01-01T00:00:00.1234567Z ##[group]Test\r\n2026-01-01T00:00:01.0Z \x1b[36;1mpytest\x1b[0m\r\n"
        "2026-01-01T00:00:02.0000000Z ##[error]失敗 \u202e2026-01-01T00:00:00Z\r\n"
    ).encode()
    write(app, log)
    assert await app.mona.call("get_job_logs", **JOB) == {
        "size": len(log), "text": "##[group]Test\npytest\n##[error]失敗 2026-01-01T00:00:00Z\n",
    }  # fmt: skip
    found = await app.mona.call("get_job_logs", **JOB, timestamps=True)
    assert found["text"].splitlines()[1] == "2026-01-01T00:00:01.0Z pytest"


@pytest.mark.parametrize("tells_sizes", [True, False])
async def test_the_last_lines_and_those_before(app: GitHubApp, *, tells_sizes: bool) -> None:
    app.github.store.tells_sizes = tells_sizes
    log = "".join(f"line {n:05} 日本語 {'x' * (n % 60)}\n" for n in range(3_000))
    write(app, log.encode())
    pages = await read_all(app, tail_lines=5_000)
    assert len(pages) == 3
    assert "".join(reversed(pages)) == log, "nothing is lost between two pages"
    assert all(page.startswith("line ") for page in pages)
    some = await app.mona.call("get_job_logs", **JOB, tail_lines=2)
    assert some["text"] == "".join(log.splitlines(keepends=True)[-2:])
    before = await app.mona.call("get_job_logs", **JOB, tail_lines=1, cursor=some["nextCursor"])
    assert before["text"].startswith("line 02997 ")


@pytest.mark.parametrize(
    ("log", "pages"),
    [
        (b"", [""]),
        (b"\n", ["\n"]),
        (b"one", ["one"]),
        (b"one\ntwo", ["two", "one\n"]),
        (b"one\n\n", ["\n", "one\n"]),
        (b"x" * 100_000, ["x" * 65_536, "x" * 34_464]),
        (b"a\n" + b"x" * 70_000, ["x" * 65_536, "x" * 4_464, "a\n"]),
    ],
)
async def test_logs_of_odd_forms(app: GitHubApp, log: bytes, pages: list[str]) -> None:
    write(app, log)
    assert await read_all(app, tail_lines=1) == pages


async def test_there_is_no_log(app: GitHubApp) -> None:
    write(app, None)
    with pytest.raises(VendorProblem, match="GitHub has deleted the log") as caught:
        await app.mona.call("get_job_logs", **JOB)
    assert caught.value.kind == "not_found"
    app.app.runs[0].jobs[0].completed = None
    with pytest.raises(VendorProblem, match="no such job, or it has no log: GitHub writes it when the job ends"):
        await app.mona.call("get_job_logs", **JOB)
    with pytest.raises(VendorProblem, match="no such job, or it has no log"):
        await app.eve.call("get_job_logs", owner="mona", repo="secret", job_id=71)


async def test_a_cursor_of_another_log(app: GitHubApp) -> None:
    write(app, b"one\ntwo\n")
    cursor = (await app.mona.call("get_job_logs", **JOB, tail_lines=1))["nextCursor"]
    write(app, b"one\ntwo\nthree\n")
    with pytest.raises(ToolError, match="the log has changed since the page before"):
        await app.mona.call("get_job_logs", **JOB, cursor=cursor)
    app.github.seen.clear()
    for forged in (
        ["log", 0, 5], ["log", 9, 5], ["log", -1, 5], ["log", True, 5], ["log", 1.5, 5], [4, 8], ["log", 1, 10**12], {}
    ):  # fmt: skip
        with pytest.raises(ToolError, match="cursor was not returned by this tool"):
            await app.mona.call("get_job_logs", **JOB, cursor=encode_cursor(forged))
    for lines in (0, 5_001, "5"):
        with pytest.raises(ValidationError, match="tail_lines"):
            await app.mona.call("get_job_logs", **JOB, tail_lines=lines)
    assert app.github.seen == []


async def test_a_long_log_is_never_held_whole(app: GitHubApp) -> None:
    """Of a store that does not tell sizes the log is read to its end, once for its size and once for its last lines."""
    store = app.github.store
    store.tells_sizes = False
    log = b"one line of a long log\n" * 900_000
    write(app, log)
    page = await app.mona.call("get_job_logs", **JOB, tail_lines=1)
    assert (page["size"], page["text"]) == (len(log), "one line of a long log\n")
    assert sum(store.asked) < 2 * PAGE_BYTES, "what is asked for is what is kept"
    assert store.sent_bytes < 2.5 * len(log)


async def test_a_log_of_a_gigabyte(app: GitHubApp) -> None:
    store = app.github.store
    write(app, LargeFile(10**9))
    page = await app.mona.call("get_job_logs", **JOB)
    assert (page["size"], len(page["text"])) == (10**9, PAGE_BYTES)
    store.tells_sizes = False
    with pytest.raises(ToolError, match="the log is too long to be read here"):
        await app.mona.call("get_job_logs", **JOB)
    assert sum(store.asked) < 2 * PAGE_BYTES
    assert store.sent_bytes < 100 * 2**20
