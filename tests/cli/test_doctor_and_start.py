"""Whatever file keeps a start from starting, the doctor finds, in the same words; and it looks at every file that a
start reads."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from broker.vault.key_wrapping import load_or_create
from core.config.settings import Settings
from server.start_files import list_start_files
from tests.cli.conftest import LONG, ROOT, Home, new_home, running

NO_KEY = b'{"active": "x", "keys": {"x": "c2hvcnQ="}}'
GARBAGE = b"\x00\xff\xfe garbage"
WATCHED = """
import sys
out = open(sys.argv.pop(1), "a")
def heard(event, given):
    if event == "open" and isinstance(given[0], str):
        out.write(given[0] + "\\n"); out.flush()
sys.addaudithook(heard)
from cli import main
main()
"""


@pytest.fixture(scope="module")
def started() -> Iterator[Home]:
    """A data folder whose product has run once, with every file that an operator may put there."""
    with new_home() as home:
        with running(home) as product:
            assert product.stop().code == 0
        for name in ("identity.toml", "notices.toml"):
            write(home.path / name, b"# nothing is set\n")
        broker = home.start(
            "broker", "--json", MCPIST_BROKER_URL=f"unix:{home.path}/b.sock"
        )  # makes the gateways' keys
        assert broker.stdout is not None
        assert broker.stdout.readline(), broker.communicate(timeout=LONG)
        broker.terminate()
        broker.communicate(timeout=LONG)
        yield home
        assert bad(home) == [], "each test has mended what it damaged"


def write(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)


def wrong_key(path: Path) -> None:
    write(path, b"[authorization_server]\ncolour = 1\n" if path.name == "identity.toml" else b"[mail]\ncolour = 1\n")


def garbage(path: Path) -> None:
    write(path, GARBAGE)


def no_key(path: Path) -> None:
    write(path, NO_KEY)


def empty(path: Path) -> None:
    write(path, b"")


def open_to_all(path: Path) -> None:
    path.chmod(0o666)


def another_file(path: Path) -> None:
    path.unlink()
    load_or_create(path)


def another_digest_key(path: Path) -> None:
    write(path, json.dumps({"key": "k" * 43}).encode())


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir(mode=0o700)


UP = ("up", "--json")
BROKER = ("broker", "--json")
GATEWAY = ("gateway", "--json")
Damage = Callable[[Path], None]
TOML: list[Damage] = [wrong_key, garbage, open_to_all, a_folder]
KEYS: list[Damage] = [no_key, garbage, open_to_all]
DAMAGES = [
    *((UP, "identity.toml", damage) for damage in TOML),
    *((UP, "notices.toml", damage) for damage in TOML),
    *((UP, "keys/database-roles.json", damage) for damage in [*KEYS, empty, a_folder]),
    *((UP, "keys/audit-digest.json", damage) for damage in [*KEYS, Path.unlink, another_digest_key]),
    *((UP, "keys/token-peppers.json", damage) for damage in [*KEYS, Path.unlink, another_file]),
    *((UP, "keys/vault-kek.json", damage) for damage in [*KEYS, a_folder]),
    *((BROKER, "keys/gateways.pem", damage) for damage in (garbage, empty, open_to_all, a_folder)),
    (UP, "deployment-id", garbage),
    (UP, "deployment-id", open_to_all),
    *((GATEWAY, "keys/gateway.pem", damage) for damage in (garbage, open_to_all, a_folder)),
    (UP, "postgres/superuser.password", Path.unlink),
    (UP, "postgres/superuser.password", garbage),
    (UP, "postgres/data/PG_VERSION", garbage),
]


@pytest.mark.parametrize(
    ("command", "name", "damage"),
    DAMAGES,
    ids=lambda one: getattr(one, "__name__", one if isinstance(one, str) else ""),
)
def test_what_stops_a_start_is_found(started: Home, command: tuple[str, ...], name: str, damage: Damage) -> None:
    path = started.path / name
    with kept(path):
        damage(path)
        refused, found = refusal(started, command), bad(started)
    assert ("unexpected" in refused, path.name in refused) == (False, True), refused
    assert refused in found


def _socket(home: Home) -> str:
    return f"unix:{home.path}/b.sock"


def refusal(home: Home, command: tuple[str, ...]) -> str:
    """Why a start ends: the last line of its log."""
    more = {} if command is UP else {"MCPIST_BROKER_URL": _socket(home)}
    ended = home.run(*command, **more)
    assert (ended.code != 0, ended.out) == (True, ""), ended
    return json.loads(ended.err.splitlines()[-1])["error"]["message"]


def bad(home: Home) -> list[str]:
    """What the doctor finds to be bad."""
    ended = home.run("doctor", "--json")
    found = [one["message"] for one in json.loads(ended.out)["checks"] if one["state"] == "error"]
    assert (ended.code == 1) == bool(found), ended
    return found


@contextlib.contextmanager
def kept(path: Path) -> Iterator[None]:
    """The file is as it was after the block."""
    copy, status = path.with_name(path.name + ".kept"), path.stat()
    shutil.copy2(path, copy)
    try:
        yield
    finally:
        if path.is_dir():
            path.rmdir()
        shutil.copy2(copy, path)
        copy.unlink()
        os.chown(path, status.st_uid, status.st_gid)


@pytest.mark.parametrize("variable", ["MCPIST_IDENTITY_FILE", "MCPIST_NOTICES_FILE", "MCPIST_BROKER_GATEWAYS"])
def test_a_named_file_that_is_not_there(started: Home, variable: str) -> None:
    """A mistyped name must not mean the defaults."""
    home = Home(started.path, started.port, {variable: str(started.path / "mistyped")})
    refused = refusal(home, BROKER if variable == "MCPIST_BROKER_GATEWAYS" else UP)
    assert "mistyped" in refused
    assert refused in bad(home)


def test_a_password_that_the_database_does_not_know(started: Home) -> None:
    for name in ("keys/database-roles.json", "postgres/superuser.password"):
        path = started.path / name
        with kept(path):
            text = path.read_text()
            path.write_text(text[:-8] + "x" * 6 + text[-2:])
            refused, found = refusal(started, UP), bad(started)
        assert ("unexpected" in refused, path.name in refused) == (False, True), refused
        assert refused in found


def test_a_taken_port_of_the_metrics(started: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        home = Home(started.path, started.port, {"MCPIST_METRICS_PORT": str(listener.getsockname()[1])})
        assert refusal(home, UP) in bad(home)


def test_every_file_that_a_start_opens_is_looked_at(started: Home, tmp_path: Path) -> None:
    """Seen in the running processes: who adds a file that a start reads adds it to the doctor too."""
    seen = tmp_path / "opened"
    for command in (UP, BROKER):
        opened_by(started, command, seen)
    below = {Path(line) for line in seen.read_text().splitlines() if line.startswith(f"{started.path}/")}
    looked_at = {one.path for one in list_start_files(Settings.from_environment(started.environment))}
    assert {one.name for one in looked_at} >= {"identity.toml", "notices.toml", "vault-kek.json", "gateways.pem"}
    # Looked at when the database is opened; the others are written anew at each start.
    of_the_database = {one for one in below if one.is_relative_to(started.path / "postgres")}
    of_the_database |= {started.path / "deployment-id"}
    written = {started.path / name for name in ("lock", "endpoint.json", "endpoint.new", "logs/mcpist.log")}
    written.add(started.path / "keys")  # locked while a role's password is added
    assert below - looked_at - of_the_database - written == set()
    of_others = {started.path / "keys" / name for name in ("gateway.pem", "console.pem", "worker.pem")}
    assert looked_at <= below | of_others


def opened_by(home: Home, command: tuple[str, ...], seen: Path) -> None:
    """Start a process, note every path that it opens, and stop it."""
    more = {"MCPIST_BROKER_URL": _socket(home)} if command is BROKER else {}
    words = [sys.executable, "-c", WATCHED, str(seen), *command]
    environment = {**home.environment, **more}
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.terminate()
        _, told = process.communicate(timeout=LONG)
        assert process.returncode == 0, told


def test_it_starts_without_peppers_that_are_lost_for_good() -> None:
    with new_home() as home:
        with running(home) as product:
            assert product.stop().code == 0
        peppers = home.path / "keys" / "token-peppers.json"
        [before] = json.loads(peppers.read_text())["keys"]
        peppers.unlink()
        assert "mcpist keys forget-peppers" in refusal(home, UP)
        assert not peppers.exists()
        assert home.run("keys", "forget-peppers", "--json").json() == {"forgotten": [before]}
        with running(home) as product:
            assert product.stop().code == 0
        assert before not in peppers.read_text()
        assert home.run("keys", "forget-peppers", "--json").json() == {"forgotten": []}
        assert bad(home) == []
