"""Every way in, with hostile values: the MCP endpoint, the pages, the admin API, the broker's own wire."""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import cycle
from typing import Any, NamedTuple

import orjson
from starlette.routing import Route

from broker.rpc import codec
from broker.web.request_parsing import MAX_BODY_BYTES, MAX_QUERY_BYTES
from core.api.middleware import MAX_BODY_BYTES as MOST_API_BODY
from core.protected_resource import METADATA_PATHS as METADATA
from gateway.catalogue import CatalogueTool
from gateway.mcp.revisions import MODERN_REVISION, REVISIONS
from tests.linear.patterns import ROOT
from tests.stalls.surface import Surface
from tests.stalls.values import BODY, ROOM, SHAPES, UNITS, places, repeated, replaced, shape, values_of
from tests.stalls.watch import Request
from tests.support.mcp_client import envelope, headers_for

HEAD = 32 * 1024
TOOL_ROUTES = (
    ("POST", "/rag/memo/save"),
    ("GET", "/rag/memo/search"),
    ("GET", "/rag/memo/get"),
    ("POST", "/rag/memo/delete"),
    ("GET", "/rag/memo/openapi.json"),
    ("POST", "/rag/documents"),
)
MARK = "@@"
"""Stands in a JSON text for a value that is put in as bytes."""

HEADERS = (
    "host", "origin", "authorization", "cookie", "content-type", "content-length", "content-encoding", "accept",
    "accept-encoding", "accept-language", "user-agent", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
    "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id", "last-event-id", "traceparent",
    "sec-fetch-site", "idempotency-key", "transfer-encoding", "retry-after", "age", "cache-control",
)  # fmt: skip
METHODS = (
    "initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list", "resources/read",
    "resources/templates/list", "prompts/list", "prompts/get", "completion/complete", "notifications/initialized",
    "no/such",
)  # fmt: skip
PARAMETERS = (
    "name", "arguments", "cursor", "protocolVersion", "capabilities", "clientInfo", "requestState", "inputResponses",
    "uri", "made_up",
)  # fmt: skip
META = (
    "progressToken", "traceparent", "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientCapabilities", "made_up",
)  # fmt: skip


class Asked(NamedTuple):
    """A request, what it is of (a row of the table), and what is hostile in it."""

    row: str
    what: str
    request: Request


class Turns:
    """What each place is tried with: everything, or (in the short form) one of each, so that over all places everything
    has its turn."""

    def __init__(self, *, wide: bool) -> None:
        self.wide = wide
        self._units, self._shapes = cycle(UNITS), cycle(SHAPES)

        self._kinds: set[str] = set()

    def is_new(self, schema: Any) -> bool:
        """Whether nothing of this schema was tried before; in the wide form everything is new."""
        known = len(self._kinds)
        self._kinds.add(_text_of_schema(schema))
        return self.wide or len(self._kinds) > known

    def has_tried(self, schema: Any) -> bool:
        return _text_of_schema(schema) in self._kinds

    def units(self) -> Sequence[str]:
        return UNITS if self.wide else [next(self._units)]

    def shapes(self) -> Sequence[str]:
        return SHAPES if self.wide else [next(self._shapes)]

    def some(self, names: Sequence[str], number: int) -> Iterator[Sequence[str]]:
        """All the names each time; in the short form so many, those that follow."""
        turn = cycle(names)
        while True:
            yield names if self.wide else [next(turn) for _ in range(number)]


def _text_of_schema(schema: Any) -> str:
    """Without what only a reader of the schema sees."""
    said = {name: one for name, one in schema.items() if name not in ("description", "title", "default", "examples")}
    return orjson.dumps(said, option=orjson.OPT_SORT_KEYS).decode()


def every(surface: Surface, turns: Turns) -> Iterator[Asked]:
    """All of them."""
    yield from raw_bodies(surface)
    yield from messages(surface, turns)
    yield from meta_tools(surface, turns)
    yield from batches(surface, turns)
    yield from tools(surface, turns)
    yield from heads(surface, turns)
    yield from pages(surface, turns)
    yield from admin_api(surface, turns)


# --- the MCP endpoint -------------------------------------------------------------------------------------------------


def post(surface: Surface, body: bytes, *, recorded: bool = False, revision: str = "2025-11-25") -> Request:
    who = surface.recorded if recorded else surface.admin
    method = "tools/call" if revision == MODERN_REVISION.version else ""
    headers = headers_for(revision, method, {"name": "call"} if method else None)
    named = {**headers, "host": surface.host.decode(), "authorization": f"Bearer {who.token}"}
    return Request("POST", "/mcp", headers=[(k.encode(), v.encode("latin-1")) for k, v in named.items()], body=body)


def filled(template: Any, value: bytes) -> bytes:
    """The template as JSON, with the raw `value` in the place of MARK."""
    before, _, after = orjson.dumps(template).partition(f'"{MARK}"'.encode())
    return before + value + after


def text_of(unit: str, size: int = BODY - ROOM) -> bytes:
    return orjson.dumps(repeated(unit, size))


def raw_bodies(surface: Surface) -> Iterator[Asked]:
    row = "POST /mcp: body"
    opening = b'{"jsonrpc":"2.0","id":1,"method":"ping",'
    bodies = {
        "spaces": b" " * BODY, "letters": b"x" * BODY, "open brackets": b"[" * BODY,
        "open objects": b'{"a":' * (BODY // 5),
        "invalid UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"' + b"\xff" * (BODY - ROOM) + b'"}',
        "unfinished string": b'"' + b"\\u0000" * (BODY // 6 - 1),
        "escaped quotes": b'["' + b'\\"' * (BODY // 2 - 4) + b'"]',
        "commas": b"[" + b"," * (BODY - 2), "quotes": b'"' * BODY, "colons": b'{"a"' + b":" * (BODY - 10),
        "array of numbers": b"[" + b"1," * (BODY // 2 - 2) + b"1]", "array of empty objects": shape("objects"),
        "a long id": b'{"jsonrpc":"2.0","method":"ping","id":' + b"9" * (BODY - ROOM) + b"}",
        "a long jsonrpc": b'{"id":1,"method":"ping","jsonrpc":"' + b"2" * (BODY - ROOM) + b'"}',
        "a long member": opening + b'"x":"' + b"a" * (BODY - ROOM) + b'"}',
        "params before the rest": b'{"params":' + shape("numbers") + b',"jsonrpc":"2.0","id":1,"method":"ping"}',
        "one byte more than fits": b" " * (BODY + 1),
    }  # fmt: skip
    for name, body in bodies.items():
        yield Asked(row, name, post(surface, body))
    for name in SHAPES:
        yield Asked(row, f"{name} beside params", post(surface, opening + b'"x":' + shape(name) + b"}"))
        yield Asked(row, f"{name} as id", post(surface, b'{"jsonrpc":"2.0","method":"ping","id":' + shape(name) + b"}"))
        yield Asked(row, f"{name} alone", post(surface, shape(name)))
    yield Asked(row, "repeated members", post(surface, opening + b",".join([b'"id":1'] * 200) + b"}"))
    for revision in ("2024-11-05", "2025-03-26"):
        yield from arrays(surface, revision)


def arrays(surface: Surface, revision: str) -> Iterator[Asked]:
    """50 messages, each with a fiftieth of what a body may hold."""
    row = f"POST /mcp: array ({revision})"
    share = BODY // 50 - 200
    for name in ("lab", "made_up"):
        for unit in ("a", '"', "\0", "eyJ"):
            params = {"name": "call", "arguments": {"module": name, "tool_name": "look", "params": {"at": MARK}}}
            message = filled(envelope(revision, "tools/call", params), text_of(unit, share))
            yield Asked(
                row, f"{name}: {unit!r}", post(surface, b"[" + b",".join([message] * 50) + b"]", revision=revision)
            )
    for method in ("ping", "tools/list", "no/such"):
        message = filled(envelope(revision, method, {"x": MARK}), text_of("a", share))
        yield Asked(row, method, post(surface, b"[" + b",".join([message] * 50) + b"]", revision=revision))


def messages(surface: Surface, turns: Turns) -> Iterator[Asked]:
    """Every method of every revision, with each parameter that is read, and with one that is not."""
    versions = turns.some(tuple(REVISIONS), 1)
    for method in METHODS:
        for version in REVISIONS if turns.wide else next(versions):
            row = f"POST /mcp: {method}"
            for name in PARAMETERS:
                template = envelope(version, method, {"name": "call", **_own(version), name: MARK})
                for unit in turns.units():
                    yield Asked(
                        row, f"{name} {unit!r}", post(surface, filled(template, text_of(unit)), revision=version)
                    )
            for name in META:
                template = envelope(version, method, {"name": "call", "_meta": {name: MARK}})
                for unit in turns.units():
                    yield Asked(
                        row, f"_meta.{name} {unit!r}", post(surface, filled(template, text_of(unit)), revision=version)
                    )
            for name in ("arguments", "_meta", "inputResponses", "made_up"):
                template = envelope(version, method, {"name": "call"})
                template["params"][name] = MARK
                for each in turns.shapes():
                    yield Asked(row, f"{name} {each}", post(surface, filled(template, shape(each)), revision=version))
    for unit in UNITS:
        template = {"jsonrpc": "2.0", "id": 1, "method": MARK}
        yield Asked("POST /mcp: method", repr(unit), post(surface, filled(template, text_of(unit))))


def _own(version: str) -> dict[str, Any]:
    """A state that has the right form: whether it is of this call takes a look at all of it."""
    state = base64.urlsafe_b64encode(b"\x01" + b"\x7f" * 8 + bytes(32)).decode()
    return {"requestState": state} if version == MODERN_REVISION.version else {}


def _call(arguments: Any, tool: str = "call") -> Any:
    return envelope("2025-11-25", "tools/call", {"name": tool, "arguments": arguments})


def meta_tools(surface: Surface, turns: Turns) -> Iterator[Asked]:
    """The arguments of the three, too long, too many, and of other types."""
    named = {"module": "lab", "tool_name": "look", "params": {}}
    templates: dict[str, dict[str, Any]] = {
        "call": named,
        "get_module_schema": {"module": "lab", "tools": "look", "have": {}},
        "batch": {"commands": [], "dry_run": True},
    }
    for tool, arguments in templates.items():
        row = f"POST /mcp: {tool}"
        for name in (*arguments, "made_up"):
            for unit in turns.units():
                body = filled(_call({**arguments, name: MARK}, tool), text_of(unit))
                yield Asked(row, f"{name} {unit!r}", post(surface, body))
            for each in turns.shapes():
                body = filled(_call({**arguments, name: MARK}, tool), shape(each))
                yield Asked(row, f"{name} {each}", post(surface, body))
        for unit in turns.units():
            body = orjson.dumps(_call({**arguments, repeated(unit, BODY - ROOM): 1}, tool))
            yield Asked(row, f"a name of {unit!r}", post(surface, body))
    for each in SHAPES:
        inner = b'{"at":' + shape(each, BODY // 2) + b"}"
        body = filled(_call({**named, "params": MARK}), orjson.dumps(inner.decode()))
        yield Asked("POST /mcp: call", f"params as text with {each}", post(surface, body))
    every_name = {"module": [f"m{n}" for n in range(20)], "tools": [f"t{n}" for n in range(100)]}
    long_names = {
        "module": ["m" * 63 + str(n % 10) for n in range(20)],
        "tools": [f"{'t' * 61}{n:02}" for n in range(100)],
    }
    for what, asked in (("2,000 names", every_name), ("2,000 long names", long_names), ("all modules", {})):
        yield Asked(
            "POST /mcp: get_module_schema", what, post(surface, orjson.dumps(_call(asked, "get_module_schema")))
        )


# --- batch ------------------------------------------------------------------------------------------------------------


def batches(surface: Surface, turns: Turns) -> Iterator[Asked]:
    row = "POST /mcp: batch"

    def asked(what: str, commands: Any, dry_run: bool = True) -> Asked:
        return Asked(row, what, post(surface, orjson.dumps(_call({"commands": commands, "dry_run": dry_run}, "batch"))))

    def step(number: int, **more: Any) -> dict[str, Any]:
        return {"id": f"s{number}", "module": "lab", "tool_name": "look", **more}

    share = BODY // 50 - 200
    for unit in UNITS:
        yield asked(
            f"50 steps {unit!r}", [step(n, params={"at": repeated(unit, share)}) for n in range(50)], dry_run=False
        )
        yield asked(f"a line {unit!r}", repeated(unit, (1 << 20) - ROOM))
    for unit in turns.units():
        yield asked(f"after {unit!r}", [step(0, after=[repeated(unit, 60_000)] * 50)])
        yield asked(f"id {unit!r}", [step(0) | {"id": repeated(unit, BODY - ROOM)}])
        yield asked(f"module {unit!r}", [step(0) | {"module": repeated(unit, BODY - ROOM)}])
        yield asked(f"field {unit!r}", [step(0) | {repeated(unit, BODY - ROOM): 1}])
        yield asked(f"key {unit!r}", [step(0, params={repeated(unit, BODY - ROOM): 1})])
    for each in turns.shapes():
        line = filled(step(0, params={"at": MARK}), shape(each, (1 << 20) - ROOM)).decode()
        yield asked(f"a line of {each}", line)
    yield asked("lines", "\n" * 9_999)
    yield asked("many lines", "{}\n" * 9_999)
    yield asked("50 lines", "\n".join([json.dumps(step(0, params={"at": "x" * 20_000}))] * 50))
    yield asked("hidden steps", [step(n) | {"module": "made_up" * 20} for n in range(50)])
    yield asked("a cycle", [step(n, after=[f"s{(n + 1) % 50}"]) for n in range(50)])
    yield asked("everybody needs everybody", [step(n, after=[f"s{m}" for m in range(50) if m != n]) for n in range(50)])
    yield asked("a chain", [step(n, after=[f"s{m}" for m in range(n)]) for n in range(50)], dry_run=False)
    for sign in ("a", "ab", "abcdefghij"):
        ids = [(sign * 60)[:60] + f"{n:02}" for n in range(50)]
        wrong = [[(sign * 119)[:119] + mark for mark in "uvwxyz"] for _ in ids]
        alike = [step(0) | {"id": one, "after": after} for one, after in zip(ids, wrong, strict=True)]
        yield asked(f"ids that look alike {sign}", alike)
        fields = [step(n) | {(sign * 119)[:119] + mark: 1 for mark in "uvwxyz"} for n in range(50)]
        yield asked(f"unknown fields {sign}", fields)
        path = "${s0." + (sign * 119)[:119] + "}"
        yield asked(f"unknown paths {sign}", [step(0), *(step(n, params={"at": [path] * 5}) for n in range(1, 50))])
    yield asked("1,000 references each", [step(n, params={"at": ["${s0.said}"] * 1_000}) for n in range(50)])
    yield asked("long references", [step(n, params={"at": "${s0" + ".a" * 64 + "}" * 1}) for n in range(50)])
    yield asked(
        "references to nobody", [step(n, params={"at": [f"${{x{m}}}" for m in range(1_000)]}) for n in range(50)]
    )
    yield asked("unfinished references", [step(n, params={"at": ["${s0" + '["' * 500] * 80}) for n in range(50)])
    yield asked("escapes", [step(n, params={"at": "$${" * 9_000}) for n in range(50)])
    big = {"at": "x" * 900_000}
    use = [step(n, params={"at": "${s0.said}"}) for n in range(1, 50)]
    yield asked("a large result, 49 times", [step(0, params=big), *use], dry_run=False)
    many = [step(n, params={"at": "${s0.said}" * 4}) for n in range(1, 50)]
    yield asked("a large result, 196 times", [step(0, params=big), *many], dry_run=False)
    yield asked(
        "50 large results", [step(n, params={"at": "x" * share}, output=True) for n in range(50)], dry_run=False
    )
    for each in SHAPES:
        inner = '{"at":' + shape(each, share // 2).decode() + "}"
        yield asked(f"50 params as text with {each}", [step(n, params=inner) for n in range(50)], dry_run=False)
    for each in turns.shapes():
        template = _call({"commands": [step(0, params={"at": MARK})]}, "batch")
        yield Asked(row, f"params {each}", post(surface, filled(template, shape(each))))
        template = _call({"commands": [step(0) | {"params": MARK}]}, "batch")
        yield Asked(row, f"step {each}", post(surface, filled(template, shape(each))))


# --- tools ------------------------------------------------------------------------------------------------------------


def tools(surface: Surface, turns: Turns) -> Iterator[Asked]:
    """Every argument at its limit, beyond it, and of another type; alone and together."""
    catalogue = surface.identity.product.catalogue
    for one in (tool for of_module in catalogue.tools.values() for tool in of_module):
        if (one.module, one.tool.name) in (("lab", "wait"), ("lab", "big")):
            continue  # one waits to be told, the other makes what it is asked for
        yield from tool(surface, one, turns)


def tool(surface: Surface, one: CatalogueTool, turns: Turns) -> Iterator[Asked]:
    row, schema = f"tool {one.module}.{one.tool.name}", one.input_schema

    def asked(what: str, params: Any, value: bytes = b"", recorded: bool = False) -> Asked:
        template = _call({"module": one.module, "tool_name": one.tool.name, "params": params})
        return Asked(row, what, post(surface, filled(template, value), recorded=recorded))

    for unit in turns.units():
        whole = values_of(schema, schema, unit, BODY - 4 * ROOM)
        yield asked(f"all at their limits {unit!r}", whole)
        yield asked(f"all at their limits, recorded {unit!r}", whole, recorded=True)
    small = values_of(schema, schema, "a", 4_000)
    for path, its_schema in places(schema, schema):
        if not turns.is_new(its_schema):
            continue
        name = ".".join(map(str, path))
        for unit in turns.units():
            yield asked(f"{name} {unit!r}", replaced(small, path, MARK), text_of(unit))
        for each in turns.shapes():
            yield asked(f"{name} {each}", replaced(small, path, MARK), shape(each))
        wrong = replaced(values_of(schema, schema, "a", 400_000), path, 1)
        yield asked(f"{name} wrong", wrong)
    if not turns.is_new({"fields": len(schema.get("properties", {}))}):
        return
    yield asked("unknown fields", MARK, shape("fields"))
    yield asked("unknown fields, recorded", MARK, shape("fields"), recorded=True)
    for unit in turns.units():
        yield asked(f"unknown field {unit!r}", {**small, repeated(unit, BODY - 2 * ROOM): 1})
        yield asked(f"everything wrong {unit!r}", _everything(schema, unit))


def _everything(schema: Any, unit: str) -> Any:
    """Every text blank or of the unit alone, where a check in Python has to look at each of very many."""
    few = {"a": "\0", " ": " "}.get(unit, unit)
    return _short(values_of(schema, schema, "a", 1_000_000), few)


def _short(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return {name: _short(inner, text) for name, inner in value.items()}
    if isinstance(value, list):
        return [_short(inner, text) for inner in value]
    return text if isinstance(value, str) else value


# --- heads ------------------------------------------------------------------------------------------------------------


def heads(surface: Surface, turns: Turns) -> Iterator[Asked]:
    """Each header that is read, as long as a head may be; and very many of them."""
    body = orjson.dumps(envelope("2025-11-25", "ping"))
    targets = (
        ("POST", "/mcp", body),
        ("GET", "/account", b""),
        ("GET", "/api/v1/me", b""),
        ("POST", "/oauth/token", b""),
    )
    for method, path, content in targets:
        base = dict(post(surface, b"").headers) | {b"cookie": surface.cookie.encode()}
        row = f"{method} {path}: headers"
        for name in HEADERS:
            for unit in turns.units():
                value = _latin(repeated(unit, HEAD - ROOM))
                headers = [*(base | {name.encode(): value}).items()]
                yield Asked(row, f"{name} {unit!r}", Request(method, path, headers=headers, body=content))
                again = [*base.items(), *[(name.encode(), _latin(unit) or b"a")] * 2_000]
                yield Asked(row, f"{name} 2,000 times", Request(method, path, headers=again, body=content))
        for prefix in (b"Bearer ", b"Basic ", b"Bearer eyJ", b"Bearer mcpist_", b"mcpist-session=", b"a=b; "):
            for name in (b"authorization", b"cookie"):
                for filler in (b"a", b".", b"=", b";", b"eyJ.", b"%"):
                    value = prefix + filler * ((HEAD - ROOM) // len(filler))
                    headers = [*(base | {name: value}).items()]
                    yield Asked(row, f"{prefix!r} {filler!r}", Request(method, path, headers=headers, body=content))
        names = [*base.items(), *((b"x-%d" % n, b"a") for n in range(3_000))]
        yield Asked(row, "3,000 headers", Request(method, path, headers=names, body=content))


def _latin(text: str) -> bytes:
    return re.sub(rb"[\0\r\n]", b"x", text.encode())


# --- pages and programs -----------------------------------------------------------------------------------------------


@cache
def field_names() -> tuple[str, ...]:
    """Every name of a field of a form or a query that the trust zone's source reads."""
    found: set[str] = set()
    folders = ("broker/web", "broker/api", "broker/authorization_server", "broker/identity", "broker/connect")
    for folder in (*folders, "broker/connections", "broker/disconnect"):
        for path in (ROOT / folder).rglob("*.py"):
            source = path.read_text(encoding="utf-8")
            found |= set(re.findall(r"""(?:\.get\(|\[|_text\([a-z_]+, )"([a-z][a-z_]{1,40})\"""", source))
    return tuple(sorted(found))


def routes_of(app: Any) -> list[Route]:
    """The routes of the pages and of the endpoints for programs."""
    return [one for one in app._router.routes if isinstance(one, Route)]


def pages(surface: Surface, turns: Turns) -> Iterator[Asked]:
    plain = [
        (b"host", surface.host), (b"origin", surface.identity.url.encode()), (b"cookie", surface.cookie.encode()),
        (b"content-type", b"application/x-www-form-urlencoded"), (b"sec-fetch-site", b"same-origin"),
    ]  # fmt: skip
    as_json = [*plain[:3], (b"content-type", b"application/json")]
    for path in (*METADATA, "/healthz", "/readyz", "/healthcheck", "/made-up"):
        for unit in turns.units():
            query = _escaped(unit, MAX_QUERY_BYTES - 10)
            yield Asked(f"GET {path}", repr(unit), Request("GET", path, query=query, headers=plain))
    bearer = (b"authorization", f"Bearer {surface.admin.token}".encode())
    for method, path in TOOL_ROUTES:
        for unit in turns.units():
            query = _escaped(unit, MAX_QUERY_BYTES - 10)
            body = b"" if method == "GET" else filled({"text": MARK}, text_of(unit))
            headers = [*plain[:3], (b"content-type", b"application/json"), bearer]
            yield Asked(f"{method} {path}", repr(unit), Request(method, path, query=query, headers=headers, body=body))
    names = turns.some(field_names(), 6)
    for route in routes_of(surface.identity.gateway.app.otherwise):
        for method in sorted((route.methods or set()) - {"HEAD", "OPTIONS"}):
            row = f"{method} {route.path}"
            for unit in turns.units():
                yield from page(row, method, route, unit, next(names), plain, as_json)


def page(
    row: str,
    method: str,
    route: Route,
    unit: str,
    names: Sequence[str],
    plain: Sequence[tuple[bytes, bytes]],
    as_json: Any,
) -> Iterator[Asked]:
    path = re.sub(r"\{[^}]*\}", "x", route.path)
    hostile = re.sub(r"\{[^}]*\}", lambda _: _escaped(unit, 8_000).decode(), route.path)
    yield Asked(row, f"path {unit!r}", Request(method, hostile, headers=plain))
    most = MAX_BODY_BYTES if method == "POST" else MAX_QUERY_BYTES
    for name in names:
        given = f"{name}=".encode() + _escaped(unit, most - 200)
        yield Asked(row, f"{name} {unit!r}", _form(method, path, given, plain))
    for what, given in _forms(unit, most):
        yield Asked(row, what, _form(method, path, given, plain))
    if method == "POST":
        yield Asked(row, "more than fits", Request(method, path, headers=plain, body=b"a" * BODY))
        for content in json_documents(unit, names, MAX_BODY_BYTES):
            yield Asked(row, f"JSON {unit!r}", Request(method, path, headers=as_json, body=content))


def _form(method: str, path: str, given: bytes, headers: Any) -> Request:
    if method == "POST":
        return Request(method, path, headers=headers, body=given)
    return Request(method, path, query=given, headers=headers)


def _forms(unit: str, most: int) -> list[tuple[str, bytes]]:
    escaped = _escaped(unit, 300)
    return [
        ("ampersands", b"&" * most), ("equals", b"=" * most), ("percents", b"%" * most),
        ("escapes", b"%25" * (most // 3)),
        ("plus", b"a=" + b"+" * (most - 2)), ("bad UTF-8", b"a=" + b"%ff" * (most // 3 - 1)),
        (f"50 fields {unit!r}", b"&".join(b"f%d=" % n + escaped for n in range(50))),
        ("semicolons", b"a=1;" * (most // 4)), ("one name again and again", b"&".join([b"a=1"] * (most // 4))),
    ]  # fmt: skip


def _escaped(unit: str, size: int) -> bytes:
    encoded = "".join(f"%{byte:02X}" for byte in unit.encode()) if not unit.isalnum() else unit
    return (encoded * (size // len(encoded))).encode("ascii", "replace")


def json_documents(unit: str, names: Sequence[str], most: int) -> Iterator[bytes]:
    """A client that registers itself: every field of its metadata, too long and too many."""
    for name in names:
        yield orjson.dumps({"redirect_uris": ["https://a.example/b"], name: repeated(unit, most - 300)})
    yield orjson.dumps({"redirect_uris": [repeated(unit, 1_900)] * (most // 2_100)})
    for each in SHAPES:
        yield b'{"redirect_uris":' + shape(each, most - 100) + b"}"
        yield shape(each, most - 10)


# --- the admin API ----------------------------------------------------------------------------------------------------


def admin_api(surface: Surface, turns: Turns) -> Iterator[Asked]:
    document = surface.openapi
    headers = [
        (b"host", surface.host), (b"authorization", b"Bearer " + surface.admin.token.encode()),
        (b"content-type", b"application/json"),
    ]  # fmt: skip
    for path, there in document["paths"].items():
        for method, operation in there.items():
            row = f"{method.upper()} {path}"
            for unit in turns.units():
                yield from operation_requests(row, method.upper(), path, operation, document, unit, turns, headers)


def operation_requests(
    row: str,
    method: str,
    path: str,
    operation: Any,
    document: Any,
    unit: str,
    turns: Turns,
    headers: list[tuple[bytes, bytes]],
) -> Iterator[Asked]:
    usual = re.sub(r"\{[^}]*\}", "00000000-0000-0000-0000-000000000000", path)
    hostile = re.sub(r"\{[^}]*\}", lambda _: _escaped(unit, 8_000).decode(), path)
    yield Asked(row, f"path {unit!r}", Request(method, hostile, headers=headers))
    for parameter in operation.get("parameters", ()):
        name = parameter["name"]
        if parameter["in"] == "query":
            query = f"{name}=".encode() + _escaped(unit, MAX_QUERY_BYTES)
            yield Asked(row, f"{name} {unit!r}", Request(method, usual, query=query, headers=headers))
            again = b"&".join([f"{name}=1".encode()] * 4_000)
            yield Asked(row, f"{name} 4,000 times", Request(method, usual, query=again, headers=headers))
        if parameter["in"] == "header":
            given = [*headers, (name.lower().encode(), _latin(repeated(unit, HEAD - ROOM)))]
            yield Asked(row, f"{name} {unit!r}", Request(method, usual, headers=given, body=b"{}"))
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        for what, body in api_bodies(schema, document, unit, turns):
            yield Asked(row, what, Request(method, usual, headers=headers, body=body))


def api_bodies(schema: Any, document: Any, unit: str, turns: Turns) -> Iterator[tuple[str, bytes]]:
    root = {"$defs": document["components"]["schemas"]}
    yield f"all at their limits {unit!r}", orjson.dumps(values_of(schema, root, unit, MOST_API_BODY - 1_000))
    small = values_of(schema, root, "a", 2_000)
    for path, _ in places(schema, root):
        name = ".".join(map(str, path))
        for value in (
            text_of(unit, MOST_API_BODY - 4_000),
            *(shape(each, MOST_API_BODY - 4_000) for each in turns.shapes()),
        ):
            yield f"{name} {unit!r}", filled(replaced(small, path, MARK), value)
    for each in SHAPES:
        yield each, shape(each, MOST_API_BODY - 100)
    yield "more than fits", b" " * (MOST_API_BODY + 1)
    yield "not JSON", b"{" * MOST_API_BODY


# --- the broker's wire ------------------------------------------------------------------------------------------------


def wire_requests(units: Iterable[str]) -> Iterator[Asked]:
    """What a stranger can send to a broker of its own: nobody without a service token gets further."""
    for path in codec.PATHS:
        for unit in units:
            headers = [(b"authorization", b"Bearer " + _latin(repeated(unit, HEAD - ROOM)))]
            yield Asked(f"broker {path}", repr(unit), Request("POST", path, headers=headers, body=b"{}"))
            dotted = [(b"authorization", b"Bearer eyJ" + b"a." * (HEAD // 3))]
            yield Asked(f"broker {path}", "dots", Request("POST", path, headers=dotted, body=b"x" * BODY))
