"""A forked process is what an exec'd one would be. Where both can be asked, both are, and the answers are compared."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.fork_server import ForkedProcess, create_forked_process

TELL = """
import atexit, json, os, random, resource, signal, sys, threading
told = {
    "argv": sys.argv, "orig": sys.argv[0], "environment": dict(os.environ), "folder": os.getcwd(), "path": sys.path[0],
    "session": os.getsid(0) == os.getpid(), "group": os.getpgid(0) == os.getpid(), "parent": os.getppid(),
    "umask": os.umask(0), "files": sorted(os.listdir("/proc/self/fd")), "threads": threading.active_count(),
    "signals": [str(signal.getsignal(one)) for one in signal.valid_signals()],
    "mask": list(signal.pthread_sigmask(signal.SIG_BLOCK, [])), "limits": resource.getrlimit(resource.RLIMIT_NOFILE),
    "names": sorted(name for name in globals() if name not in ("_", "told")), "module": __name__,
    "main": sys.modules["__main__"].__dict__ is globals(),
    "streams": [
        [one.fileno(), one.encoding, one.errors, one.line_buffering, one.write_through, type(one.buffer).__name__]
        for one in (sys.stdin, sys.stdout, sys.stderr)
    ],
}
print(json.dumps(told))
"""
LEAVES = {
    "nothing": "pass",
    "text": "print('café')",
    "no newline, not flushed": "import sys; sys.stdout.write('half'); sys.stderr.write('other half')",
    "code": "raise SystemExit(7)",
    "large code": "raise SystemExit(1000)",
    "message": "import sys; print('out'); sys.exit('what to do')",
    "none": "raise SystemExit",
    "error": "print('before'); 1 / 0",
    "error in a function": "def f(): raise ValueError('never')\nf()",
    "syntax": "a b",
    "atexit": "import atexit; atexit.register(print, 'at exit'); raise SystemExit(3)",
    "error at exit": "import atexit; atexit.register(int, 'x')",
    "thread": "import threading, time; threading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start()",
    "interrupt": "raise KeyboardInterrupt",
    "interrupt and atexit": "import atexit; atexit.register(print, 'at exit'); raise KeyboardInterrupt",
    "signal": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "abort": "import os; os.abort()",
    "at once": "import os; print('lost'); os._exit(9)",
    "closed": "import os; print('into nothing'); os.close(1)",
    "input": "import sys; print(sys.stdin.read().upper())",
}
Start = Callable[..., "subprocess.Popen[bytes]"]


def run(start: Start, code: str, *arguments: str, **options: Any) -> tuple[int, bytes, bytes]:
    pipe = subprocess.PIPE
    with start([sys.executable, "-c", code, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, **options) as process:
        out, err = process.communicate(b"tea\r\n", timeout=30)
        return process.returncode, out, err


@pytest.mark.parametrize("code", LEAVES.values(), ids=LEAVES)
def test_it_ends_as_an_executed_one(code: str) -> None:
    """Exit code or signal, output, and the traceback but for one frame of the fork server's main program."""
    code_there, out_there, err_there = run(subprocess.Popen, code)
    code_here, out_here, err_here = run(ForkedProcess, code)
    assert (code_here, out_here) == (code_there, out_there)
    assert _without_frame(err_here) == _without_frame(err_there)


def _without_frame(traceback: bytes) -> bytes:
    head, frame = b"Traceback (most recent call last):\n", b'  File "<string>", line 1, in <module>\n'
    return traceback.replace(head, b"").replace(frame, b"")


def test_it_is_what_an_executed_one_is(tmp_path: Path) -> None:
    environment = {**os.environ, "ONLY": "here", "ODD": "\udcff"}
    options = {"cwd": tmp_path, "env": environment, "umask": 0o027, "start_new_session": True}
    executed, forked = (
        json.loads(run(start, TELL, "one", "two words", **options)[1]) for start in (subprocess.Popen, ForkedProcess)
    )
    assert forked == executed
    assert forked["argv"] == ["-c", "one", "two words"]
    assert forked["parent"] == os.getpid()


def test_without_options_it_has_what_the_test_process_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(ForkedProcess, "pass")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LATER", "than the fork server's start")
    for name in ("COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
        os.unsetenv(name)  # readline, which pytest imports, sets them behind os.environ
    before = os.umask(0o077)
    try:
        executed, forked = (json.loads(run(start, TELL)[1]) for start in (subprocess.Popen, ForkedProcess))
    finally:
        os.umask(before)
    assert forked == executed
    assert forked["folder"] == str(tmp_path)


def test_passed_descriptors_keep_their_numbers() -> None:
    reading, writing = os.pipe()
    code = f"import os; os.write({writing}, b'through'); print(sorted(map(int, os.listdir('/proc/self/fd'))))"
    status, out, err = run(ForkedProcess, code, pass_fds=[writing])
    os.close(writing)
    assert (status, err) == (0, b"")
    assert os.read(reading, 100) == b"through"
    os.close(reading)
    assert set(json.loads(out)) >= {0, 1, 2, writing}


def test_standard_streams_that_are_not_given_are_the_test_process_s(capfd: pytest.CaptureFixture[str]) -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr)"
    assert ForkedProcess([sys.executable, "-c", code]).wait(30) == 0
    assert capfd.readouterr() == ("out\n", "err\n")


def test_no_two_have_the_same_ids() -> None:
    code = (
        "import random, uuid; from core.audit import event; print(event._new_id().hex(), random.random(), uuid.uuid4())"
    )
    said = [run(ForkedProcess, code)[1].split() for _ in range(3)]
    assert all(len(set(column)) == 3 for column in zip(*said, strict=True))


def test_it_is_waited_for_and_sent_signals() -> None:
    with ForkedProcess([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
        assert process.poll() == -signal.SIGKILL


def test_modules_and_the_command() -> None:
    module = [sys.executable, "-m", "json.tool", "--help"]
    command = [str(Path(sys.executable).with_name("mcpist")), "--version"]
    for arguments in (module, command):
        executed, forked = (
            start(arguments, stdout=subprocess.PIPE).communicate(timeout=30)[0]
            for start in (subprocess.Popen, ForkedProcess)
        )
        assert forked == executed


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["/bin/sh", "-c", "tr '\\0' ' ' </proc/$$/cmdline"], {}),
        ([sys.executable, "-c", "print(open('/proc/self/cmdline').read())"], {"env": {"PYTHONHASHSEED": "1"}}),
        ([sys.executable, "-c", "print(open('/proc/self/cmdline').read())"], {"preexec_fn": os.getpid}),
    ],
    ids=["another program", "another start of Python", "code before it"],
)
def test_what_a_fork_cannot_give_is_executed(arguments: list[str], options: dict[str, Any]) -> None:
    with ForkedProcess(arguments, stdout=subprocess.PIPE, **options) as process:
        out, _ = process.communicate(timeout=30)
    assert b"cmdline" in out
    assert b"fork_server" not in out


async def test_under_asyncio() -> None:
    pipe = asyncio.subprocess.PIPE
    code = "import sys; print(sys.argv[1]); print(input(), file=sys.stderr); sys.exit(5)"
    process = await create_forked_process(sys.executable, "-c", code, "tea", stdin=pipe, stdout=pipe, stderr=pipe)
    assert await process.communicate(b"milk\n") == (b"tea\n", b"milk\n")
    assert process.returncode == 5
    process = await create_forked_process(sys.executable, "-c", "import signal; signal.pause()")
    process.terminate()
    assert await process.wait() == -signal.SIGTERM


def test_the_fork_server_ends_with_a_killed_test_process() -> None:
    """What it forked goes on, as what is executed does."""
    code = (
        "import os, signal, sys; from tests.support.fork_server import ForkedProcess, _fork_server\n"
        "forked = ForkedProcess([sys.executable, '-c', 'input()'], stdin=0)\n"
        "print(_fork_server()._process.pid, forked.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    folder = Path(__file__).parents[2]
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], cwd=folder, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        server, forked = map(int, process.stdout.readline().split())
        with os.fdopen(os.pidfd_open(forked)) as there, os.fdopen(os.pidfd_open(server)) as gone:
            assert process.wait(30) == -signal.SIGKILL
            assert _ends(gone.fileno(), 10)
            assert not _ends(there.fileno(), 0)
            assert process.stdin is not None
            process.stdin.close()
            assert _ends(there.fileno(), 10)


def _ends(pidfd: int, seconds: float) -> bool:
    return bool(select.select([pidfd], [], [], seconds)[0])
