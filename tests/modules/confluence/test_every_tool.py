"""What every tool of Confluence's goes through."""

from collections.abc import Mapping

import pytest

from modules.confluence import MODULE
from tests.support.confluence_double import ConfluenceDouble
from tests.support.confluence_double.world import World
from tests.support.resource_walk import ResourceWalk
from tests.support.tool_calls import Calls
from tests.support.tool_walk import ToolWalk
from tests.support.vendor_double import VendorRefusal

pytestmark = pytest.mark.asyncio(loop_scope="package")
WORDS = "議事録 ملاحظات"


class TestEveryTool(ToolWalk):
    module = MODULE
    eves = "reader"
    ids = frozenset({"page", "comment", "space", "parent", "reply_to"})
    reads = "/users-bulk"

    def furnish(self, vendor: ConfluenceDouble) -> Calls:
        world = vendor.world = World()
        page = world.add(WORDS, f"<p>{WORDS}</p>")
        world.add("Two", parent=page)
        home = world.pages[page]
        home.titles.append(WORDS)
        home.bodies.append(f"<p>{WORDS} one</p>")
        home.messages.append("")
        home.labels[:] = ["a", "b"]
        home.files[:] = [{"title": "a.txt"}, {"title": "b.txt"}]
        comment, _ = (world.add_comment(page, f"<p>{WORDS}</p>") for _ in range(2))
        for _ in range(2):
            world.add_comment(page, "<p>reply</p>", comment)
        one = {"page": page}
        return {
            "search": {"cql": "type = page"},
            "list_spaces": {},
            "list_pages": {},
            "get_page": one,
            "get_page_children": one,
            "list_versions": one,
            "create_page": {"title": "新しい جديد", "body": "# 議題\n\n- 予算", "space": "ENG"},
            "update_page": {**one, "body_changes": [{"old": "one", "new": "二"}]},
            "delete_page": one,
            "list_comments": one,
            "list_replies": {"comment": comment},
            "get_comment": {"comment": comment},
            "add_comment": {**one, "text": WORDS},
            "update_comment": {"comment": comment, "text": "New"},
            "delete_comment": {"comment": comment},
            "list_labels": one,
            "add_labels": {**one, "labels": ["重要"]},
            "remove_label": {**one, "label": "a"},
            "list_attachments": one,
        }

    def make_keys(self, vendor: ConfluenceDouble) -> Mapping[str, str]:
        vendor.tokens |= {"powerless": set(), "limited": vendor.tokens["full"]}
        return {name: name for name in ("powerless", "reader", "stranger", "limited")}

    def make_limit(self, seconds: int) -> VendorRefusal:
        headers = {"Retry-After": str(seconds), "RateLimit-Reason": "confluence-quota-global-based"}
        return VendorRefusal(429, {"code": 429, "message": "Rate limit exceeded"}, headers)


class TestEveryResource(ResourceWalk):
    walk = TestEveryTool()
    typed = {"id": "議事録"}  # noqa: RUF012

    def attach(self, calls: Calls) -> Mapping[str, Mapping[str, str]]:
        return {"page": {"id": calls["get_page"]["page"]}}
