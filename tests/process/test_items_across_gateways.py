"""Items over two gateways as processes of their own, each of which keeps answers: none is older than what was
acknowledged before it was asked for, whichever gateway wrote."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.postgres import ScratchDatabase
from tests.support.product import Person
from tests.support.split import Split, split_on

pytestmark = pytest.mark.timeout(180)

WRITERS, READERS = 6, 10
WRITES = 15
ITEMS = 3
LIMITS_OFF = {"MCPIST_RATE_PER_SECOND": "100000", "MCPIST_RATE_BURST": "100000", "MCPIST_CONCURRENCY": "1000"}
READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_item_detail", {"type": "note"}),
    ("get_related_items", {"type": "note", "depth": 3}),
    ("find_path", {"from_type": "note", "to_type": "note"}),
    ("search_items", {"query": "marker"}),
    ("get_items", {"type": "note"}),
    ("search_items_by_tag", {"tag": "green"}),
)


@pytest.fixture
async def deployment(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Split]:
    async with split_on(database, tmp_path, variables=LIMITS_OFF) as made:
        yield made


async def call(deployment: Split, person: Person, at: int, tool: str, **params: Any) -> str:
    heard = await deployment.call(person, "items", tool, at=at, **params)
    assert not heard.failed, heard.text
    return heard.text


def read_revision(text: str, number: int) -> int:
    """The revision of an item in an answer."""
    found = re.search(rf'"key":\s*"note-{number}".*?"revision":\s*(\d+)', text, re.DOTALL)
    assert found is not None, text
    return int(found[1])


async def test_no_answer_is_older_than_an_acknowledged_write(deployment: Split) -> None:
    tenant = await deployment.product.tenant("acme", services=["items"])
    ada = await deployment.product.person(tenant, "ada@acme.test", allow=["items.*"])
    for number in range(1, ITEMS + 1):
        related = [f"note-{number - 1}"] if number > 1 else []
        await call(
            deployment, ada, 0, "create_item", type="note", title="marker", related=related, tags=["green"]
        )
    acknowledged = dict.fromkeys(range(1, ITEMS + 1), 1)
    stop = asyncio.Event()

    async def write(writer: int) -> None:
        for nth in range(WRITES):
            number = 1 + (writer + nth) % ITEMS
            text = await call(
                deployment, ada, writer % 2, "update_item", type="note", id=number, content=f"{writer}-{nth}"
            )
            acknowledged[number] = max(acknowledged[number], read_revision(text, number))

    async def read(reader: int) -> int:
        reads = 0
        while not stop.is_set():
            number = 1 + reads % ITEMS
            tool, params = READS[(reader + reads) % len(READS)]
            if tool in ("get_item_detail", "get_related_items"):
                params = {**params, "id": number}
            elif tool == "find_path":
                params = {**params, "from_id": number, "to_id": number}
            least = acknowledged[number]
            text = await call(deployment, ada, reader % 2, tool, **params)
            assert read_revision(text, number) >= least, tool
            reads += 1
        return reads

    began = time.monotonic()
    readers = [asyncio.create_task(read(number)) for number in range(READERS)]
    await asyncio.gather(*(write(number) for number in range(WRITERS)))
    stop.set()
    reads = await asyncio.gather(*readers)
    assert min(reads) > 0
    assert sum(acknowledged.values()) == ITEMS + WRITERS * WRITES, "no write was lost"
    print(f"{sum(reads)} reads beside {WRITERS * WRITES} writes in {time.monotonic() - began:.1f} s")


async def test_what_one_gateway_keeps_ends_with_a_write_through_the_other(deployment: Split) -> None:
    tenant = await deployment.product.tenant("acme", services=["items"])
    ada = await deployment.product.person(tenant, "ada@acme.test", allow=["items.*"])
    await call(deployment, ada, 0, "create_item", type="note", title="marker", tags=["green"])
    await call(deployment, ada, 0, "update_current_state", content="first", updated_by="ada")
    ids = {"id": 1, "from_id": 1, "to_id": 1}
    reads = [
        (tool, {**params, **{name: one for name, one in ids.items() if name.replace("id", "type") in params}})
        for tool, params in READS
    ]
    for revision in range(2, 12):
        for at in (0, 1):
            for tool, params in reads:
                assert read_revision(await call(deployment, ada, at, tool, **params), 1) == revision - 1
            assert f"state {revision - 1}" in await call(deployment, ada, at, "get_current_state") or revision == 2
        await call(deployment, ada, revision % 2, "update_item", type="note", id=1, content=f"text {revision}")
        await call(
            deployment, ada, revision % 2, "update_current_state", content=f"state {revision}", updated_by="ada"
        )
