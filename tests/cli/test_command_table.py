"""A run of one command imports its own module only: the table says which."""

import subprocess
import sys
from typing import Any

import pytest
import typer.main

from cli.app import COMMANDS, build_app


@pytest.mark.parametrize("module", COMMANDS)
def test_a_module_declares_the_commands_of_the_table(module: str) -> None:
    program: Any = typer.main.get_command(build_app(module))
    assert tuple(program.commands) == COMMANDS[module]


def test_the_whole_program_has_the_commands_of_the_table() -> None:
    everything: Any = typer.main.get_command(build_app())
    assert set(everything.commands) == {name for names in COMMANDS.values() for name in names}


@pytest.mark.parametrize(
    "arguments",
    [["role", "--help"], ["--server", "https://mcp.example.com", "role", "--help"], ["role", "list", "--help"]],
)
def test_other_commands_are_not_imported(arguments: list[str]) -> None:
    code = (
        "import sys; from cli.app import run_command; run_command(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    imported = {name for name in done.stderr.split() if name.startswith("cli.commands.")}
    assert imported == {"cli.commands.role"}
