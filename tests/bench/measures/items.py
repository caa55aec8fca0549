"""IT: reads of 100,000 items with 300,000 relations, each beside a plain query on the same tables."""

import asyncio
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg

from server.data_folder import attach_database
from tests.bench.client import Client
from tests.bench.item_population import ITEMS, TYPES, WORDS, fill_workspace
from tests.bench.lab import Lab
from tests.bench.product import unlimited
from tests.bench.report import Result, Row

WARMING = 20
"""Calls before those that are timed: the first make plans and open connections."""
Params = dict[str, Any]

SINGLE = """SELECT i.*, ARRAY(SELECT target FROM modules.item_relations r WHERE r.tenant_id = $1 AND r.workspace_id = $2
    AND r.source = i.id) FROM modules.items i
    WHERE i.tenant_id = $1 AND i.workspace_id = $2 AND i.type = $3 AND i.number = $4"""
LIST = """SELECT id, type, number, title, status, priority, tags, revision, created_at, updated_at FROM modules.items
    WHERE tenant_id = $1 AND workspace_id = $2 AND type = $3 AND status = $4
    ORDER BY updated_at DESC, id DESC OFFSET $5 LIMIT 20"""
SEARCH = """WITH found AS MATERIALIZED (SELECT id, title, updated_at FROM modules.items
        WHERE tokens @@ $3::text::tsquery AND tenant_id = $1 AND workspace_id = $2)
    SELECT id, title, updated_at FROM found ORDER BY updated_at DESC LIMIT 20"""
AROUND = """WITH RECURSIVE walk (id, depth) AS (
        SELECT id, 0 FROM modules.items WHERE tenant_id = $1 AND workspace_id = $2 AND type = $3 AND number = $4
        UNION SELECT CASE WHEN r.source = w.id THEN r.target ELSE r.source END, w.depth + 1
        FROM walk w JOIN modules.item_relations r ON r.tenant_id = $1 AND r.workspace_id = $2
            AND (r.source = w.id OR r.target = w.id) WHERE w.depth < $5)
    SELECT i.id, i.type, i.number, i.title, min(w.depth) FROM walk w
    JOIN modules.items i ON i.tenant_id = $1 AND i.workspace_id = $2 AND i.id = w.id
    GROUP BY 1, 2, 3, 4 ORDER BY 5, 1 DESC LIMIT 51"""


@dataclass(frozen=True, slots=True)
class ItemRead:
    """A kind of read: the tool, what it `must` take (milliseconds of 95 in 100), its parameters where each type has so
    many items, and the plain query for them, if there is one."""

    what: str
    tool: str
    must: float | None
    choose: Callable[[random.Random, int], Params]
    plain: str = ""
    arguments: Callable[[Params], tuple[Any, ...]] = lambda _params: ()


@dataclass(frozen=True, slots=True)
class FilledWorkspace:
    """The workspace that is read, and the database as its administrator sees it."""

    admin: Any
    tenant: Any
    id: Any
    number: int
    items: int


def choose_item(chance: random.Random, of_type: int) -> Params:
    return {"type": chance.choice(TYPES), "id": chance.randint(1, of_type)}


def choose_list(chance: random.Random, _of_type: int) -> Params:
    status = chance.choice(("Open", "In Progress", "Review", "Completed"))
    return {"type": chance.choice(TYPES), "statuses": [status], "offset": chance.randint(0, 200)}


def choose_words(chance: random.Random, _of_type: int) -> Params:
    """A query of a few words, frequent and rare ones."""
    return {"query": " ".join(f"w{int(WORDS ** chance.random())}" for _ in range(chance.randint(1, 4)))}


def choose_tag(chance: random.Random, _of_type: int) -> Params:
    return {"tag": f"tag{chance.randint(1, 199)}", "limit": 20}


def choose_ends(chance: random.Random, of_type: int) -> Params:
    first, last = choose_item(chance, of_type), choose_item(chance, of_type)
    return {"from_type": first["type"], "from_id": first["id"], "to_type": last["type"], "to_id": last["id"]}


def name_item(params: Params) -> tuple[Any, ...]:
    return params["type"], params["id"]


READS = (
    ItemRead("single item", "get_item_detail", 2, choose_item, SINGLE, name_item),
    ItemRead("the same item again", "get_item_detail", None, lambda _chance, _of_type: {"type": "task", "id": 7}),
    ItemRead("list of 20", "get_items", 10, choose_list, LIST, lambda p: (p["type"], p["statuses"][0], p["offset"])),
    ItemRead("full text", "search_items", 20, choose_words, SEARCH, lambda p: (p["query"],)),
    ItemRead("depth 1", "get_related_items", 20, choose_item, AROUND, lambda p: (*name_item(p), 1)),
    ItemRead(
        "depth 3",
        "get_related_items",
        60,
        lambda chance, of_type: {**choose_item(chance, of_type), "depth": 3},
        AROUND,
        lambda params: (*name_item(params), 3),
    ),
    ItemRead("path", "find_path", None, choose_ends),
    ItemRead("suggestions", "search_suggest", None, lambda chance, _: {"query": f"w{chance.randint(1, 999)}"}),
    ItemRead(
        "tag", "search_items_by_tag", None, lambda chance, _: {"tag": f"tag{chance.randint(1, 199)}", "limit": 20}
    ),
)


def measure(lab: Lab) -> list[Result]:
    """One kind of read after the other, one call at a time."""
    product = lab.new_product("items")
    client = product.client()
    client.call("items", "create_item", type="task", title="The first")
    rounds = 20 if lab.options.quick else 500

    async def run() -> list[Row]:
        settings = unlimited(product.home, product.port, product.upstream)
        async with attach_database(settings, lambda _text: None) as deployment:
            admin: Any = await asyncpg.connect(**deployment.admin.connect_args())
            try:
                filled = await _fill(lab, admin)
                return [row for read in READS for row in await _measure_read(filled, client, read, rounds)]
            finally:
                await admin.close()

    try:
        return [Result(tuple(asyncio.run(run())))]
    finally:
        client.close()


async def _fill(lab: Lab, admin: Any) -> FilledWorkspace:
    found = await admin.fetchrow("SELECT tenant_id, id, number, user_id FROM modules.item_workspaces")
    await admin.execute("DELETE FROM modules.items")
    items = 2_000 if lab.options.quick else ITEMS
    lab.progress(f"writing {items:,} items")
    await fill_workspace(admin, found["tenant_id"], found["id"], found["number"], found["user_id"], items)
    return FilledWorkspace(admin, found["tenant_id"], found["id"], found["number"], items)


async def _measure_read(filled: FilledWorkspace, client: Client, read: ItemRead, rounds: int) -> list[Row]:
    async def call(params: Params) -> None:
        client.call("items", read.tool, **params)  # nothing else runs on this loop

    async def ask(params: Params) -> None:
        arguments = read.arguments(params)
        if read.tool == "search_items":
            arguments = (" & ".join(f"'{filled.number}:{word}'" for word in params["query"].split()),)
        await filled.admin.fetch(read.plain, filled.tenant, filled.id, *arguments)

    chance, of_type = random.Random(5), filled.items // len(TYPES)
    chosen = [read.choose(chance, of_type) for _ in range(WARMING + rounds)]
    rows = _make_rows(read.what, await _time(call, chosen), read.must)
    if read.plain:
        rows += _make_rows(f"{read.what}, the plain query alone", await _time(ask, chosen))
    return rows


async def _time(run: Callable[[Params], Awaitable[None]], chosen: Sequence[Params]) -> list[float]:
    """Return the milliseconds of each call but the first."""
    times: list[float] = []
    for params in chosen:
        began = time.perf_counter()
        await run(params)
        times.append((time.perf_counter() - began) * 1000)
    return sorted(times[WARMING:])


def _make_rows(what: str, times: Sequence[float], must: float | None = None) -> list[Row]:
    p95 = times[int(len(times) * 0.95)]
    return [
        Row("IT", f"{what}, p50", "ms", (statistics.median(times),), more_is_better=False),
        Row("IT", f"{what}, p95", "ms", (p95,), must, more_is_better=False),
    ]
