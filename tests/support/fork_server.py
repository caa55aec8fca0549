"""Processes of the product that are forked instead of started: Python and its imports cost each start most of a second.

    with ForkedProcess([sys.executable, "-c", "from cli import main; main()", "up"], stdout=subprocess.PIPE) as process:
    process = await create_forked_process(str(MCPIST), "up", stdout=asyncio.subprocess.PIPE)

Both take what Popen takes and give what it gives: the process is a child of this one. It comes from the fork server,
one per test process, which has imported the product and has neither threads nor sockets besides the one to us. What a
fork cannot give (another user, another encoding; see `_find_request`) is started as ever, by exec.

What still tells them apart: `/proc/PID/cmdline` is the fork server's, more modules are imported than the command needs,
and all have the same seed of `hash()`. Tests of starting, of imports and of memory start processes by exec.
"""

import asyncio
import asyncio.subprocess
import asyncio.unix_events
import atexit
import contextlib
import ctypes
import fcntl
import functools
import gc
import importlib
import inspect
import io
import itertools
import json
import os
import pkgutil
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("core", "broker", "admin_ui", "gateway", "jobs", "modules", "search", "server", "cli")
LATE = (
    "alembic.command", "alembic.config", "asyncpg", "encodings.idna", "greenlet", "rich.table",
    "sqlalchemy.dialects.postgresql.asyncpg", "sqlalchemy.ext.asyncio", "typer.rich_utils", "uvicorn", "uvloop",
    "tests.support.toy_vendor",
)  # fmt: skip
"""What a running product imports in its functions, and the shop of :mod:`tests.support.shop_program`."""

READ_BY_IMPORTS = ("LANG", "LC_", "LD_", "MALLOC_", "OPENSSL_", "OTEL_", "PYTHON", "SSL_", "TZ")
"""Beginnings of variables that Python, the C library or a module reads once."""

_SERVE = "with __import__('tests.support.fork_server', fromlist=['Main']).Main() as _: exec(_)"
_PR_SET_CHILD_SUBREAPER = 36
_LENGTH = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class _Request:
    """What a forked process becomes. `targets` are the numbers that the passed descriptors get."""

    code: str
    argv: list[str]
    path: str
    """What stands first in sys.path."""

    environment: dict[str, str]
    folder: str
    umask: int
    new_session: bool
    process_group: int
    targets: list[int]


# --- In the test process ---------------------------------------------------------------------------------------------


class ForkedProcess(subprocess.Popen[Any]):
    """Popen for `[sys.executable, "-c" or "-m", …]` and for `mcpist` itself, forked where that can be."""

    def _execute_child(self, *given: Any) -> None:
        options = dict(zip(_PARAMETERS, given, strict=True))
        request = _find_request(options)
        if request is None:
            super()._execute_child(*given)  # pyright: ignore[reportAttributeAccessIssue]
            return
        pipes = [options[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")]
        ours = [own if own != -1 else number for number, own in enumerate((pipes[0], pipes[3], pipes[5]))]
        try:
            self.pid = _fork_server().fork(request, [*ours, *request.targets[3:]])
            self._child_created = True
        finally:
            self._close_pipe_fds(*pipes)  # pyright: ignore[reportAttributeAccessIssue]


_PARAMETERS = list(inspect.signature(subprocess.Popen._execute_child).parameters)[1:]  # pyright: ignore


class _ForkedTransport(asyncio.unix_events._UnixSubprocessTransport):  # pyright: ignore
    """What asyncio holds a process by, with ForkedProcess where it has Popen."""

    def _start(
        self, args: Any, shell: bool, stdin: Any, stdout: Any, stderr: Any, bufsize: int, **options: Any
    ) -> None:
        self._proc = ForkedProcess(args, stdin=stdin, stdout=stdout, stderr=stderr, bufsize=bufsize, **options)


async def create_forked_process(*arguments: str, **options: Any) -> asyncio.subprocess.Process:
    """asyncio.create_subprocess_exec, by a fork."""
    if sys.version_info >= (3, 12):  # its child watchers are no longer to be asked for
        return await asyncio.create_subprocess_exec(*arguments, **options)
    loop = asyncio.get_running_loop()
    protocol = asyncio.subprocess.SubprocessStreamProtocol(limit=2**16, loop=loop)
    pipes = [options.pop(name, None) for name in ("stdin", "stdout", "stderr")]
    ready = loop.create_future()
    transport = _ForkedTransport(loop, protocol, arguments, False, *pipes, 0, waiter=ready, **options)

    def ended(_pid: int, code: int) -> None:
        # One round later, so that what the pipes hold is read before.
        loop.call_soon_threadsafe(loop.call_soon, transport._process_exited, code)

    with asyncio.get_child_watcher() as watcher:
        watcher.add_child_handler(transport.get_pid(), ended)
    await ready
    return asyncio.subprocess.Process(transport, protocol, loop)


def _find_request(options: Mapping[str, Any]) -> _Request | None:
    """What to ask the fork server for, or None where only an exec gives what these options of Popen ask for."""
    environment = dict(os.environ if options["env"] is None else options["env"])
    unusual = ("executable", "preexec_fn", "shell", "gid", "gids", "uid")
    is_usual = options["close_fds"] and options["restore_signals"] and not any(options[name] for name in unusual)
    program = _find_program(options["args"])
    if sys.platform != "linux" or not is_usual or program is None or read_once(environment) != read_once(os.environ):
        return None
    code, argv, path = program
    umask = options["umask"] if options["umask"] >= 0 else _read_umask()
    folder = os.fspath(options["cwd"] or os.getcwd())
    group = -1 if options["process_group"] is None else options["process_group"]
    targets = [0, 1, 2, *sorted(options["pass_fds"])]
    return _Request(
        code, argv, path, environment, str(folder), umask, bool(options["start_new_session"]), group, targets
    )


def _find_program(arguments: Any) -> tuple[str, list[str], str] | None:
    """The code, sys.argv and first entry of sys.path of a Python program; None for any other."""
    match [os.fspath(one) for one in arguments]:
        case [sys.executable, "-c", code, *rest]:
            return code, ["-c", *rest], ""
        case [sys.executable, "-m", module, *rest]:
            code = f"import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
            return code, ["-m", *rest], os.getcwd()
        case [script, *rest] if script == str(Path(sys.executable).with_name("mcpist")):
            return "import sys; from cli import main; sys.exit(main())", [script, *rest], str(Path(script).parent)
        case _:
            return None


def read_once(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of which a forked process has to have what this one has."""
    return {name: value for name, value in environment.items() if name.startswith(READ_BY_IMPORTS)}


def _read_umask() -> int:
    """This process's, without the moment in which os.umask would have it changed."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1], 8) for line in lines if line.startswith("Umask:"))


class _ForkServer:
    """The helper process, and how to ask it. It ends with this process, however that ends."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _SERVE, str(theirs.fileno())],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self._end)

    def fork(self, request: _Request, descriptors: Sequence[int]) -> int:
        """The id of the new process, which is a child of this one.

        Raises:
            ConnectionError: the fork server has ended.
        """
        body = json.dumps(asdict(request)).encode()
        with self._turn, _adopting():
            socket.send_fds(self._channel, [_LENGTH.pack(len(body))], descriptors)
            self._channel.sendall(body)
            return _LENGTH.unpack(_receive(self._channel, _LENGTH.size))[0]

    def _end(self) -> None:
        self._channel.close()
        self._process.wait()


@functools.cache
def _fork_server() -> _ForkServer:
    return _ForkServer()


@contextlib.contextmanager
def _adopting() -> Any:
    """Be the parent of what loses its parent below us: the fork server forks twice, so that we can wait for the second.
    Not for longer: orphans of killed products are init's to reap."""
    control = ctypes.CDLL(None).prctl
    control(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        control(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _receive(channel: socket.socket, count: int) -> bytes:
    """So many bytes.

    Raises:
        ConnectionError: the other side has ended.
    """
    received = b""
    while len(received) < count:
        part = channel.recv(count - len(received))
        if not part:
            raise ConnectionError("the other side of the fork server's socket has ended")
        received += part
    return received


# --- In the fork server ----------------------------------------------------------------------------------------------


class Main:
    """The main program of the fork server and of the processes that it forks, which run their code where `python -c`
    has it, and end as that does.

    Only the interpreter is not taken apart at the end, which would take longer than most commands: it goes through
    all that is imported.
    """

    def __init__(self) -> None:
        self._status: int | None = None

    def __enter__(self) -> str:
        """Fork on request until the test process has ended. Returns in a forked process: the code that it runs."""
        atexit.register(self._exit)  # before all others: it runs after them
        _import_product()
        return _serve(socket.socket(fileno=int(sys.argv[1])))

    def __exit__(self, kind: object, error: BaseException | None, *_: object) -> None:
        """Note the exit code. A KeyboardInterrupt has none: Python ends itself by the signal then."""
        if isinstance(error, SystemExit):
            code = error.code
            self._status = code & 0xFF if isinstance(code, int) else int(code is not None)
        elif not isinstance(error, KeyboardInterrupt):
            self._status = int(error is not None)

    def _exit(self) -> None:
        if self._status is not None:
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except (OSError, ValueError):
                    return  # Python says so, and exits with 120
            os._exit(self._status)


def _serve(channel: socket.socket) -> str:
    assert len(os.listdir("/proc/self/task")) == 1, "a thread would be missing in every forked process"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; our end follows the test process's
    gc.collect()
    gc.freeze()
    with contextlib.suppress(ConnectionError):
        while True:
            request, descriptors = _receive_request(channel)
            pid = _fork_twice()
            if pid is None:
                channel.detach()
                _become(request, descriptors)
                return request.code
            for one in descriptors:
                os.close(one)
            channel.sendall(_LENGTH.pack(pid))
    os._exit(0)


def _import_product() -> None:
    for name in PRODUCT:
        for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
            importlib.import_module(module.name)
    for name in LATE:
        with contextlib.suppress(ImportError):  # uvloop is not everywhere
            importlib.import_module(name)
    cli = importlib.import_module("cli.app")
    for module in cli.COMMANDS:
        cli._get_program(module)  # kept; it takes longer than a fork
    _prepare_tools()


def _prepare_tools() -> None:
    """Build the tools' validators and schemas, which a product would build after its start."""
    from gateway.catalogue import load_installed_modules
    from gateway.sieve.tool_listings import ToolListings

    listings = ToolListings()
    for tool in (tool for tools in load_installed_modules().tools.values() for tool in tools):
        listings.prepare(tool)


def _receive_request(channel: socket.socket) -> tuple[_Request, list[int]]:
    head, descriptors, _, _ = socket.recv_fds(channel, _LENGTH.size, 64)
    head += _receive(channel, _LENGTH.size - len(head))
    return _Request(**json.loads(_receive(channel, *_LENGTH.unpack(head)))), descriptors


def _fork_twice() -> int | None:
    """None in the new process, its id in this one: in both when its parent is the test process."""
    told, telling = os.pipe()
    waiting, letting_go = os.pipe()
    between = os.fork()
    if between == 0:
        pid = os.fork()
        if pid == 0:
            os.close(letting_go)
            os.read(waiting, 1)
            return None
        os.write(telling, _LENGTH.pack(pid))
        os._exit(0)
    pid = _LENGTH.unpack(os.read(told, _LENGTH.size))[0]
    os.waitpid(between, 0)
    for one in (told, telling, waiting, letting_go):
        os.close(one)
    return pid


def _become(request: _Request, descriptors: Sequence[int]) -> None:
    """Be the process that an exec would have made; in the order in which Popen does it."""
    _take_descriptors(descriptors, request.targets)
    os.chdir(request.folder)
    os.umask(request.umask)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if request.process_group >= 0:
        os.setpgid(0, request.process_group)
    if request.new_session:
        os.setsid()
    os.environ.clear()
    os.environ.update(request.environment)
    sys.argv[:] = request.argv
    sys.path[0] = request.path
    _open_standard_streams()
    _renew_process_state()


def _take_descriptors(descriptors: Sequence[int], targets: Sequence[int]) -> None:
    """Give each its number and close every other."""
    above = max([*targets, *descriptors]) + 1
    moved = [fcntl.fcntl(one, fcntl.F_DUPFD, above) for one in descriptors]
    for one, target in zip(moved, targets, strict=True):
        os.dup2(one, target)
    for number in map(int, os.listdir("/proc/self/fd")):
        if number not in targets:
            with contextlib.suppress(OSError):  # that of the listing itself
                os.close(number)


def _open_standard_streams() -> None:
    """sys.stdin, sys.stdout and sys.stderr as Python makes them at its start (create_stdio in Python/pylifecycle.c)."""
    sys.stdin = sys.__stdin__ = _open_stream(0, "rb", sys.stdin)
    sys.stdout = sys.__stdout__ = _open_stream(1, "wb", sys.stdout)
    sys.stderr = sys.__stderr__ = _open_stream(2, "wb", sys.stderr)


def _open_stream(number: int, mode: str, like: Any) -> io.TextIOWrapper:
    bare = like.write_through  # PYTHONUNBUFFERED
    binary: Any = open(number, mode, buffering=0 if bare and number else -1, closefd=False)  # noqa: SIM115 it stays open
    (binary if bare and number else binary.raw).name = like.name
    lines = not bare and (number == 2 or os.isatty(number))
    options = {"newline": "\n", "line_buffering": lines, "write_through": bare}
    stream: Any = io.TextIOWrapper(binary, encoding=like.encoding, errors=like.errors, **options)
    stream.mode = like.mode
    return stream


def _renew_process_state() -> None:
    """What modules hold that no two processes may share. Python itself seeds `random` anew after a fork."""
    from core.audit import event

    event._PROCESS = os.urandom(len(event._PROCESS))  # pyright: ignore
    event._numbers = itertools.count(int.from_bytes(os.urandom(4), "big"))  # pyright: ignore
