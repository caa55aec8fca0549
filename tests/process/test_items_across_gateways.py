"""Items over two gateways as processes of their own, each of which keeps answers: none is older than what was
acknowledged before it was asked for, whichever gateway wrote."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
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
READS: tuple[tuple[str, Callable[[int], dict[str, Any]]], ...] = (
    ("get_item_detail", lambda number: {"type": "note", "id": number}),
    ("get_related_items", lambda number: {"type": "note", "id": number, "depth": 3}),
    ("find_path", lambda number: {"from_type": "note", "from_id": number, "to_type": "note", "to_id": number}),
    ("search_items", lambda _number: {"query": "marker"}),
    ("get_items", lambda _number: {"type": "note"}),
    ("search_items_by_tag", lambda _number: {"tag": "green"}),
)
"""Tools whose answers have the revision of an item of this number."""


@pytest.fixture
async def deployment(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Split]:
    async with split_on(database, tmp_path, variables=LIMITS_OFF) as made:
        yield made


@pytest.fixture
async def ada(deployment: Split) -> Person:
    tenant = await deployment.product.tenant("acme", services=["items"])
    return await deployment.product.person(tenant, "ada@acme.test", allow=["items.*"])


async def call(deployment: Split, person: Person, at: int, tool: str, **params: Any) -> str:
    heard = await deployment.call(person, "items", tool, at=at, **params)
    assert not heard.failed, heard.text
    return heard.text


def read_revision(text: str, number: int) -> int:
    """The revision of an item in an answer."""
    found = re.search(rf'"key":\s*"note-{number}".*?"revision":\s*(\d+)', text, re.DOTALL)
    assert found is not None, text
    return int(found[1])


async def test_no_answer_is_older_than_an_acknowledged_write(deployment: Split, ada: Person) -> None:
    for number in range(1, ITEMS + 1):
        related = [f"note-{number - 1}"] if number > 1 else []
        await call(deployment, ada, 0, "create_item", type="note", title="marker", related=related, tags=["green"])
    acknowledged = dict.fromkeys(range(1, ITEMS + 1), 1)
    stop = asyncio.Event()

    async def write(writer: int) -> None:
        for nth in range(WRITES):
            number = 1 + (writer + nth) % ITEMS
            params = {"type": "note", "id": number, "content": f"{writer}-{nth}"}
            text = await call(deployment, ada, writer % 2, "update_item", **params)
            acknowledged[number] = max(acknowledged[number], read_revision(text, number))

    async def read(reader: int) -> int:
        reads = 0
        while not stop.is_set():
            number = 1 + reads % ITEMS
            tool, build_params = READS[(reader + reads) % len(READS)]
            least = acknowledged[number]
            text = await call(deployment, ada, reader % 2, tool, **build_params(number))
            assert read_revision(text, number) >= least, tool
            reads += 1
        return reads

    readers = [asyncio.create_task(read(number)) for number in range(READERS)]
    await asyncio.gather(*(write(number) for number in range(WRITERS)))
    stop.set()
    assert min(await asyncio.gather(*readers)) > 0
    assert sum(acknowledged.values()) == ITEMS + WRITERS * WRITES, "no write was lost"


async def test_what_one_gateway_keeps_ends_with_a_write_through_the_other(deployment: Split, ada: Person) -> None:
    await call(deployment, ada, 0, "create_item", type="note", title="marker", tags=["green"])
    for revision in range(1, 8):
        state = f"state of revision {revision}"
        await call(deployment, ada, revision % 2, "update_current_state", content=state, updated_by="ada")
        for at in (0, 1):
            for tool, build_params in READS:
                assert read_revision(await call(deployment, ada, at, tool, **build_params(1)), 1) == revision
            assert state in await call(deployment, ada, at, "get_current_state")
        await call(deployment, ada, revision % 2, "update_item", type="note", id=1, content=f"text {revision}")
