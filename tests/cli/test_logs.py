"""`mcpist logs`: what was logged, chosen and readable; of a data folder, of a file, and of a pipe."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from core.observability.log_file import LogFile, get_log_path
from tests.cli.conftest import LONG, Home, new_home, running
from tests.support.running_product import hear_command

EARLY, LATE = "2026-11-01T10:00:00Z", "2026-11-02T10:00:00Z"
CALL: dict[str, Any] = {
    "timestamp": LATE, "operation": "tool_run", "request_id": "r-2", "tool_name": "notion.search_pages",
    "parameters": "d1g3st", "response_time_ms": 12.5, "success": True, "error": None, "pid": 7,
}  # fmt: skip
LINES: list[dict[str, Any]] = [
    {"timestamp": EARLY, "level": "info", "logger": "a", "message": "started", "event": "server_started", "pid": 7},
    {
        "timestamp": EARLY, "level": "warning", "logger": "b", "message": "broker requests fail", "pid": 7,
        "event": "broker_unavailable", "request_id": "r-1", "cause": "TimeoutError",
    },
    {
        "timestamp": LATE, "level": "error", "logger": "c", "message": "failed", "pid": 7,
        "event": "call_failed", "request_id": "r-2",
        "exception": [{"type": "OSError", "at": ["core/x.py:3", "core/y.py:4"]}],
    },
    CALL,
    {**CALL, "request_id": "r-3", "success": False, "error": "vendor_error"},
]  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, 1)


@pytest.fixture
def log(home: Home) -> Path:
    """A log with ``LINES``."""
    path = get_log_path(home.path)
    LogFile(path).write("".join(f"{json.dumps(line)}\n" for line in LINES).encode())
    return path


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ((), [0, 1, 2, 3, 4]),
        (("--level", "warning"), [1, 2, 4]),
        (("--level", "error"), [2]),
        (("--event", "broker_unavailable"), [1]),
        (("--event", "tool_run"), [3, 4]),
        (("--request", "r-2"), [2, 3]),
        (("--request", "r-2", "--level", "error"), [2]),
        (("--since", "2026-11-02T00:00:00+00:00"), [2, 3, 4]),
        (("--lines", "2"), [3, 4]),
        (("--lines", "1", "--event", "broker_unavailable"), [1]),
        (("--lines", "0"), [0, 1, 2, 3, 4]),
        (("--event", "nothing"), []),
    ],
)
def test_lines_are_chosen(options: tuple[str, ...], shown: list[int], home: Home, log: Path) -> None:
    ended = home.run("logs", *options, "--json")
    assert (ended.code, ended.err) == (0, "")
    assert [json.loads(line) for line in ended.out.splitlines()] == [LINES[number] for number in shown]


def test_people_can_read_them(home: Home, log: Path) -> None:
    shown = home.run("logs").out.splitlines()
    told = [re.sub(r"^2026-11-0[123] \d\d:\d\d:00 ", "", line) for line in shown]
    assert told == [
        "INFO    server_started: started",
        "WARNING broker_unavailable: broker requests fail request_id=r-1 cause=TimeoutError",
        "ERROR   call_failed: failed request_id=r-2",
        "    OSError at core/x.py:3 < core/y.py:4",
        "CALL    notion.search_pages ok 12.5 ms request_id=r-2",
        "CALL    notion.search_pages vendor_error 12.5 ms request_id=r-3",
    ]


@pytest.mark.no_canary("a log line of an attacker's")
def test_a_value_forges_no_line_and_controls_no_terminal(home: Home, log: Path) -> None:
    hostile = {**LINES[0], "message": "a\nERROR forged", "cause": "\x1b[2J\r"}
    LogFile(log).write(f"{json.dumps(hostile)}\n".encode())
    last = home.run("logs", "--lines", "1").out
    assert last.count("\n") == 1
    assert last.isprintable() or last[:-1].isprintable()


def test_older_files_come_first(home: Home) -> None:
    path = get_log_path(home.path)
    file = LogFile(path, max_bytes=2000)
    for number in range(60):
        file.write(f"{json.dumps({**LINES[0], 'number': number})}\n".encode())
    assert path.with_name("mcpist.log.2").exists()
    numbers = [json.loads(line)["number"] for line in home.run("logs", "--json").out.splitlines()]
    assert numbers == list(range(numbers[0], 60))
    assert len(numbers) > 30


def test_it_follows_into_a_file_that_is_begun_meanwhile(home: Home, log: Path) -> None:
    with home.start("logs", "--follow", "--json", "--event", "server_started") as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == LINES[0]
        file = LogFile(log, max_bytes=600)
        for number in range(25):
            file.write(f"{json.dumps({**LINES[0], 'number': number})}\n".encode())
            assert json.loads(process.stdout.readline())["number"] == number
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LONG)
    assert (process.returncode, out, b"Traceback" in err) == (130, b"", False)


def test_a_pipe_of_a_collector_is_read_with_its_prefixes(home: Home) -> None:
    given = [f"gateway-1  | {json.dumps(LINES[1])}", "postgres-1  | LOG: checkpoint", "", json.dumps(LINES[4])]
    ended = home.process("logs", "-", given="\n".join(given).encode())
    assert ended.code == 0
    first, plain, empty, last = ended.out.splitlines()
    assert first.startswith("gateway-1  | 2026-11-0")
    assert "WARNING broker_unavailable" in first
    assert (plain, empty) == ("postgres-1  | LOG: checkpoint", "")
    assert "CALL    notion.search_pages vendor_error" in last
    chosen = home.process("logs", "-", "--level", "warning", given="\n".join(given).encode())
    assert len(chosen.out.splitlines()) == 2


def test_where_there_is_none_it_says_where_logs_are(home: Home) -> None:
    error = home.run("logs", "--json").error()
    assert error["code"] == "not_found"
    for command in ("journalctl", "docker compose logs", "kubectl logs"):
        assert command in error["message"]
    assert "cannot be read" in home.run("logs", str(home.path), "--json").error()["message"]


def test_at_a_server_it_is_refused(home: Home) -> None:
    ended = home.run("--server", "https://mcp.example.com", "logs")
    assert ended.code != 0
    assert "https://mcp.example.com" not in ended.out


@pytest.fixture(scope="module")
def used() -> Iterator[tuple[Home, str]]:
    """A data folder whose product has answered a call, and what was on its standard error."""
    with new_home() as home, running(home) as product:
        arguments = {"module": "knowledge_graph", "tool_name": "read_graph", "params": {}}
        params = {"name": "call", "arguments": arguments}
        answer = httpx2.post(
            product.ready["mcp_url"],
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
            headers={
                "Authorization": f"Bearer {product.ready['api_token']}",
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": "2025-11-25",
            },
            trust_env=False,
        )
        assert answer.status_code == 200, answer.text
        yield home, product.stop().err


def test_the_log_of_the_product_is_that_of_its_standard_error(used: tuple[Home, str]) -> None:
    home, err = used
    kept = home.run("logs", "--lines", "0", "--json").out.splitlines()
    assert sorted(kept) == sorted(err.splitlines())
    (call,) = (json.loads(line) for line in kept if '"tool_run"' in line)
    assert call["tool_name"] == "knowledge_graph.read_graph"
    of_call = home.run("logs", "--request", call["request_id"]).out
    assert "knowledge_graph.read_graph ok" in of_call


def test_the_log_can_be_turned_off() -> None:
    with new_home() as made:
        home = Home(made.path, made.port, {"MCPIST_LOG_FILE": "no"})
        with running(home) as product:
            hear_command(("up",), b"", product.stop().err.encode())
        assert not get_log_path(home.path).exists()
