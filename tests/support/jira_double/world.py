"""What a Jira site holds: a project, its people, fields, workflow and issues."""

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

SITE = "https://acme.atlassian.net/rest/api/3"
_ICONS = "https://acme.atlassian.net/images/icons"
_AVATARS = "https://avatar-management--avatars.us-west-2.prod.public.atl-paas.net/initials"


def make_person(identity: str, name: str, zone: str) -> Json:
    """Make a person as Jira shows one wherever there is one."""
    sizes = {f"{size}x{size}": f"{_AVATARS}/AL-{size}.png" for size in (48, 24, 16, 32)}
    return {
        "self": f"{SITE}/user?accountId={identity}", "accountId": identity, "accountType": "atlassian",
        "avatarUrls": sizes, "displayName": name, "active": True, "timeZone": zone,
    }  # fmt: skip


ADA = make_person("5b10a2844c20165700ede21g", "Ada Lovelace", "Europe/London")
BOB = make_person("557058:295406f3", "ボブ", "Asia/Tokyo")
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
    {
        "self": f"{SITE}/issuetype/{identity}", "id": identity, "description": about, "name": name, "subtask": False,
        "iconUrl": f"{SITE}/universal_avatar/view/type/issuetype/avatar/10318?size=medium", "avatarId": 10318,
        "hierarchyLevel": 0,
    }
    for identity, name, about in (("10001", "Task", "A task"), ("10002", "Bug", ""))
]  # fmt: skip
PRIORITY = {
    "self": f"{SITE}/priority/3", "iconUrl": f"{_ICONS}/priorities/medium_new.svg", "name": "Medium", "id": "3",
}  # fmt: skip
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

    projects: dict[str, str] = field(default_factory=lambda: {"ABC": "Alphabet"})
    people: list[Json] = field(default_factory=lambda: [ADA, BOB])
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
            "summary": summary, "issuetype": TYPES[0], "status": make_status("1"), "priority": PRIORITY,
            "assignee": None, "reporter": ADA, "created": MOMENT, "updated": MOMENT, "labels": [], "description": None,
            "duedate": None, **fields,
        }  # fmt: skip
        self.comments[key], self.worklogs[key], self.changes[key] = [], [], []
        return key


def make_status(identity: str) -> Json:
    """Make a status as Jira shows it in an issue."""
    category = {
        "self": f"{SITE}/statuscategory/{identity}", "id": int(identity), "key": "new", "colorName": "blue-gray",
        "name": "To Do",
    }  # fmt: skip
    return {
        "self": f"{SITE}/status/{identity}", "description": "", "iconUrl": f"{_ICONS}/statuses/generic.png",
        "name": STATUSES[identity], "id": identity, "statusCategory": category,
    }  # fmt: skip
