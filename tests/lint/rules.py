"""Rules that protect tenants and secrets, as checks on the syntax tree.

Each rule has a named escape: a comment `# <name>: reason` on one of the lines of the call. The reason is for the
reviewer; an escape without one does not count.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

PRODUCT = ("core", "broker", "gateway", "modules", "search", "admin_ui", "server", "cli")

SESSION_MAKERS = {
    "create_engine",
    "create_async_engine",
    "sessionmaker",
    "async_sessionmaker",
    "async_engine_from_config",
}
SESSION_TYPES = {"AsyncSession", "Session", "AsyncEngine", "Engine"}
RAW_CONNECTIONS = {"connect", "create_pool"}
SQL_SINKS = {"text", "execute", "executemany", "exec_driver_sql"}
SQL_SINKS |= {"fetch", "fetchrow", "fetchval", "fetchone", "fetchmany", "fetchall"}
SQL_KEYWORDS = {"text", "sql", "query", "statement"}
ENVIRONMENT = {"environ", "environb", "getenv"}
TOKEN_READERS = ("joserfc.jwt", "joserfc.jws", "joserfc.jwe", "authlib.jose", "jwt")
LOG_METHODS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
LOGGER = re.compile(r"^_?(log|logger|logging)$", re.IGNORECASE)
SENSITIVE = re.compile(r"token|secret|password|authorization", re.IGNORECASE)
EVENT = re.compile(r"^[a-z]+(_[a-z]+)+$")
WITH_LOG_EVENTS = ("core", "gateway", "jobs", "modules", "server")
"""Packages whose every log line carries the name of its event."""
HARMLESS = re.compile(r"_(id|ids|count|kind)$")


@dataclass(frozen=True, slots=True)
class Source:
    """One parsed file; `path` is relative to the repository."""

    path: Path
    lines: tuple[str, ...]
    tree: ast.Module


@dataclass(frozen=True, slots=True)
class Finding:
    """One place that breaks a rule."""

    path: Path
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text} [escape: # {self.rule}: reason]"


Hits = Iterator[tuple[ast.AST, str]]


@dataclass(frozen=True, slots=True)
class Rule:
    """`name` is also the escape; `applies` says to which files, `find` yields what is wrong in one."""

    name: str
    applies: Callable[[Path], bool]
    find: Callable[[ast.Module], Hits]


def parse(path: Path, text: str) -> Source:
    return Source(path, tuple(text.splitlines()), ast.parse(text))


def findings(source: Source) -> list[Finding]:
    """Everything in one file that breaks a rule and has no escape."""
    return [
        Finding(source.path, getattr(node, "lineno", 1), rule.name, text)
        for rule in RULES
        if rule.applies(source.path)
        for node, text in rule.find(source.tree)
        if not _escaped(source, node, rule.name)
    ]


def _escaped(source: Source, node: ast.AST, name: str) -> bool:
    first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", None) or 1
    return any(re.search(rf"#\s*{name}:\s*\S", line) for line in source.lines[first - 1 : last])


def _name(node: ast.AST) -> str:
    """The last part of a dotted name: `b` of `a.b`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _bare_name(node: ast.AST) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


def _is_product(path: Path) -> bool:
    return path.parts[0] in PRODUCT


# One unit of work is the only way to a session ------------------------------------------------------------------


def _find_sessions(tree: ast.Module) -> Hits:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = _name(node.func)
        if name == "commit" and isinstance(node.func, ast.Attribute):
            yield node, "only the unit of work in core/db.py commits"
        elif name in SESSION_MAKERS | SESSION_TYPES:
            yield node, f"{name}() outside core/db.py: use the unit of work"
        elif name in RAW_CONNECTIONS and isinstance(node.func, ast.Attribute) and _name(node.func.value) == "asyncpg":
            yield node, f"asyncpg.{name}() outside core/db.py: use the unit of work"


# SQL is never put together from data ----------------------------------------------------------------------------


def _find_composed_sql(tree: ast.Module) -> Hits:
    for scope in ast.walk(tree):
        if isinstance(scope, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _composed_in(scope)


def _composed_in(scope: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> Hits:
    nodes = list(_own_nodes(scope))
    composed = {name for node in nodes for name in _composed_names(node)} - {None}
    for node in nodes:
        if not isinstance(node, ast.Call) or _name(node.func) not in SQL_SINKS:
            continue
        handed = [*node.args[:1], *(k.value for k in node.keywords if k.arg in ("text", "sql", "query", "statement"))]
        if any(
            _is_composed(value) or _name(value) in composed for value in handed if not isinstance(value, ast.Attribute)
        ):
            yield node, f"{_name(node.func)}() gets SQL that was put together: use parameters"


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a scope without those of the functions inside it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _own_nodes(child)


def _composed_names(node: ast.AST) -> Iterator[str | None]:
    match node:
        case ast.Assign(targets=targets, value=value) if _is_composed(value):
            yield from map(_bare_name, targets)
        case ast.AnnAssign(target=target, value=ast.expr() as value) if _is_composed(value):
            yield _bare_name(target)
        case ast.NamedExpr(target=target, value=value) if _is_composed(value):
            yield _bare_name(target)
        case ast.AugAssign(target=target):
            yield _bare_name(target)
        case _:
            pass


def _is_composed(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(part, ast.FormattedValue) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        constant = isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant)
        return not constant and (_has_text(node.left) or _has_text(node.right))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("format", "join"):
        return _has_text(node.func.value)
    return isinstance(node, ast.IfExp) and (_is_composed(node.body) or _is_composed(node.orelse))


def _has_text(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(node))


# No secret reaches a log ----------------------------------------------------------------------------------------


def _find_logged_secrets(tree: ast.Module) -> Hits:
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr not in LOG_METHODS or not LOGGER.match(_name(node.func.value)):
            continue
        for name in _mentioned(node):
            if SENSITIVE.search(name) and not HARMLESS.search(name):
                yield node, f"logs {name!r}"
                break


def _find_nameless_log_lines(tree: ast.Module) -> Hits:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in LOG_METHODS
            and LOGGER.match(_name(node.func.value))
            and not any(_names_event(keyword) for keyword in node.keywords)
            and not _is_named_by_position(node)
        ):
            yield node, 'a log line needs a stable name: extra={"event": "snake_case"}'


def _is_named_by_position(node: ast.Call) -> bool:
    """Check for a line of a module's own log (modules.kit.ModuleLog), whose first argument is the event."""
    if not (isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Attribute) and node.args):
        return False
    first = node.args[0]
    is_event = isinstance(first, ast.Constant) and EVENT.match(str(first.value)) is not None
    return is_event and _name(node.func.value.value) == "context"


def _names_event(keyword: ast.keyword) -> bool:
    if keyword.arg != "extra" or not isinstance(keyword.value, ast.Dict):
        return False
    for key, value in zip(keyword.value.keys, keyword.value.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == "event":
            # A name that a helper is given is checked where it is written down, by eye.
            return isinstance(value, ast.Name) or (
                isinstance(value, ast.Constant) and bool(EVENT.match(str(value.value)))
            )
    return False


def _mentioned(call: ast.Call) -> Iterator[str]:
    """Every name, attribute, keyword and key of a mapping or subscript in a call's arguments; not its message."""
    for argument in [*call.args, *call.keywords]:
        for node in ast.walk(argument):
            if isinstance(node, ast.Name | ast.Attribute):
                yield _name(node)
            elif isinstance(node, ast.keyword):
                yield node.arg or ""
            elif isinstance(node, ast.Dict):
                yield from (k.value for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str))
            elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
                yield str(node.slice.value)


# Settings are passed --------------------------------------------------------------------------------------------


def _find_environment(tree: ast.Module) -> Hits:
    for node in ast.walk(tree):
        read = isinstance(node, ast.Attribute) and _name(node.value) == "os" and node.attr in ENVIRONMENT
        named = isinstance(node, ast.ImportFrom) and node.module == "os" and ENVIRONMENT & {a.name for a in node.names}
        if read or named:
            yield node, "the environment is read in cli/ only: settings are passed"


def _may_not_read_environment(path: Path) -> bool:
    return _is_product(path) and path.parts[0] != "cli"


# Tokens are read in one place --------------------------------------------------------------------------------------


def _find_token_readers(tree: ast.Module) -> Hits:
    """joserfc's decode() checks no type, expiry, audience or issuer; what it leaves out is done in one place."""
    for node in ast.walk(tree):
        named: list[str] = []
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            named = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        if any(name == reader or name.startswith(reader + ".") for name in named for reader in TOKEN_READERS):
            yield node, "signed tokens are read by broker/authorization_server/jose.py only"


RULES = (
    Rule("unit-of-work", lambda path: _is_product(path) and path != Path("core/db.py"), _find_sessions),
    Rule("composed-sql", _is_product, _find_composed_sql),
    Rule("safe-to-log", lambda path: path.parts[0] != "tests", _find_logged_secrets),
    Rule(
        "reads-tokens",
        lambda path: _is_product(path) and path != Path("broker/authorization_server/jose.py"),
        _find_token_readers,
    ),
    Rule("log-event", lambda path: path.parts[0] in WITH_LOG_EVENTS, _find_nameless_log_lines),
    Rule("reads-environment", _may_not_read_environment, _find_environment),
)
