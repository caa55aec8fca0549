"""Find every regular expression in the source of the product, compiled as the product compiles it."""

import ast
import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("core", "broker", "gateway", "modules", "search", "admin_ui", "server", "cli")
METHODS = ("match", "fullmatch", "search", "split", "findall", "finditer", "sub", "subn")
DECLARATIONS = frozenset(
    {"Field", "StringConstraints", "Path", "Query", "Header", "Cookie", "Form", "Body", "describe_setting"}
)
"""Calls whose `pattern` pydantic-core compiles with Rust's regex crate, which has no backtracking."""
_MENTION = re.compile(rf"\bre\.|\bpattern\b|\.(?:{'|'.join(METHODS)})\b")
"""Files without a match of this hold nothing to find; parsing all takes seconds."""


@dataclass(frozen=True)
class Use:
    """One expression: `methods` of `re` that are called with it. `name` is its variable, or the function around it."""

    file: str
    line: int
    name: str
    engine: Literal["python", "rust"]
    pattern: Any
    """A compiled pattern, or the text of one that pydantic compiles."""
    methods: frozenset[str]

    @property
    def key(self) -> str:
        return f"{self.file}:{self.name}"

    def __str__(self) -> str:
        return f"{self.key} (line {self.line})"


@cache
def all_uses() -> tuple[Use, ...]:
    """Every expression, in the order of files and lines."""
    sources = [(path, source) for path in source_files() if _MENTION.search(source := path.read_text("utf-8"))]
    read = {path: _read(ast.parse(source)) for path, source in sources}
    calls = _method_calls(read.values())
    return tuple(use for path, nodes in read.items() for use in _uses_in(path, nodes, calls))


def source_files() -> list[Path]:
    """The files of the product."""
    return sorted(path for package in PRODUCT for path in (ROOT / package).rglob("*.py"))


def uses_in_text(source: str) -> list[Use]:
    """Every expression of a module of its own."""
    module = ModuleType("made_up")
    exec(compile(source, "made_up.py", "exec"), vars(module))
    nodes = _read(ast.parse(source))
    return list(_uses(nodes, "made_up.py", module, _method_calls([nodes])))


def _uses_in(path: Path, nodes: "_Nodes", calls: Mapping[str, set[str]]) -> Iterator[Use]:
    if nodes.expressions:
        yield from _uses(nodes, path.relative_to(ROOT).as_posix(), _module(path), calls)


def _uses(nodes: "_Nodes", file: str, module: ModuleType, calls: Mapping[str, set[str]]) -> Iterator[Use]:
    for node, name, engine in nodes.expressions:
        for pattern in _evaluated(node, engine, module, name):
            inline = node.func.attr if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS else ""
            methods = frozenset({inline} if inline else {"search"} if _is_msgspec(node) else calls.get(name, METHODS))
            yield Use(file, node.lineno, name, engine, pattern, methods)


@dataclass(frozen=True)
class _Nodes:
    """What counts in a module: `expressions` are the calls that make one, in their order, each with the name of the
    variable that it is assigned to, or of the function that it stands in; `methods` are names with a method of `re`."""

    expressions: list[tuple[ast.Call, str, Literal["python", "rust"]]]
    methods: list[tuple[str, str]]


def _read(tree: ast.Module) -> _Nodes:
    found = _Nodes([], [])
    left: list[tuple[ast.AST, str]] = [(tree, "<module>")]
    while left:
        node, name = left.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            name = target.id if isinstance(target, ast.Name) else name
        elif isinstance(node, ast.Call) and (engine := _engine(node)):
            found.expressions.append((node, name, engine))
        elif isinstance(node, ast.Attribute) and node.attr in METHODS:
            owner = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", "")
            found.methods.append((owner, node.attr))
        left += [(child, name) for child in ast.iter_child_nodes(node)][::-1]
    return found


def _engine(node: ast.Call) -> Literal["python", "rust"] | None:
    function = node.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re":
        return "python" if function.attr in ("compile", *METHODS) else None
    if not any(keyword.arg == "pattern" for keyword in node.keywords):
        return None
    if _is_msgspec(node):
        return "python"
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name == "str_schema" and not any(keyword.arg == "regex_engine" for keyword in node.keywords):
        return None  # pydantic-core's own form: Rust's engine where none is named, with what an annotation was given
    assert name in DECLARATIONS, f"line {node.lineno}: which engine compiles the pattern of {name}()?"
    return "rust"


def _is_msgspec(node: ast.Call) -> bool:
    """msgspec searches with Python's `re`."""
    return isinstance(node.func, ast.Attribute) and node.func.attr == "Meta"


def _evaluated(node: ast.Call, engine: str, module: ModuleType, name: str) -> list[Any]:
    given = next((one.value for one in node.keywords if one.arg == "pattern"), None) or node.args[0]
    flags = [one.value for one in node.keywords if one.arg == "flags"]
    if isinstance(node.func, ast.Attribute) and len(node.args) > 1 and node.func.attr == "compile":
        flags.append(node.args[1])
    if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        place = {"match": 2, "fullmatch": 2, "search": 2, "findall": 2, "finditer": 2}.get(node.func.attr)
        flags += node.args[place : place + 1] if place else []
    if isinstance(given, ast.Call) and ast.unparse(given.func) == "re.escape":
        raise AssertionError(f"line {node.lineno}: use str.find, which takes linear time")
    try:
        text = _value(given, module)
    except NameError:  # a comprehension: what it has made is found by its variable
        return _compiled_in(getattr(module, name))
    if engine == "rust":
        return [text]
    return [re.compile(text, sum(int(_value(flag, module)) for flag in flags))]


def _value(node: ast.expr, module: ModuleType) -> Any:
    return eval(compile(ast.Expression(node), module.__name__, "eval"), vars(module))


def _compiled_in(value: Any) -> list[Any]:
    if isinstance(value, re.Pattern):
        return [value]
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return [found for one in value for found in _compiled_in(one)]
    return []


def _module(path: Path) -> ModuleType:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))


def _method_calls(modules: Iterable[_Nodes]) -> dict[str, set[str]]:
    """Which methods are used of a name that holds a pattern, anywhere: one is imported by its name."""
    found: dict[str, set[str]] = {}
    for name, method in (one for module in modules for one in module.methods):
        found.setdefault(name, set()).add(method)
    return found
