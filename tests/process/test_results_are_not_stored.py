"""No result of a tool is stored and no text of a memo: not in the database, not in the data folder with its write-ahead
log, not in a log.

A vendor puts a marker into everything that it answers. Calls and batches of two tenants run through the whole product,
one of which records the arguments of its calls; then all that there is on disk is searched for the marker. A control,
which a person stored in the knowledge graph, is found by the same searches. So is the summary of a memo, whose text is
found nowhere: not in an audit record, a job or an error either. One product serves both.
"""

import base64
import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import ClientSession, web

from server.postgres.supervisor import attach_server
from tests.process.saved_memos import MEMO_PARTS, SUMMARY, save_in_every_way
from tests.process.tool_client import ToolClient
from tests.server.postgres.conftest import connect
from tests.support.mcp_client import MODERN, NEWEST
from tests.support.running_product import Product, command, data_folder, free_port, start
from tests.support.split import PROGRAM

MARKER = "result-9f3c71d2e8"
CONTROL = "stored-4b1a6c90f7"
ARGUMENT = "argument-77e0d3b5"
TOKENS = {"ada@acme.test": "shop-token-ada-0011223344", "eve@globex.test": "shop-token-eve-5566778899"}
TENANTS = {"ada@acme.test": "acme", "eve@globex.test": "globex"}

EMPTY = bytes(8192)

# Every table of every schema, the system's included: its statistics hold samples of what columns hold.
TABLES = """SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'm') AND c.relpersistence <> 't' AND n.nspname !~ '^pg_temp'"""

pytestmark = pytest.mark.timeout(180)


async def vendor_says(request: web.Request) -> web.Response:
    """The marker in everything: bodies, headers, errors, addresses, and what is no answer at all."""
    if request.path == "/me":
        return web.json_response({"name": "an account"})
    what = request.query.get("what", "")
    marked = {"X-Request-Id": MARKER, "ETag": f'"{MARKER}"'}
    if what.isdigit():
        body = {"message": MARKER, "errors": [{"code": MARKER}]}
        more = {"Retry-After": "1"} if what in ("429", "503") else {}
        return web.json_response(body, status=int(what), headers={**marked, **more})
    if what == "moved":
        return web.Response(status=302, headers={"Location": f"/{MARKER}"})
    if what == "other shape":
        return web.json_response({MARKER: MARKER}, headers=marked)
    if what == "no json":
        return web.Response(text=MARKER, headers=marked)
    return web.json_response({"said": f"{MARKER} {what}", "more": [MARKER] * 500}, headers=marked)


@contextlib.asynccontextmanager
async def chatty_vendor() -> AsyncIterator[str]:
    """Its address."""
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", vendor_says)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def batch_of(*whats: str, refers: bool) -> dict[str, Any]:
    """Steps that look, one that fails, and one that passes the first one's result on."""
    steps = [
        {"id": f"s{n}", "module": "shop", "tool_name": "look", "params": {"what": what}, "output": True}
        for n, what in enumerate(whats)
    ]
    if refers:
        steps.append({"id": "last", "module": "shop", "tool_name": "buy", "params": {"what": "${s0.said}"}})
    return {"commands": steps}


async def works(caller: ToolClient, *, refers: bool) -> int:
    """Every way in which a result comes; how many answers showed the marker."""
    shown: list[Any] = []
    for revision in (NEWEST, MODERN):
        for what in ("tea", "other shape", "no json", "moved", "403", "404", "422", "500"):
            shown += [await caller.call("look", revision, what=what)]
        shown += [await caller.call("buy", revision, what=ARGUMENT)]
        shown += [await caller.tool("batch", batch_of("tea", "500", "cake", refers=refers), revision)]
    shown += [await caller.call("look", what="401")]  # at the end: it may end the credential
    return sum(MARKER in json.dumps(one) for one in shown)


@contextlib.asynccontextmanager
async def two_people(home: Path, product: Product, variables: dict[str, str]) -> AsyncIterator[list[ToolClient]]:
    """One of each tenant, with an account at the shop; what the second one's tenant calls is recorded."""

    async def run(*arguments: str, given: str = "") -> Any:
        return await command(home, product.port, *arguments, program=PROGRAM, given=given, **variables)

    tokens: list[str] = []
    for email, slug in TENANTS.items():
        await run("tenant", "create", slug, "--admin", email)
        await run("service", "enable", "shop", "--tenant", slug)
        await run("credential", "set", "shop", "--user", email, "--tenant", slug, "--stdin", given=TOKENS[email])
        tokens.append((await run("token", "create", "--user", email, "--tenant", slug))["token"])
    await run("tenant", "record-arguments", "on", "--tenant", "globex")
    async with ClientSession() as http:
        yield [ToolClient(http, product.url, token) for token in tokens]


def spellings(text: str) -> Iterator[bytes]:
    """As it is, in hexadecimal and in base64, wherever it begins; of UTF-16, which JSON may be written in, too."""
    for raw in (text.encode(), text.encode("utf-16-le")):
        yield raw
        yield raw.hex().encode()
        for before in range(3):
            yield base64.b64encode(bytes(before) + raw)[4 if before else 0 : -4]


async def find_tables(home: Path, texts: Sequence[str]) -> dict[str, set[str]]:
    """For each text, the tables in any column of which it stands, in any spelling."""
    connection = await connect(await attach_server(home))
    try:
        await connection.execute("ANALYZE")
        tables = [row[0] for row in await connection.fetch(TABLES)]
        assert len(tables) > 100, "with the system's own"
        conditions = ", ".join(f"bool_or({_build_condition(text)})" for text in texts)
        found = {
            table: await connection.fetchrow(f"SELECT {conditions} FROM (SELECT t::text AS row FROM {table} t) t")
            for table in tables
        }
    finally:
        await connection.close()
    return {text: {table for table, has in found.items() if has[place]} for place, text in enumerate(texts)}


def _build_condition(text: str) -> str:
    return " OR ".join(f"strpos(row, '{one.decode('latin-1')}') > 0" for one in spellings(text) if b"\0" not in one)


def find_files(folder: Path, texts: Sequence[str]) -> dict[str, set[str]]:
    """For each text, the files, with the write-ahead log's among them, in which it stands, in any spelling."""
    found: dict[str, set[str]] = {text: set() for text in texts}
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes().replace(EMPTY, b"\0")  # most of a log's segment is
            for text in texts:
                if any(needle in content for needle in spellings(text)):
                    found[text].add(str(path.relative_to(folder)))
    return found


async def save_memos(eve: ToolClient, home: Path, product: Product, variables: dict[str, str]) -> None:
    """Of the tenant that has arguments recorded."""
    enable = ("service", "enable", "memo", "--tenant", "globex")
    await command(home, product.port, *enable, program=PROGRAM, **variables)
    await save_in_every_way(eve, product.url.removesuffix("/mcp"))


@dataclass(frozen=True, slots=True)
class Searched:
    """Where each text was found: in tables of the running product, and in files after its end."""

    tables: dict[str, set[str]]
    files: dict[str, set[str]]
    names: set[str]
    """Of what lies beside the data folder."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def searched() -> Searched:
    """All that is on disk after the work of two people."""
    texts = (MARKER, CONTROL, ARGUMENT, SUMMARY, *MEMO_PARTS)
    async with chatty_vendor() as vendor:
        variables = {"SHOP_URL": vendor, "MCPIST_ALLOWED_PRIVATE_HOSTS": vendor.removeprefix("http://")}
        with data_folder() as home:
            product = await start(home, free_port(), program=PROGRAM, MCPIST_LOG_LEVEL="debug", **variables)
            try:
                async with two_people(home, product, variables) as (ada, eve):
                    assert await works(ada, refers=True) >= 6
                    assert await works(eve, refers=False) >= 6
                    entity = {"name": CONTROL, "entityType": "control", "observations": [CONTROL]}
                    params = {"entities": [entity]}
                    stored = {"module": "knowledge_graph", "tool_name": "create_entities", "params": params}
                    assert not (await ada.tool("call", stored)).get("isError")
                    await save_memos(eve, home, product, variables)
                tables = await find_tables(home, texts)
            finally:
                assert await product.end() == 0
            folder = home.parent  # with the log, which lies beside the data folder
            return Searched(tables, find_files(folder, texts), {path.name for path in folder.iterdir()})


def test_no_result_is_stored_anywhere(searched: Searched) -> None:
    assert searched.tables[MARKER] == set()
    assert searched.tables[CONTROL] == {"modules.kg_entities", "modules.kg_observations"}
    schemas = {one.partition(".")[0] for one in searched.tables[ARGUMENT] - {"pg_catalog.pg_statistic"}}
    assert schemas == {"audit"}, "globex has its arguments recorded"
    assert searched.files[MARKER] == set()
    control = searched.files[CONTROL]
    assert any("pg_wal" in one for one in control), "the write-ahead log was searched"
    assert any("base" in one for one in control)
    assert "log" in searched.names


def test_no_text_of_a_memo_is_stored_anywhere(searched: Searched) -> None:
    assert "search.documents" in {name.partition("_")[0] for name in searched.tables[SUMMARY]}
    for part in MEMO_PARTS:
        assert searched.tables[part] == set()
        assert searched.files[part] == set()
    assert any("pg_wal" in one for one in searched.files[SUMMARY]), "the write-ahead log was searched"
