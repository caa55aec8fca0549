"""What a Jira site holds: a project, its people, fields, workflow and issues."""

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

ADA = {"accountId": "5b10a2844c20165700ede21g", "displayName": "Ada Lovelace", "active": True,
       "accountType": "atlassian", "timeZone": "Europe/London"}  # fmt: skip
BOB = {"accountId": "557058:295406f3", "displayName": "ボブ", "active": True, "accountType": "atlassian"}
MOMENT = "2026-01-31T12:00:00.000+0100"
LATER = "2026-01-31T12:30:00.000+0100"
FIELDS: list[Json] = [
    {"id": "summary", "name": "Summary", "custom": False, "schema": {"type": "string", "system": "summary"}},
    {"id": "description", "name": "Description", "custom": False,
     "schema": {"type": "string", "system": "description"}},
    {"id": "duedate", "name": "Due date", "custom": False, "schema": {"type": "date", "system": "duedate"}},
    {"id": "resolution", "name": "Resolution", "custom": False,
     "schema": {"type": "resolution", "system": "resolution"}},
    *({"id": f"customfield_{10_000 + number}", "name": name, "custom": True, "schema": schema}
      for number, (name, schema) in enumerate([
          ("Team", {"type": "option"}), ("Colours", {"type": "array", "items": "option"}),
          ("Story points", {"type": "number"}), ("Notes", {"type": "string", "custom": "a.b:textarea"}),
          ("Tester", {"type": "user"}), ("Starts", {"type": "datetime"}), ("Place", {"type": "option-with-child"}),
          ("Twice", {"type": "string"}), ("Twice", {"type": "string"}), ("Day", {"type": "date"})])),
]  # fmt: skip
TYPES: list[Json] = [
    {"id": "10001", "name": "Task", "description": "A task", "subtask": False},
    {"id": "10002", "name": "Bug", "description": "", "subtask": False},
]
LINK_TYPES: list[Json] = [
    {"id": "1", "name": "Blocks", "inward": "is blocked by", "outward": "blocks"},
    {"id": "2", "name": "Relates", "inward": "relates to", "outward": "relates to"},
]
STATUSES = {"1": "To Do", "2": "In Progress", "3": "Done"}
STEPS: list[Json] = [
    {"id": "11", "name": "Start", "to": "2"},
    {"id": "21", "name": "Finish", "to": "3", "needs": "resolution"},
    {"id": "31", "name": "Close", "to": "3"},
]


@dataclass
class World:
    """Issues by key, and what hangs on them."""

    issues: dict[str, Json] = field(default_factory=dict[str, Json])
    comments: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    worklogs: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    changes: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    links: list[Json] = field(default_factory=list[Json])
    count: int = 0

    def add(self, summary: str, **fields: Any) -> str:
        """Add an issue; its key."""
        self.count += 1
        key = f"ABC-{self.count}"
        self.issues[key] = {
            "summary": summary, "issuetype": {"id": "10001", "name": "Task"}, "status": make_status("1"),
            "priority": {"name": "Medium", "id": "3"}, "assignee": None, "reporter": ADA, "created": MOMENT,
            "updated": MOMENT, "labels": [], "description": None, **fields,
        }  # fmt: skip
        self.comments[key], self.worklogs[key], self.changes[key] = [], [], []
        return key


def make_status(identity: str) -> Json:
    return {"id": identity, "name": STATUSES[identity]}
