"""A stateful Notion in memory, built on Notion's own API description: it refuses what Notion would refuse."""

from tests.support.notion_double.server import NotionDouble, notion_double
from tests.support.notion_double.world import Refused, World

__all__ = ["NotionDouble", "Refused", "World", "notion_double"]
