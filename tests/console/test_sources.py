"""The console's sources: types of the API as it is, and the tests of its logic (Vitest)."""

import re
import subprocess

import pytest

from tools import console, console_types

SIGN_OUTS = {"Browsers.tsx", "HiddenTools.tsx"}
"""What is ended there comes back by signing in, or by asking once more."""


def test_the_types_are_those_of_the_api() -> None:
    assert console_types.find_drift() == ""


def test_a_drift_of_the_types_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_types, "build_openapi_document", lambda: {"openapi": "3.1.0"})
    assert "make console-types" in console_types.find_drift()


def test_whatever_is_destroyed_is_asked_for_or_can_be_undone() -> None:
    """Decision 92: a question that names it, whose `typed` the compiler asks for, or a toast with Undo."""
    careless: list[str] = []
    for file in sorted((console.SOURCES / "src" / "pages").rglob("*.tsx")):
        text = file.read_text()
        has_undo = re.search(r"showToast\((?:[^()]|\([^()]*\))*, (?:async )?\(\) =>", text)
        asks = re.search(r"typed=\{(?!null)", text)
        if "api.DELETE(" in text and not asks and not has_undo and file.name not in SIGN_OUTS:
            careless.append(file.name)
    assert careless == []


def test_the_logic_of_the_console() -> None:
    try:
        tools = console.install()
    except console.BuildError as error:
        pytest.skip(f"THE PACKAGES OF THE CONSOLE ARE MISSING, its logic was not tried: {error}")
    script = console.SOURCES / "node_modules" / "vitest" / "vitest.mjs"
    command = [str(tools.node), str(script), "run", "--reporter", "dot"]
    run = subprocess.run(command, cwd=console.SOURCES, capture_output=True, text=True, timeout=100, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
