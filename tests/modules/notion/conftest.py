"""A Notion with a page and a database, and a caller for each connection."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from modules.notion import MODULE
from tests.support.notion_double import NotionDouble, World, notion_double
from tests.support.plain_vendor import VendorCaller, vendor_callers


@dataclass(frozen=True)
class NotionApp:
    """A workspace with the page `home` and the database of `tasks`; the connection `reader` may only read content."""

    notion: NotionDouble
    home: str
    database: str
    tasks: str
    caller: Callable[[str], VendorCaller]

    @property
    def world(self) -> World:
        return self.notion.world

    async def call(self, tool: str, **params: Any) -> dict[str, Any]:
        return await self.caller("full").call(tool, **params)


@pytest.fixture
async def app() -> AsyncIterator[NotionApp]:
    async with notion_double() as double, vendor_callers() as callers:
        home = double.world.page("Home")["id"]
        columns = {
            "Task": {"title": {}}, "Done": {"checkbox": {}}, "Due": {"date": {}}, "Points": {"number": {}},
            "State": {"select": {"options": [{"name": "Open"}, {"name": "Closed"}]}}, "Notes": {"rich_text": {}},
            "Tags": {"multi_select": {"options": [{"name": "red"}]}}, "Who": {"people": {}}, "Link": {"url": {}},
            "Made": {"created_time": {}},
        }  # fmt: skip
        database = double.world.database("Tasks", {"type": "page_id", "page_id": home}, columns)
        tasks = database["data_sources"][0]["id"]
        yield NotionApp(double, home, database["id"], tasks, lambda token: callers(MODULE, double.url, token))
