"""Names of tests and of product files in Markdown pages, and the functions that a test file has."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def read_page(name: str) -> str:
    """The text of a page below docs/."""
    return (ROOT / "docs" / name).read_text("utf-8")


def named_tests(text: str) -> list[str]:
    """The tests that a page names, as ``path::function`` below tests/."""
    return sorted(set(re.findall(r"`([a-z_/]+\.py::\w+)`", text)))


def defences(text: str) -> list[str]:
    """The files of the product that a page names."""
    return sorted(set(re.findall(r"`((?:broker|core|gateway|admin_ui|server|cli)/[a-z_/]+\.(?:py|html))`", text)))


def missing_tests(text: str) -> list[str]:
    """The named tests that do not exist."""
    return [named for named in named_tests(text) if not _exists(named)]


def _exists(named: str) -> bool:
    file, _, function = named.partition("::")
    path = ROOT / "tests" / file
    return path.is_file() and function in functions(path)


@cache
def functions(path: Path) -> frozenset[str]:
    """The functions at the top level of a file."""
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
