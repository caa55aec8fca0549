"""What goes wrong is told in one line, with an exit code; and never with a traceback."""

import errno
from typing import Any

import asyncpg
import pytest

from cli import runner
from cli.app import build_app
from cli.failures import describe_failure
from cli.output import escape_control_characters
from core.errors import LimitReached
from tests.cli.conftest import Home


def commands(group: Any = None, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every command of the program."""
    from typer.main import get_command

    group = group or get_command(build_app())
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():
        found.append((*before, name))
        if hasattr(command, "commands"):
            found += commands(command, (*before, name))
    return found


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_command_explains_itself(fresh: Home, command: tuple[str, ...]) -> None:
    shown = fresh.run(*command, "--help")
    assert shown.code == 0
    assert "Usage: mcpist " + " ".join(command) in shown.out
    assert "\x1b" not in shown.out
    assert not fresh.path.exists()


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_the_line_of_a_command_in_the_list_is_one_line(command: tuple[str, ...]) -> None:
    from typer.main import get_command

    found: Any = get_command(build_app())
    for name in command:
        found = found.commands[name]
    line = (found.help or "").split("\n\n")[0]
    assert 10 < len(line) <= 110, line


@pytest.mark.parametrize(
    "arguments", [("rol",), ("role", "create"), ("role", "create", "x", "--nonsense"), ("tenant", "x")]
)
def test_usage(fresh: Home, arguments: tuple[str, ...]) -> None:
    told = fresh.run(*arguments)
    assert told.code == 2
    assert told.out == ""
    assert told.err.startswith("Error: ")
    assert told.err.count("\n") == 1
    assert "--help" in told.err
    assert fresh.run(*arguments, "--json").error()["code"] == "usage"


def test_no_command(fresh: Home) -> None:
    assert fresh.run().code == 2
    assert fresh.run("tenant").code == 2


def test_version(fresh: Home) -> None:
    assert fresh.run("--version").out.startswith("mcpist ")


def test_a_wrong_setting(fresh: Home) -> None:
    told = fresh.run("tenant", "list", MCPIST_PROT="1")
    assert told.code == 2
    assert "MCPIST_PORT" in told.err


def test_an_expected_error_has_its_own_exit_code(fresh: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise LimitReached("too much at once; wait")

    monkeypatch.setattr(runner, "load_settings", fail)
    told = fresh.run("tenant", "list")
    assert (told.code, told.err) == (6, "Error: too much at once; wait\n")


@pytest.mark.parametrize("json", [(), ("--json",)])
def test_an_unexpected_error_shows_its_type_and_not_its_text(
    fresh: Home, monkeypatch: pytest.MonkeyPatch, json: tuple[str, ...]
) -> None:
    def fail() -> None:
        raise ValueError("password=hunter2")

    monkeypatch.setattr(runner, "load_settings", fail)
    told = fresh.run("tenant", "list", *json)
    assert told.code == 1
    assert "ValueError" in told.err
    assert "MCPIST_LOG_LEVEL=debug" in told.err
    assert "hunter2" not in told.err
    assert "Traceback" not in told.err
    assert "Traceback" in fresh.run("tenant", "list", *json, MCPIST_LOG_LEVEL="debug").err


def test_interrupted(fresh: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "load_settings", fail)
    told = fresh.run("tenant", "list")
    assert (told.code, told.out, told.err) == (130, "", "")


def test_a_home_that_cannot_be_made(fresh: Home) -> None:
    told = fresh.run("migrate", MCPIST_HOME="/proc/nothing/here")
    assert told.code == 1
    assert "Traceback" not in told.err
    assert "/proc/nothing" in told.err


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (asyncpg.DiskFullError("could not extend file base/5/1"), "the disk is full: make room, then run it again"),
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full: make room, then run it again"),
        (OSError(errno.ENOSPC, "No space left on device", "/tmp/x.dump"), "the disk of /tmp is full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded", "/tmp/x.dump"), "the disk of /tmp is full"),
        (OSError(errno.EROFS, "Read-only file system", "/tmp/x.dump"), "/tmp is on a read-only file system"),
        (ExceptionGroup("", [OSError(errno.ENOSPC, "No space left on device")]), "the disk is full"),
    ],
)
def test_a_full_or_read_only_disk(error: BaseException, told: str) -> None:
    failure = describe_failure(error)
    assert (failure.code, failure.exit_code) == ("not_possible", 1)
    assert failure.message.startswith(told)


def test_a_reader_that_goes_away(cli: Home) -> None:
    with cli.start("tenant", "list") as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        told = process.stderr.read().decode()
    assert "Traceback" not in told
    assert "Exception ignored" not in told


def test_clean() -> None:
    assert escape_control_characters("a\x1b[0mb\r\x07é日本\n") == "a\\x1b[0mb\\r\\x07é日本\n"
