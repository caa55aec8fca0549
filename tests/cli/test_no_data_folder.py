"""A data folder that does not exist, or a folder that is none: no command but those that say so makes one."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer.main

from cli.app import build_app
from server.data_folder import CREATING_COMMANDS
from tests.cli.conftest import Ended, Home

NOT_FOUND = 4
READING = [
    ("user", "list"),
    ("token", "list"),
    ("audit",),
    ("tenant", "list"),
    ("call", "knowledge_graph", "read_graph"),
    ("schema",),
    ("keys", "status"),
    ("whoami",),
    ("adopt",),
    ("gateway",),
]


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with its words."""
    children: dict[str, Any] = getattr(command, "commands", {})
    if not children or getattr(command, "invoke_without_command", False):
        yield path, command
    for name, child in children.items():
        yield from leaves(child, (*path, name))


def filled(path: Sequence[str], command: Any, folder: Path) -> list[str]:
    """The words of a command with something for everything that it needs."""
    words = list(path)
    for one in command.params:
        value = str(folder / "given") if one.name == "file" else "on" if one.name == "switch" else "ada@example.com"
        if one.param_type_name == "argument" and one.required:
            words.append(value)
        elif one.required:
            words += [one.opts[0], value]
    return words


COMMANDS = [one for one in leaves(typer.main.get_command(build_app())) if one[0] and one[0][0] not in CREATING_COMMANDS]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: " ".join(one[0]))
def test_no_other_command_makes_one(fresh: Home, command: tuple[tuple[str, ...], Any]) -> None:
    ended = fresh.run(*filled(*command, fresh.path.parent))
    assert not fresh.path.exists(), ended
    assert ended.code != 0 or command[0] == ("logout",), ended


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_the_error_names_the_folder_and_how_to_make_one(fresh: Home, words: tuple[str, ...]) -> None:
    told(fresh.run(*words), fresh)
    assert not fresh.path.exists()


def test_processes_too(fresh: Home) -> None:
    told(fresh.process("user", "list"), fresh)
    error = fresh.process("backup", str(fresh.path.parent / "x.dump"), "--json").error()
    assert (error["code"], str(fresh.path) in error["message"]) == ("not_found", True)
    assert [one.name for one in fresh.path.parent.iterdir() if one.name != "config"] == []


def test_a_folder_that_holds_something_else(fresh: Home) -> None:
    """A mistyped name may be that of any folder."""
    fresh.path.mkdir(mode=0o700)
    (fresh.path / "letters.txt").write_text("dear Ada")
    for words in (*READING, ("backup", str(fresh.path.parent / "x.dump"))):
        told(fresh.run(*words), fresh)
    assert [one.name for one in fresh.path.iterdir()] == ["letters.txt"]


def test_an_own_server_with_a_folder_that_does_not_exist(fresh: Home) -> None:
    """The keys in the folder belong to that database: without them a command would make other ones."""
    ended = fresh.run("user", "list", MCPIST_DATABASE_URL="postgresql://nobody@127.0.0.1:9/none")
    assert ended.code != 0
    assert not fresh.path.exists()


def test_what_makes_one_says_so() -> None:
    names = {path[0] for path, _ in leaves(typer.main.get_command(build_app())) if path}
    assert {*CREATING_COMMANDS} == {"up", "stdio", "migrate", "restore"} <= names


def told(ended: Ended, home: Home) -> None:
    assert (ended.code, ended.out) == (NOT_FOUND, ""), ended
    assert str(home.path) in ended.err
    assert "mcpist up" in ended.err
    assert "MCPIST_HOME" in ended.err
