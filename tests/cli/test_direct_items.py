"""Items in the direct form of their document: plain tools over standard input and output, called as a client does that
was written for it."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.conftest import Home
from tests.cli.test_stdio import HELLO, Session, session

STATUSES = ("Open", "Specification", "Waiting", "Ready", "In Progress", "Review", "Testing", "Pending")
WHOLE = {
    "type": "issues",
    "title": "検索が遅い",
    "description": "数秒かかる",
    "content": "# 再現\n\n1. 検索する",
    "status": "Open",
    "priority": "HIGH",
    "category": "bug",
    "start_date": "2026-01-10",
    "end_date": "2026-01-20",
    "version": "1.2.0",
    "related": ["docs-1"],
    "tags": ["search", "slow"],
}


class DirectClient:
    """A client that knows the tools by their names in the document, and reads JSON."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._id = 0

    def ask(self, method: str, **params: Any) -> Any:
        self._id += 1
        answer = self._session.ask({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        assert answer["id"] == self._id
        return answer

    def call(self, tool: str, **arguments: Any) -> Any:
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        assert not result["isError"], result
        told = json.loads(result["content"][0]["text"])
        assert told == result["structuredContent"]
        return told

    def fail(self, tool: str, **arguments: Any) -> Any:
        """The document's error object, whose message the text begins with."""
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        assert result["isError"], result
        error = result["structuredContent"]
        first, second = result["content"][0]["text"].splitlines()
        assert (first, json.loads(second)) == (error["message"], error)
        assert error.keys() == {"code", "message", "data"}
        assert error["data"].keys() == {"type", "details", "timestamp"}
        return error


@pytest.fixture
def client(cli: Home, tenant: str) -> Iterator[DirectClient]:
    with contextlib.ExitStack() as stack:
        opened = stack.enter_context(session(cli, "--tenant", tenant, "--module", "items"))
        opened.ask(HELLO)
        yield DirectClient(opened)
        opened.end()


def test_single_items(client: DirectClient) -> None:
    assert "create_item" in {tool["name"] for tool in client.ask("tools/list")["result"]["tools"]}
    docs = client.call("create_item", type="docs", title="Guide")
    assert (docs["id"], docs["type"], docs["status"], docs["priority"]) == (1, "docs", "Open", "MEDIUM")
    assert (docs["description"], docs["content"], docs["related"], docs["tags"]) == ("", "", [], [])
    made = client.call("create_item", **WHOLE)
    assert {name: made[name] for name in WHOLE} == WHOLE
    assert made["id"] == 1
    assert made["created_at"] == made["updated_at"]
    for id in (1, "1", "issues-1"):
        assert client.call("get_item_detail", type="issues", id=id) == made
    for change in (
        {"title": "速くなった"},
        {"status": "Closed", "priority": "MINIMAL"},
        {"related": [], "tags": ["x"]},
    ):
        changed = client.call("update_item", type="issues", id=1, **change)
        assert {name: changed[name] for name in change} == change
        assert changed["content"] == WHOLE["content"]
    assert client.call("get_items", type="issues")["items"] == []
    (listed,) = client.call("get_items", type="issues", includeClosedStatuses=True)["items"]
    assert (listed["id"], listed["title"]) == (1, "速くなった")
    assert not {"description", "content"} & listed.keys()
    assert len(client.call("get_items", type="issues", statuses=["Closed", "Open"], limit=100)["items"]) == 1
    day = made["created_at"][:10]
    limited = client.call("get_items", type="docs", start_date=day, end_date="2999-12-31")
    assert [one["id"] for one in limited["items"]] == [1]
    assert client.call("delete_item", type="issues", id=1)["deleted"]


def test_dates_may_have_a_time_and_titles_are_as_sent(client: DirectClient) -> None:
    moments = ("2025-01-29T10:00:00Z", "2025-01-29T19:00:00.000+09:00")
    for start, end in (moments, ("2025-01-29", moments[0]), (moments[0], "2025-01-29")):
        made = client.call("create_item", type="plans", title="a\tb\n c ", start_date=start, end_date=end)
        assert (made["start_date"], made["end_date"], made["title"]) == (start, end, "a\tb\n c ")
        assert made["created_at"] == made["updated_at"]
    listed = client.call("get_items", type="plans")["items"][-1]
    assert (listed["start_date"], listed["end_date"]) == moments
    assert "start_date" not in client.call("update_item", type="plans", id=1, start_date="")
    later = client.call("update_item", type="plans", id=1, start_date="2025-01-29T09:59:59Z", end_date=moments[0])
    assert later["start_date"] == "2025-01-29T09:59:59Z"
    for end in ("2025-01-29T09:59:58Z", "2025-01-29T18:59:58+09:00", "2025-01-28"):
        error = client.fail("update_item", type="plans", id=1, end_date=end)
        assert (error["code"], error["data"]["details"]["field"]) == (1002, "end_date")
    for wrong in ("2026-02-30", "2026-02-01T25:00:00Z", "20260201", "tomorrow", "2026-02-01T10"):
        details = client.fail("create_item", type="plans", title="x", start_date=wrong)["data"]["details"]
        assert (details["field"], details["value"]) == ("start_date", wrong)
        assert "such as 2026-01-31" in details["constraint"]


def test_large_answers_are_whole(client: DirectClient) -> None:
    """A client that was written for the document knows no result in parts, and would write back what it was shown."""
    for content in ("".join(chr(33 + place % 90) for place in range(102_400)), "設計の資料を読む。" * 11_377):
        made = client.call("create_item", type="docs", title="long", content=content)
        assert made["content"] == content
        assert client.call("get_item_detail", type="docs", id=made["id"])["content"] == content
        assert client.call("update_current_state", content=content)["content"] == content
        assert client.call("get_current_state")["content"] == content
    # What fits no answer is shown in part, and is written all the same.
    made = client.call("create_item", type="docs", title="control", content="\x01" * 102_400)
    assert made["partial"]["bytes"] > 600_000
    assert client.call("get_items", type="docs")["items"][0]["title"] == "control"
    for _ in range(4):
        client.call("update_current_state", content="状態" * 51_200)
    assert "partial" in client.call("get_state_history")
    for number in range(20):
        tags = [f"a tag with a long name, number {number}-{place}" for place in range(50)]
        client.call("create_item", type="docs", title="tagged", tags=tags)
    assert len(client.call("get_tags")["tags"]) == 1_000


def test_a_bulk_update_names_an_unknown_field(client: DirectClient) -> None:
    client.call("create_item", type="docs", title="there")
    updates = [{"type": "docs", "id": 1, "data": {"titel": "x"}}, {"type": "docs", "id": 1, "data": {}, "more": 1}]
    errors = client.fail("bulk_update", updates=updates)["data"]["details"]["errors"]
    assert [one["field"] for one in errors] == ["data.titel", "more"]


def test_searches_and_the_graph(client: DirectClient) -> None:
    client.call("create_item", type="docs", title="検索の設計", content="索引は日本語も英語も扱う", tags=["search"])
    client.call("create_item", type="issues", title="Search is slow", related=["docs-1"], tags=["search"])
    client.call("create_item", type="issues", title="c", description="slow, too", related=["issues-1"])

    def list_keys(answer: Any) -> list[str]:
        return [one["key"] for one in answer["items"]]

    assert list_keys(client.call("search_items", query="日本語")) == ["docs-1"]
    assert list_keys(client.call("search_items", query="slow")) == ["issues-1", "issues-2"]
    assert list_keys(client.call("search_items", query="slow", types=["issues"], limit=1, offset=1)) == ["issues-2"]
    assert client.call("search_suggest", query="Sea", types=["issues"], limit=5)["suggestions"] == ["Search is slow"]
    assert list_keys(client.call("search_items_by_tag", tag="search", types=["docs"])) == ["docs-1"]
    around = client.call("get_related_items", type="docs", id=1, depth=2, max_results=50)
    assert around["center_item"]["key"] == "docs-1"
    told = [(one["item"]["key"], one["distance"], one["relationship"]) for one in around["related_items"]]
    assert told == [("issues-1", 1, "direct"), ("issues-2", 2, "indirect")]
    assert around["graph_stats"] == {"total_nodes": 3, "total_edges": 2, "max_depth": 2}
    found = client.call("find_path", from_type="docs", from_id=1, to_type="issues", to_id=2, max_depth=5)
    (path,) = found["paths"]
    assert (list_keys(path), path["length"], path["weight"]) == (["docs-1", "issues-1", "issues-2"], 2, 0.5)
    assert (found["shortest_path_length"], found["total_paths_found"]) == (2, 1)
    assert client.call("semantic_search", query="索引", limit=10).keys() >= {"items", "pending"}


def test_tags_statuses_and_states(client: DirectClient) -> None:
    client.call("create_item", type="items", title="a", tags=["x", "y"])
    client.call("create_item", type="items", title="b", tags=["x"])
    assert client.call("get_tags")["tags"] == [{"name": "x", "count": 2}, {"name": "y", "count": 1}]
    statuses = client.call("get_statuses")["statuses"]
    assert [one["name"] for one in statuses if not one["is_closed"]] == list(STATUSES)
    assert [one["name"] for one in statuses if one["is_closed"]] == ["Completed", "Closed", "Canceled"]
    assert client.call("get_current_state")["content"] == ""
    saved = client.call(
        "update_current_state", content="# 今", updated_by="ai-start", related=["items-1"], tags=["daily"]
    )
    state = client.call("get_current_state")
    assert state == saved
    assert state["content"] == "# 今"
    metadata = state["metadata"]
    assert (metadata["updated_by"], metadata["related"], metadata["tags"]) == ("ai-start", ["items-1"], ["daily"])
    assert metadata["updated_at"]


def test_types_and_several_at_once(client: DirectClient) -> None:
    client.call("create_item", type="issues", title="a", content="c", tags=["x"])
    client.call("create_item", type="docs", title="b", related=["issues-1"])
    moved = client.call("change_item_type", from_type="issues", from_id=1, to_type="knowledge")
    assert (moved["type"], moved["id"], moved["content"], moved["tags"]) == ("knowledge", 1, "c", ["x"])
    assert client.call("get_item_detail", type="docs", id=1)["related"] == ["knowledge-1"]
    assert client.call("get_items", type="issues", includeClosedStatuses=True)["items"] == []
    updates = [
        {"type": "knowledge", "id": 1, "data": {"status": "Review", "tags": ["z"]}},
        {"type": "docs", "id": 1, "data": {"priority": "LOW"}},
    ]
    assert client.call("bulk_update", updates=updates)["count"] == 2
    assert client.call("get_item_detail", type="knowledge", id=1)["status"] == "Review"


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "type", "details"),
    [
        (
            "get_item_detail", {"type": "docs", "id": 9},
            1001, "ItemNotFoundError", {"type": "docs", "id": 9, "requested_id": "docs-9"},
        ),
        ("get_items", {"type": "docs", "workspace": "a\0b"}, 1002, "ValidationError", {"field": "workspace"}),
        (
            "create_workspace", {"name": "x", "owner": "role", "role": "a\0b"},
            1002, "ValidationError", {"field": "role"},
        ),
        ("semantic_search", {"query": " \t"}, 1002, "ValidationError", {"field": "query", "constraint": "is blank"}),
        ("create_item", {"type": "docs"}, 1002, "ValidationError", {"field": "title", "constraint": "is required"}),
        (
            "create_item", {"type": "docs", "title": " \t"},
            1002, "ValidationError", {"field": "title", "value": " \t", "constraint": "is blank"},
        ),
        ("create_item", {"type": "docs", "title": "x" * 201}, 1002, "ValidationError", {"field": "title"}),
        ("create_item", {"type": "a\x07", "title": "x"}, 1002, "ValidationError", {"field": "type"}),
        ("create_item", {"type": "\u0958" * 64, "title": "x"}, 1002, "ValidationError", {"field": "type"}),
        (
            "create_item", {"type": "docs", "title": "x", "content": "x" * 102_401},
            1002, "ValidationError", {"field": "content"},
        ),
        (
            "create_item", {"type": "docs", "title": "x", "description": "x" * 1_001},
            1002, "ValidationError", {"field": "description"},
        ),
        (
            "create_item", {"type": "docs", "title": "x", "tags": ["a", "x" * 1_000]},
            1002, "ValidationError", {"field": "tags[1]"},
        ),
        (
            "create_item", {"type": "docs", "title": "x", "priority": "URGENT"},
            1002, "ValidationError", {"field": "priority", "value": "URGENT"},
        ),
        (
            "create_item", {"type": "docs", "title": "x", "start_date": "2026-1-1"},
            1002, "ValidationError", {"field": "start_date", "value": "2026-1-1"},
        ),
        (
            "create_item", {"type": "docs", "title": "x", "start_date": "2026-02-02", "end_date": "2026-02-01"},
            1002, "ValidationError", {"field": "end_date", "value": "2026-02-01"},
        ),
        (
            "create_item", {"type": "docs", "title": "x", "status": "Odd"},
            1004, "ConstraintViolationError", {"constraint": "known_status"},
        ),
        (
            "create_item", {"type": "docs", "title": "x", "related": ["docs-99"]},
            1001, "ItemNotFoundError", {"requested_id": "docs-99"},
        ),
        ("get_items", {"type": "docs", "limit": 101}, 1002, "ValidationError", {"field": "limit", "value": 101}),
        ("bulk_update", {"updates": []}, 1002, "ValidationError", {"field": "updates"}),
        (
            "bulk_update", {"updates": [{"type": "docs", "id": 1, "data": {"title": ""}}, {"type": "docs", "id": 9}]},
            1002, "ValidationError", {"index": 0, "field": "data.title"},
        ),
    ],
)  # fmt: skip
def test_errors(
    client: DirectClient, tool: str, arguments: dict[str, Any], code: int, type: str, details: dict[str, Any]
) -> None:
    client.call("create_item", type="docs", title="there")
    error = client.fail(tool, **arguments)
    assert (error["code"], error["data"]["type"]) == (code, type)
    assert details.items() <= error["data"]["details"].items()
    assert len(json.dumps(error)) < 2_000
