"""Tables that both directions between Atlassian's document format (ADF) and Markdown share
(https://developer.atlassian.com/cloud/jira/platform/apis/document/structure/).

What Markdown has no sign for is written in one of these forms, which docs/providers/atlassian.md shows:

* `> [!name {JSON}] ...` is a node of blocks (`CONTAINERS`); the JSON has its `attrs` and `marks`, where there are any.
* `> [!with {JSON}] ...` is the one block in it, with these `attrs` and `marks` beside what Markdown says.
* A fence `adf` is any other block as JSON; a span of code that begins with `adf:{` is any other inline node.
* `<mark {JSON}>...</mark>` is a text with any other mark.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from modules.kit.text_cleaning import clean_text

AdfNode = dict[str, Any]

MAX_LEVELS = 30
"""Of nodes that are written as Markdown within each other; what is deeper is JSON."""
MAX_JSON_LEVELS = 200
RAW_SPAN = "adf:{"

PANELS = ("info", "note", "tip", "warning", "error", "success", "custom")
ROWS = {"tr": "tableRow", "th": "tableHeader", "td": "tableCell"}
CONTAINERS = {
    **dict.fromkeys(PANELS, "panel"),
    **ROWS,
    "table": "table",
    "expand": "expand",
    "nestedExpand": "nestedExpand",
    "layoutSection": "layoutSection",
    "layoutColumn": "layoutColumn",
    "bodiedExtension": "bodiedExtension",
    "multiBodiedExtension": "multiBodiedExtension",
    "extensionFrame": "extensionFrame",
    "bodiedSyncBlock": "bodiedSyncBlock",
}
"""The type of node that each name in `[!name]` stands for."""
TITLED = frozenset({"expand", "nestedExpand"})
TAGS = {"underline": "u", "strong": "strong", "em": "em", "strike": "s"}
STATUS_COLORS = ("neutral", "purple", "blue", "red", "yellow", "green")

CARD_NAMES = {"card": "blockCard", "embed": "embedCard"}
"""Blocks that are written as an image of that name: `![card](https:...)`."""
LANGUAGE = re.compile(r"(?!adf$)[A-Za-z0-9+#._-]{1,40}")


def get_attrs(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return a node's attributes, without the name that the editor gives it for its own use."""
    attrs = node.get("attrs")
    if not attrs or not isinstance(attrs, Mapping):
        return {}
    return {name: value for name, value in cast("Mapping[str, Any]", attrs).items() if name != "localId"}


def list_children(node: Mapping[str, Any]) -> list[AdfNode]:
    """List the nodes within a node; what is no node is left out."""
    nodes: Any = node.get("content")
    if nodes.__class__ is not list:  # of JSON; `isinstance` and a cast take twice as long
        return []
    for one in nodes:
        if one.__class__ is not dict or not isinstance(one.get("type"), str):
            return list(filter(_is_node, nodes))
    return nodes


def _is_node(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(cast("AdfNode", value).get("type"), str)


def list_marks(node: Mapping[str, Any]) -> list[AdfNode]:
    """List the marks of a node."""
    marks = node.get("marks")
    if not isinstance(marks, list):
        return []
    return [cast("AdfNode", one) for one in cast("list[Any]", marks) if isinstance(one, dict)]


def build_options(attrs: AdfNode, marks: list[AdfNode]) -> AdfNode:
    """The attributes and marks that a form of Markdown carries as JSON."""
    return {**({"attrs": attrs} if attrs else {}), **({"marks": marks} if marks else {})}


def format_json(value: Any) -> str:
    """Format a part of a document as JSON in one line, without invisible characters."""
    return clean_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def is_flat(value: Any) -> bool:
    """Check that JSON has at most `MAX_JSON_LEVELS` levels."""
    level = [value]
    for _ in range(MAX_JSON_LEVELS):
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                below.extend(cast("dict[str, Any]", one).values())
            elif isinstance(one, list):
                below.extend(cast("list[Any]", one))
        if not below:
            return True
        level = below
    return False
