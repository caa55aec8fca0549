"""Load on a split deployment that checks every answer."""

import asyncio
import json
import time
from typing import Any

import aiohttp

from tests.support.directory import grant, revoke
from tests.support.product import ACTOR, Person
from tests.support.split import Split


class Load:
    """Clients that check every answer. Whose account answered, and whose graph: never somebody else's."""

    def __init__(self, deployment: Split, people: list[Person]) -> None:
        self.split = deployment
        self.people = people
        self.stop = False
        self.served: dict[int, int] = {}
        self.ended: dict[int, int] = {}
        self.slowest = 0.0
        self.errors: dict[str, int] = {}
        self.acknowledged: dict[str, set[str]] = {who.email: set() for who in people}
        self._numbers = iter(range(1_000_000))

    async def work(self, who: Person, number: int) -> None:
        self.served[number] = self.ended[number] = 0
        while not self.stop:
            name = f"{who.email} {next(self._numbers)}"
            if await self.one(who, "shop", "look", what=name):
                self.served[number] += 1
            self.ended[number] += 1
            entity = {"name": name, "entityType": "t", "observations": []}
            if await self.one(who, "knowledge_graph", "create_entities", entities=[entity]):
                self.acknowledged[who.email].add(name)

    async def one(self, who: Person, module: str, tool: str, **params: Any) -> bool:
        """Whether it worked; anything but the right answer or a clear error is the end of the test."""
        began = time.monotonic()
        try:
            heard = await self.split.call(who, module, tool, **params)
        except aiohttp.ClientError:
            self._failed("connection")
            return False
        finally:
            self.slowest = max(self.slowest, time.monotonic() - began)
        if heard.status == 503:
            assert heard.retry_after is not None
            self._failed(heard.text)
            return False
        assert heard.status == 200, heard
        if heard.failed:
            assert "broker is unavailable" in heard.text, heard
            self._failed(heard.text)
            return False
        if module == "shop":
            assert json.loads(heard.text)["said"] == f"{who.email}: {params['what']}"
        return True

    async def churn(self) -> None:
        """Raise the generations, so that every token and every lease is asked for again."""
        console = self.split.product.console
        while not self.stop:
            for who in self.people:
                await grant(console, ACTOR, who.tenant.id, who.email, "deny", "knowledge_graph.delete_entities")
                await revoke(console, ACTOR, who.tenant.id, who.email, "knowledge_graph.delete_entities")
            await asyncio.sleep(0.02)

    async def answers(self, count: int) -> None:
        goal = sum(self.served.values()) + count
        async with asyncio.timeout(30):
            while sum(self.served.values()) < goal:
                await asyncio.sleep(0.02)

    async def everybody_meets_the_outage(self) -> None:
        """Everybody gets an answer, good or bad, to a call that began after this."""
        before = dict(self.ended)
        async with asyncio.timeout(30):
            while not all(self.ended[number] > before[number] + 1 for number in before):
                await asyncio.sleep(0.02)

    async def everybody_is_served(self) -> None:
        """Without anybody's help, soon after the process is back."""
        before = dict(self.served)
        async with asyncio.timeout(15):
            while not all(self.served[number] > before[number] + 1 for number in before):
                await asyncio.sleep(0.02)

    def _failed(self, how: str) -> None:
        self.errors[how] = self.errors.get(how, 0) + 1


async def names(deployment: Split, who: Person) -> set[str]:
    found: set[str] = set()
    cursor: dict[str, Any] = {}
    while True:
        heard = await deployment.call(who, "knowledge_graph", "read_graph", limit=100, **cursor)
        page = json.loads(heard.text)
        found |= {entity["name"] for entity in page["entities"]}
        if not page.get("nextCursor"):
            return found
        cursor = {"cursor": page["nextCursor"]}
