"""No result of a tool is stored: not in the database, not in the data folder with its write-ahead log, not in a log.

A vendor puts a marker into everything that it answers. Calls and batches of two tenants run through the whole product,
one of which records the arguments of its calls; then all that there is on disk is searched for the marker. A control,
which a person stored in the knowledge graph, is found by the same searches.
"""

import base64
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, web

from server.postgres.supervisor import attach_server
from tests.server.postgres.conftest import connect
from tests.support.mcp_client import MODERN, NEWEST, envelope, headers_for, messages_in
from tests.support.running_product import Product, command, data_folder, free_port, start
from tests.support.split import PROGRAM

MARKER = "result-9f3c71d2e8"
PROGRAMS = "bin"
CONTROL = "stored-4b1a6c90f7"
ARGUMENT = "argument-77e0d3b5"
TOKENS = {"ada@acme.test": "shop-token-ada-0011223344", "eve@globex.test": "shop-token-eve-5566778899"}
TENANTS = {"ada@acme.test": "acme", "eve@globex.test": "globex"}

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


@dataclass(slots=True)
class Caller:
    """One person's client."""

    http: ClientSession
    url: str
    token: str

    async def tool(self, name: str, arguments: dict[str, Any], revision: str = NEWEST) -> Any:
        params: dict[str, Any] = {"name": name, "arguments": arguments, "_meta": {"progressToken": "p"}}
        message = envelope(revision, "tools/call", params, 1)
        headers = {**headers_for(revision, "tools/call", params), "Authorization": f"Bearer {self.token}"}
        async with self.http.post(self.url, json=message, headers=headers) as answer:
            body = await answer.read()
        return messages_in(body, answer.headers.get("content-type", ""))[-1]["result"]

    async def call(self, tool: str, revision: str = NEWEST, **params: Any) -> Any:
        return await self.tool("call", {"module": "shop", "tool_name": tool, "params": params}, revision)


def batch_of(*whats: str, refers: bool) -> dict[str, Any]:
    """Steps that look, one that fails, and one that passes the first one's result on."""
    steps = [
        {"id": f"s{n}", "module": "shop", "tool_name": "look", "params": {"what": what}, "output": True}
        for n, what in enumerate(whats)
    ]
    if refers:
        steps.append({"id": "last", "module": "shop", "tool_name": "buy", "params": {"what": "${s0.said}"}})
    return {"commands": steps}


async def works(caller: Caller, *, refers: bool) -> int:
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
async def two_people(home: Path, product: Product, variables: dict[str, str]) -> AsyncIterator[list[Caller]]:
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
        yield [Caller(http, product.url, token) for token in tokens]


def spellings(text: str) -> Iterator[bytes]:
    """As it is, in hexadecimal and in base64, wherever it begins; of UTF-16, which JSON may be written in, too."""
    for raw in (text.encode(), text.encode("utf-16-le")):
        yield raw
        yield raw.hex().encode()
        for before in range(3):
            yield base64.b64encode(bytes(before) + raw)[4 if before else 0 : -4]


async def tables_with(home: Path, text: str) -> set[str]:
    """The tables in any column of which `text` stands, in any spelling."""
    connection = await connect(await attach_server(home))
    try:
        await connection.execute("ANALYZE")
        tables = [row[0] for row in await connection.fetch(TABLES)]
        assert len(tables) > 100, "with the system's own"
        condition = " OR ".join(
            f"strpos(t::text, '{one.decode('latin-1')}') > 0" for one in spellings(text) if b"\0" not in one
        )
        return {
            table for table in tables if await connection.fetchval(f"SELECT count(*) FROM {table} t WHERE {condition}")
        }
    finally:
        await connection.close()


def files_with(folder: Path, *texts: str) -> list[set[str]]:
    """The files, with the write-ahead log's among them, in which each text stands, in any spelling. Those of
    PostgreSQL's programs, which were there before, are left out."""
    found: list[set[str]] = [set() for _ in texts]
    needles = [list(spellings(text)) for text in texts]
    for path in folder.rglob("*"):
        if path.is_file() and PROGRAMS not in path.parts:
            content = path.read_bytes()
            for files, spelled in zip(found, needles, strict=True):
                if any(needle in content for needle in spelled):
                    files.add(str(path.relative_to(folder)))
    return found


async def test_no_result_is_stored_anywhere() -> None:
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
                assert await tables_with(home, MARKER) == set()
                assert await tables_with(home, CONTROL) == {"modules.kg_entities", "modules.kg_observations"}
                recorded = await tables_with(home, ARGUMENT)
                schemas = {one.partition(".")[0] for one in recorded - {"pg_catalog.pg_statistic"}}
                assert schemas == {"audit"}, "globex has its arguments recorded"
            finally:
                assert await product.end() == 0
            folder = home.parent  # with the log, which lies beside the data folder
            marked, control = files_with(folder, MARKER, CONTROL)
            assert marked == set()
            assert any("pg_wal" in one for one in control), "the write-ahead log was searched"
            assert any("base" in one for one in control)
            assert "log" in {path.name for path in folder.iterdir()}
