"""Write the lists of tests in docs/dev/guarantees.md from the marks on the tests: python -m tools.guarantees."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "dev" / "guarantees.md"
PROMISES = ROOT / "docs" / "guarantees.md"


class MarkedTest(NamedTuple):
    """A test that holds a guarantee."""

    guarantee: str
    file: str
    name: str


@cache
def marked_tests() -> list[MarkedTest]:
    """Every test below tests/ with ``@pytest.mark.guarantee("G1", ...)``, once for each guarantee."""
    tests = ROOT / "tests"
    files = [path for path in tests.rglob("*.py") if "node_modules" not in path.parts]
    return sorted(found for path in files for found in _marks_in(path, str(path.relative_to(tests))))


def promises() -> dict[str, str]:
    """The sentence of each guarantee, from the table of docs/guarantees.md."""
    return dict(re.findall(r"^\| (G\d+) \| (.*?) \|", PROMISES.read_text("utf-8"), re.MULTILINE))


def render(page: str) -> str:
    """The page with every list between ``<!-- tests: G1 -->`` and ``<!-- end -->`` made anew."""
    marked = marked_tests()
    for number, promise in promises().items():
        lines = [f"**{promise}.**", ""]
        held_by = (one for one in marked if one.guarantee == number)
        for file, group in groupby(held_by, key=lambda one: one.file):
            lines += [f"* `tests/{file}`:", *(f"  `{one.name}`" for one in group)]
        begin, end = f"<!-- tests: {number} -->", "<!-- end -->"
        block = "\n".join((begin, *lines, end))
        page = re.sub(f"{begin}.*?{end}", lambda _, text=block: text, page, flags=re.DOTALL)
    return page


def _marks_in(path: Path, file: str) -> Iterator[MarkedTest]:
    source = path.read_text("utf-8")
    if "mark.guarantee(" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.guarantee":
                    yield from (MarkedTest(ast.literal_eval(one), file, node.name) for one in decorator.args)


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text("utf-8")), encoding="utf-8")
