"""What a workspace holds, in the form in which Notion answers."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from tests.support.vendor_double import VendorRefusal

Json = dict[str, Any]

MOMENT = "2026-01-01T00:00:00.000Z"
PERSON = {"object": "user", "id": "00000000-0000-4000-8000-000000000001"}
ALL = frozenset({"read", "insert", "update", "read_comments", "insert_comments", "users"})
ANNOTATIONS = {
    "bold": False, "italic": False, "strikethrough": False, "underline": False, "code": False, "color": "default",
}  # fmt: skip
# What Notion adds to the content of a block where the request left it out.
DEFAULTS: Mapping[str, Json] = {
    **{f"heading_{level}": {"color": "default", "is_toggleable": False} for level in (1, 2, 3, 4)},
    **{kind: {"color": "default", "icon": None} for kind in ("paragraph", "callout")},
    **{kind: {"color": "default"} for kind in ("bulleted_list_item", "numbered_list_item", "quote", "toggle")},
    "to_do": {"color": "default", "checked": False},
    "code": {"caption": []},
    **{kind: {"caption": []} for kind in ("embed", "bookmark", "image", "video", "pdf", "audio")},
    "file": {"caption": [], "name": "file"},
    "table_of_contents": {"color": "default"},
}


class Refused(VendorRefusal):
    """A refusal in Notion's form."""

    def __init__(self, status: int, code: str, message: str = "", headers: Mapping[str, str] | None = None) -> None:
        body = {"object": "error", "status": status, "code": code, "message": message, "request_id": "made-up"}
        super().__init__(status, body, headers)


@dataclass
class World:
    """One workspace. Objects are kept as they are answered; `children` are the ids of blocks by parent."""

    tokens: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    pages: dict[str, Json] = field(default_factory=dict[str, Json])
    blocks: dict[str, Json] = field(default_factory=dict[str, Json])
    children: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    markdown: dict[str, str] = field(default_factory=dict[str, str])
    databases: dict[str, Json] = field(default_factory=dict[str, Json])
    sources: dict[str, Json] = field(default_factory=dict[str, Json])
    comments: dict[str, Json] = field(default_factory=dict[str, Json])
    templates: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    ids: Any = field(default_factory=lambda: itertools.count(0x100))

    def make_id(self) -> str:
        return str(UUID(int=next(self.ids) | 4 << 76 | 8 << 60))

    def page(self, title: str, parent: Json | None = None, properties: Json | None = None) -> Json:
        """A new page."""
        page_id = self.make_id()
        name = {"id": "title", "type": "title", "title": answer_texts([{"text": {"content": title}}])}
        page = {
            **_stamps(), "object": "page", "id": page_id, "parent": parent or {"type": "workspace", "workspace": True},
            "properties": {"title": name} if properties is None else properties, "icon": None, "cover": None,
            "is_archived": False, "is_locked": False, "url": f"https://www.notion.so/{page_id}", "public_url": None,
            "last_edited_by": PERSON, "created_by": PERSON,
        }  # fmt: skip
        self.pages[page_id] = page
        return page

    def database(self, title: str, parent: Json, columns: Json) -> Json:
        """A new database with one data source; `columns` as in a request."""
        database_id, source_id = self.make_id(), self.make_id()
        common = {
            **_stamps(), "title": answer_texts([{"text": {"content": title}}]), "description": [], "icon": None,
            "cover": None, "is_inline": False, "url": f"https://www.notion.so/{database_id}", "public_url": None,
        }  # fmt: skip
        self.sources[source_id] = {
            **common, "object": "data_source", "id": source_id, "database_parent": parent, "created_by": PERSON,
            "last_edited_by": PERSON, "parent": {"type": "database_id", "database_id": database_id},
            "properties": {name: build_column(name, one) for name, one in columns.items()},
        }  # fmt: skip
        self.databases[database_id] = {
            **common, "object": "database", "id": database_id, "parent": parent, "is_locked": False,
            "data_sources": [{"id": source_id, "name": title}],
        }  # fmt: skip
        return self.databases[database_id]

    def comment(self, parent: Json, discussion: str, text: list[Json]) -> Json:
        """A new comment."""
        made = {
            "object": "comment", "id": self.make_id(), "parent": parent, "discussion_id": discussion,
            "created_time": MOMENT, "last_edited_time": MOMENT, "created_by": PERSON, "rich_text": answer_texts(text),
            "display_name": {"type": "integration", "resolved_name": "MCPist"},
        }  # fmt: skip
        self.comments[made["id"]] = made
        return made

    def append(self, parent_id: str, blocks: list[Json], after: str = "") -> list[Json]:
        """Blocks of a request below a page or block."""
        made = [self._block(parent_id, one) for one in blocks]
        known = self.children.setdefault(parent_id, [])
        place = known.index(after) + 1 if after else len(known)
        known[place:place] = [one["id"] for one in made]
        if parent_id in self.blocks:
            self.blocks[parent_id]["has_children"] = True
        return made

    def _block(self, parent_id: str, block: Json) -> Json:
        kind = block.get("type") or next(name for name in block if name != "object")
        content = {**DEFAULTS.get(kind, {}), **answer_content(block[kind])}
        nested = content.pop("children", [])
        parent = "page_id" if parent_id in self.pages else "block_id"
        made = {
            **_stamps(), "object": "block", "id": self.make_id(), "type": kind, kind: content, "has_children": False,
            "parent": {"type": parent, parent: parent_id}, "created_by": PERSON, "last_edited_by": PERSON,
        }  # fmt: skip
        self.blocks[made["id"]] = made
        if nested:
            self.append(made["id"], nested)
        return made

    def tree(self, parent_id: str) -> list[Any]:
        """Types of what is below a page or block, as nested lists."""
        found: list[Any] = []
        for one in self.children.get(parent_id, []):
            found.append(self.blocks[one]["type"])
            if below := self.tree(one):
                found.append(below)
        return found


def _stamps() -> Json:
    return {"created_time": MOMENT, "last_edited_time": MOMENT, "in_trash": False, "archived": False}


def build_column(name: str, column: Json) -> Json:
    kind = next(one for one in column if one not in ("type", "name", "description"))
    content = dict(column[kind])
    if kind in ("select", "multi_select", "status"):
        plain = {"color": "default", "description": None}
        content = {"options": [{"id": str(n), **plain, **one} for n, one in enumerate(content.get("options", []))]}
        if kind == "status":
            content["groups"] = []
    if kind == "number":
        content = {"format": "number"}
    if kind == "unique_id":
        content = {"prefix": None}
    return {"id": name.lower()[:4], "name": name, "type": kind, kind: content, "description": None}


def answer_content(value: Any) -> Any:
    """A request's content as it is answered."""
    if isinstance(value, list):
        return [answer_content(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.keys() & {"text", "mention"} or ("equation" in value and "annotations" in value):
        return answer_texts([value])[0]
    return {
        name: answer_texts(one) if name in ("rich_text", "caption") else answer_content(one)
        for name, one in value.items()
    }


def answer_texts(items: list[Json]) -> list[Json]:
    """A rich text as it is answered."""
    made: list[Json] = []
    for item in items:
        kind = item.get("type") or next(name for name in ("text", "mention", "equation") if name in item)
        content = dict(item[kind])
        href = (content.get("link") or {}).get("url") if kind == "text" else None
        plain = content.get("content") or content.get("expression") or "somebody"
        if kind == "text":
            content.setdefault("link", None)
        elif kind == "mention" and content["type"] == "date":
            content["date"] = {"end": None, "time_zone": None, **content["date"]}
        elif kind == "mention" and content["type"] == "user":
            content["user"] = {"object": "user", **content["user"]}
        annotations = {**ANNOTATIONS, **item.get("annotations", {})}
        made.append({"type": kind, kind: content, "annotations": annotations, "plain_text": plain, "href": href})
    return made
