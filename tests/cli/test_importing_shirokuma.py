"""`mcpist import shirokuma`: the files of both forms that its versions write."""

import json
from pathlib import Path
from typing import Any

from cli.moving_in.shirokuma_folder import ShirokumaFolder
from tests.cli.conftest import Home

EXPORTED = {
    "issue/7-検索が遅い.md": """---
id: 7
type: issue
title: "検索が \\"遅い\\" C:\\new"
description: "数秒かかる\\n時々"
status: In Review
priority: HIGH
category: "bug"
version: "1.2.0"
startDate: 2025-08-21T12:21:12.194Z
endDate: 2025-08-22T00:00:00.000Z
aiSummary: "Search is slow"
tags: ["search","日本語, 英語"]
related: [8,99]
keywords: {"search":1,"slow":0.56}
embedding: "gIGAh4CAgoCA"
createdAt: 2025-08-21T12:21:12.194Z
updatedAt: 2025-08-22T13:32:41.000Z
---

# 再現

---
title: no front matter
""",
    "knowledge/8-index.md": """---
id: 8
type: knowledge
title: "Index"
status: Completed
priority: MEDIUM
related: [7]
created: 2025-08-21T12:21:12.194Z
updated: 2025-08-21T12:21:12.194Z
---

text""",
    ".system/current_state/1.md": "---\nid: 1\ntype: system_state\n---\n\nold",
    ".system/current_state/latest.md": """---
id: 2
type: system_state
version: "0.9.0"
tags: ["handover"]
relatedItems: [7]
isActive: true
---

# Now
""",
}
DATA = {
    "issues/issues-1.md": """---
id: 1
title: Fix: the index, again
description:
status: Open
priority: high
tags: [search, slow]
related:
  - docs-1
  - "plans-1"
start_date: 2025-01-10
end_date: null-ish
created_at: 2025-01-24T10:00:00Z
updated_at: 2025-01-24T10:00:00Z
---

Steps""",
    "docs/docs-1.md": '---\nid: 1\ntitle: Guide\ntags: a, b\nrelated: ["issues-1"]\n---\n\nGuide',
    "plans-1.md": "---\nid: 1\ntitle: Plan\npriority: x\nrelated_tasks: issues-1\nrelated_documents: [1]\n---\n\n",
    "sessions/2025-01-29/session-x.md": "---\nid: 2025-01-29-10.30\ntitle: Session\ndate: 2025-01-29\n---\n\nDone",
    "docs/broken.md": "# no front matter",
    "docs/binary.md": "\udcff",
    "odd.md": "---\nid: 1\ntitle: no type\n---\n\n",
    "current_state.md": "---\nupdated_by: ai-finish\ntags: daily\nrelated: issues-1\n---\n\nNext",
}


def write_folder(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return folder


def read_lines(folder: Path) -> tuple[list[Any], dict[str, str]]:
    """Items and statuses, and what was refused."""
    read = list(ShirokumaFolder(folder).read())
    return [json.loads(one.text) for one in read if not one.problem], {
        one.place: one.problem for one in read if one.problem
    }


def test_what_was_exported(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, EXPORTED)
    lines, refused = read_lines(folder)
    assert refused == {}
    assert lines[0] == {
        "statuses": [{"name": "In Review", "is_closed": False}, {"name": "Completed", "is_closed": True}]
    }
    assert lines[1] == {
        "type": "issue",
        "id": 7,
        "title": '検索が "遅い" C:\\new',
        "description": "数秒かかる\n時々",
        "status": "In Review",
        "priority": "HIGH",
        "category": "bug",
        "version": "1.2.0",
        "start_date": "2025-08-21T12:21:12.194Z",
        "end_date": "2025-08-22T00:00:00.000Z",
        "tags": ["search", "日本語, 英語"],
        "related": ["knowledge-8", "99"],
        "created_at": "2025-08-21T12:21:12.194Z",
        "updated_at": "2025-08-22T13:32:41.000Z",
        "content": "# 再現\n\n---\ntitle: no front matter\n",
    }
    assert (lines[2]["related"], lines[2]["created_at"]) == (["issue-7"], "2025-08-21T12:21:12.194Z")
    assert ShirokumaFolder(folder).read_state() == {
        "content": "# Now\n", "updated_by": "import", "related": ["issue-7"], "tags": ["handover"],
    }  # fmt: skip


def test_the_data_folder_of_earlier_versions(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, DATA)
    lines, refused = read_lines(folder)
    assert refused == {
        "docs/broken.md": "has no front matter",
        "docs/binary.md": "is not UTF-8",
        "odd.md": "says no type, in its front matter, its folder or its name",
    }
    items = {(line["type"], line.get("id")): line for line in lines[1:]}
    issue = items["issues", 1]
    assert (issue["title"], issue["priority"], issue["tags"]) == ("Fix: the index, again", "HIGH", ["search", "slow"])
    assert (issue["related"], issue["start_date"], issue["content"]) == (["docs-1", "plans-1"], "2025-01-10", "Steps")
    assert "description" not in issue
    assert (items["docs", 1]["tags"], items["docs", 1]["related"]) == (["a", "b"], ["issues-1"])
    plan = items["plans", 1]
    assert ("priority" in plan, plan["related"]) == (False, ["issues-1", "1"])
    assert items["sessions", None]["start_date"] == "2025-01-29"
    assert ShirokumaFolder(folder).read_state() == {
        "content": "Next", "updated_by": "ai-finish", "related": ["issues-1"], "tags": ["daily"],
    }  # fmt: skip


def test_into_a_running_product(cli: Home, tenant: str, tmp_path: Path) -> None:
    folder = str(write_folder(tmp_path / "export", EXPORTED))
    dry = cli.run("import", "shirokuma", folder, "--tenant", tenant, "--dry-run", "--json").json()
    assert (dry["lines"], dry["has_state"], dry["created"]) == (3, True, 0)
    ended = cli.run("import", "shirokuma", folder, "--tenant", tenant, "--json")
    told = json.loads(ended.out)
    assert (ended.code, told["created"], told["relations"], told["has_state"]) == (1, 2, 1, True)
    assert [one["place"] for one in told["refused"]] == ["issue/7-検索が遅い.md"]

    def ask(tool: str, **params: Any) -> Any:
        return json.loads(cli.run("call", "items", tool, "--params", json.dumps(params), "--tenant", tenant).out)

    issue = ask("get_item_detail", type="issue", id=7)
    assert (issue["status"], issue["start_date"], issue["created_at"]) == (
        "In Review", "2025-08-21T12:21:12.194Z", "2025-08-21T12:21:12.194000Z",
    )  # fmt: skip
    assert ask("get_item_detail", type="knowledge", id=8)["related"] == ["issue-7"]
    state = ask("get_current_state")
    assert (state["content"], state["metadata"]["related"]) == ("# Now\n", ["issue-7"])
    closed = {one["name"] for one in ask("get_statuses")["statuses"] if one["is_closed"]}
    assert "In Review" not in closed
    again = cli.run("import", "shirokuma", folder, "--tenant", tenant, "--replace")
    assert (again.code, "0 created, 2 changed" in again.out) == (1, True)
    assert cli.run("import", "shirokuma", str(tmp_path / "none"), "--tenant", tenant).code == 2
