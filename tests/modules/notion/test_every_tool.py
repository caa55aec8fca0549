"""What every tool of Notion's goes through."""

from collections.abc import Mapping

import pytest

from modules.notion import MODULE
from tests.support.module_app import make_app_fixtures
from tests.support.notion_double import NotionDouble, notion_double
from tests.support.notion_double.world import ALL, Refused, World
from tests.support.resource_walk import ResourceWalk
from tests.support.tool_calls import Calls
from tests.support.tool_walk import ToolWalk
from tests.support.vendor_double import VendorRefusal

pytestmark = pytest.mark.asyncio(loop_scope="module")
WORDS = "議事録 ملاحظات"

vendor, app = make_app_fixtures(MODULE, notion_double, eves="reader")


class TestEveryTool(ToolWalk):
    module = MODULE
    eves = "reader"
    free = frozenset({"get_self"})
    apart = frozenset({"properties"})
    single = frozenset({"get_page_property"})
    ids = frozenset(
        {
            "page_id",
            "parent_id",
            "block_id",
            "database_id",
            "data_source_id",
            "comment_id",
            "discussion_id",
            "after",
            "parent_page_id",
        }
    )
    reads = "/v1/search|/query$"

    def furnish(self, vendor: NotionDouble) -> Calls:
        world = vendor.world = World(vendor.world.tokens)
        page, other = world.page(WORDS)["id"], world.page("Two")["id"]
        world.markdown[page] = f"# {WORDS}\n\none"
        columns = {"Task": {"title": {}}, "Done": {"checkbox": {}}}
        database = world.database(WORDS, {"type": "page_id", "page_id": page}, columns)
        source = database["data_sources"][0]["id"]
        for name in (WORDS, "Two"):
            parent = {"type": "data_source_id", "data_source_id": source, "database_id": database["id"]}
            world.page(name, parent)
        text = {"type": "paragraph", "paragraph": {"rich_text": [{"type": "text", "text": {"content": WORDS}}]}}
        block, _ = (one["id"] for one in world.append(page, [text, text]))
        comment, _ = (vendor.add_comment(page, WORDS) for _ in range(2))
        one = {"page_id": page}
        return {
            "search_pages": {},
            "get_page": one,
            "get_page_markdown": one,
            "get_page_property": {**one, "property_name": "title"},
            "create_page": {"parent_id": page, "title": WORDS, "markdown": "# 議題\n\n- 予算"},
            "update_page": {**one, "title": "New"},
            "update_page_markdown": {**one, "changes": [{"old": "one", "new": "二"}]},
            "move_page": {**one, "parent_id": other},
            "get_block": {"block_id": block},
            "list_block_children": {"block_id": page},
            "append_block_children": {"block_id": page, "markdown": f"{WORDS}\n\ntwo"},
            "update_block": {"block_id": block, "markdown": WORDS},
            "delete_block": {"block_id": block},
            "get_database": {"database_id": database["id"]},
            "get_data_source": {"data_source_id": source},
            "query_data_source": {"data_source_id": source},
            "create_database": {"parent_page_id": page, "title": WORDS, "columns": {"Done": "checkbox"}},
            "update_database": {"database_id": database["id"], "title": "New"},
            "update_data_source": {"data_source_id": source, "add": {"期日": "date"}, "rename": {"Done": "済"}},
            "list_comments": {"block_id": page},
            "get_comment": {"comment_id": comment},
            "create_comment": {"page_id": page, "text": WORDS},
            "update_comment": {"comment_id": comment, "text": "New"},
            "delete_comment": {"comment_id": comment},
            "list_users": {},
            "get_self": {},
        }

    def make_keys(self, vendor: NotionDouble) -> Mapping[str, str]:
        reading = frozenset({"read", "read_comments", "users"})
        vendor.world.tokens |= {"powerless": frozenset(), "reader": reading, "stranger": ALL, "limited": ALL}
        vendor.strangers.add("stranger")
        return {name: name for name in ("powerless", "reader", "stranger", "limited")}

    def make_limit(self, seconds: int) -> VendorRefusal:
        return Refused(429, "rate_limited", "You have been rate limited.", {"Retry-After": str(seconds)})


class TestEveryResource(ResourceWalk):
    walk = TestEveryTool()
    typed = {"page.id": "議事録", "data_source.id": "議事録"}  # noqa: RUF012

    def attach(self, calls: Calls) -> Mapping[str, Mapping[str, str]]:
        return {
            "page": {"id": calls["get_page"]["page_id"]},
            "data_source": {"id": calls["get_data_source"]["data_source_id"]},
        }
