"""The page for authors of modules shows the files of the example, names commands that exist, and the whole kit."""

import re
from collections import defaultdict
from pathlib import Path

import pytest
import typer

from cli.app import build_app
from modules import kit
from tests.lint.pages import ROOT, read_page

PAGE = read_page("modules/writing-a-module.md")
EXAMPLE = ROOT / "tests/modules/packages/raindrop"
BLOCKS = re.findall(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = [
    line for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE) for line in block.splitlines()
]
# What `modules.kit` itself exports, and what only these use.
UNNAMED = {
    "bodies", "client_questions", "content", "context", "declarations", "documents", "errors", "icons", "json_size",
    "misfits", "module_log", "prompts", "reads", "resources", "schema", "settings", "signatures", "vendor",
    "windows_zones",
}  # fmt: skip
SHOWN_IN_PART, GENERATED = "raindrop_api.json", "raindrop_module/manifest.json"


def list_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def test_the_code_of_the_page_is_the_example() -> None:
    shown: defaultdict[str, list[str]] = defaultdict(list)
    for name, text in BLOCKS:
        shown[name] += list_lines(text)
    part = "\n".join(shown.pop(SHOWN_IN_PART))
    assert part in (EXAMPLE / SHOWN_IN_PART).read_text("utf-8")
    files = {name: list_lines((EXAMPLE / name).read_text("utf-8")) for name in shown}
    assert shown == files


def test_every_file_of_the_example_is_on_the_page() -> None:
    files = {
        str(path.relative_to(EXAMPLE))
        for path in EXAMPLE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files == {name for name, _ in BLOCKS} | {GENERATED}


@pytest.mark.parametrize("line", [line for line in COMMANDS if "mcpist " in line and "git" not in line])
def test_each_command_of_the_product_exists(line: str) -> None:
    words = line.partition("mcpist ")[2].split()
    command = typer.main.get_command(build_app())
    while children := getattr(command, "commands", None):
        assert words, line
        assert words[0] in children, line
        command = children[words.pop(0)]
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options, line


def test_the_other_commands_name_what_is_there() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    others = [line.split() for line in COMMANDS if not re.match(r"(PYTHONPATH=\S+ )?mcpist ", line)]
    assert {words[1] for words in others if words[0] == "make"} <= set(targets)
    modules = {words[2] for words in others if words[:2] == ["python", "-m"]}
    assert modules == {"pytest"}
    known = {"git", "mkdir", "cd", "make", ".", "python", "ruff", "pyright", "pip"}
    assert {words[0] for words in others} <= known
    files = {words[words.index(one) + 1] for words in others for one in ("-c", "--config") if one in words}
    assert all((ROOT / name).is_file() for name in files)


def test_the_page_names_the_whole_kit() -> None:
    named = set(re.findall(r"`([\w.]+)", PAGE))
    assert set(kit.__all__) - named == set()
    table = PAGE.partition("## What the kit has")[2].partition("\n## ")[0]
    assert [name for name in kit.__all__ if len(re.findall(rf"`{name}`", table)) != 1] == []
    folder = Path(kit.__file__).parent
    parts = {
        f"modules.kit.{path.stem}" for path in folder.iterdir() if path.stem not in UNNAMED and path.stem[0] != "_"
    }
    assert parts - named == set()
