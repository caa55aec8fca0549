"""Notion's blocks as Markdown (https://developers.notion.com/reference/block).

What Markdown cannot say stays: a block's color stands behind its text as `{color="red"}`, and a block of any other type
is written as a fence `notion` that holds it as JSON, which :mod:`modules.notion.block_parsing` takes back.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from modules.kit.markup.markdown_text import escape_start, format_address, format_fence
from modules.kit.text_cleaning import clean_text
from modules.kit.turns import count_each, count_work
from modules.notion.rich_text import format_rich_text

Block = Mapping[str, Any]

HEADINGS = {"heading_1": "# ", "heading_2": "## ", "heading_3": "### ", "heading_4": "#### "}
MEDIA = ("video", "pdf", "file", "audio", "embed", "bookmark")
"""Blocks that are written as a link of that name, alone in a paragraph: `[video: title](address)`."""

_BLOCK_WORK = 20
_SERVER_FIELDS = frozenset(
    {"id", "object", "parent", "created_time", "created_by", "last_edited_time", "last_edited_by", "has_children",
     "in_trash", "archived", "request_id"}
)  # fmt: skip


def format_blocks(blocks: Iterable[Block]) -> str:
    """Format blocks, with the children that stand in them, as Markdown."""
    texts: list[tuple[str, str]] = []
    number = 0
    for block in blocks:
        kind = str(block.get("type"))
        number = _find_number(block, number + 1) if kind == "numbered_list_item" else 0
        texts.append((kind, format_block(block, number=number)))
    parts: list[str] = []
    for place, (kind, text) in enumerate(texts):
        is_list = _is_item(kind) and place > 0 and texts[place - 1][0] == kind
        parts.append(("\n" if is_list else "\n\n") + text if parts else text)
    return "".join(parts)


def _is_item(kind: str) -> bool:
    return kind in ("bulleted_list_item", "numbered_list_item", "to_do", "toggle")


def _find_number(block: Block, following: int) -> int:
    """The number of an item: the one that its list begins with, where Notion says so."""
    content = block.get("numbered_list_item")
    start = cast("Mapping[str, Any]", content).get("list_start_index") if isinstance(content, dict) else None
    return start if isinstance(start, int) and 0 <= start < 10**9 else following


def format_block(block: Block, *, number: int = 0) -> str:
    """Format one block as Markdown; `number` is that of an item in its list, otherwise it is the item's own or 1."""
    count_work(_BLOCK_WORK)
    kind = str(block.get("type"))
    content = cast("dict[str, Any]", block.get(kind) or {})
    children = cast("list[Block]", content.get("children") or [])
    if kind in HEADINGS and not children and "rich_text" in content:
        sign = "[>] " if content.get("is_toggleable") else ""
        return HEADINGS[kind] + sign + _format_text(content)
    if kind == "paragraph" and not children and not content.get("icon"):
        return escape_start(_format_text(content)) or "<br>"
    marker = _get_marker(kind, content, number or _find_number(block, 1))
    if marker:
        return _nest(marker, escape_start(_format_text(content)), children)
    if kind in ("quote", "callout"):
        return _format_quote(kind, content, children) or _format_as_json(block)
    return _format_leaf(kind, content) or _format_as_json(block)


def _get_marker(kind: str, content: Mapping[str, Any], number: int) -> str:
    match kind:
        case "bulleted_list_item":
            return "- "
        case "numbered_list_item":
            return f"{number}. "
        case "to_do":
            return "- [x] " if content.get("checked") else "- [ ] "
        case "toggle":
            return "- [>] "
        case _:
            return ""


def _nest(marker: str, text: str, children: list[Block]) -> str:
    if not children:
        return marker + text
    indent = " " * (2 if marker.startswith("-") else len(marker))
    inner = format_blocks(children).replace("\n", f"\n{indent}").replace(f"\n{indent}\n", "\n\n")
    separator = "\n" if _is_item(str(children[0].get("type"))) else "\n\n"
    return f"{marker}{text}{separator}{indent}{inner}"


def _format_quote(kind: str, content: Mapping[str, Any], children: list[Block]) -> str:
    text = escape_start(_format_text(content))
    if kind == "callout":
        icon = cast("Mapping[str, Any]", content.get("icon") or {})
        if icon and icon.get("type") != "emoji":
            return ""
        text = f"[!{icon.get('emoji') or ''}] {text}"
    whole = f"{text}\n\n{format_blocks(children)}" if children else text
    return "\n".join(f"> {line}".rstrip() for line in whole.split("\n"))


def _format_leaf(kind: str, content: Mapping[str, Any]) -> str:
    match kind:
        case "divider":
            return "---"
        case "code" if not content.get("caption"):
            text = clean_text("".join(str(item.get("plain_text", "")) for item in content.get("rich_text", ())))
            language = str(content.get("language") or "plain text").replace(" ", "_")
            return format_fence(text, "" if language == "plain_text" else language)
        case "equation":
            return f"```math\n{clean_text(str(content.get('expression') or ''))}\n```"
        case "table":
            return _format_table(content)
        case "image" | "video" | "pdf" | "file" | "audio" | "embed" | "bookmark":
            return _format_media(kind, content)
        case _:
            return ""


def _format_media(kind: str, content: Mapping[str, Any]) -> str:
    source = cast("Mapping[str, Any]", content.get("external") or content.get("file") or content)
    address = format_address(clean_text(str(source.get("url") or "")))
    if not address or "\n" in address or (content.get("name") and content.get("caption")):
        return ""
    caption = format_rich_text(content.get("caption") or ()) or clean_text(str(content.get("name") or ""))
    if kind == "image":
        return f"![{caption}]({address})"
    return f"[{kind}: {caption}]({address})" if caption else f"[{kind}]({address})"


def _format_table(content: Mapping[str, Any]) -> str:
    rows = [row["table_row"]["cells"] for row in content.get("children") or () if row.get("type") == "table_row"]
    if not rows or not content.get("has_column_header") or content.get("has_row_header"):
        return ""
    lines = [
        f"| {' | '.join([format_rich_text(cell).replace('|', chr(92) + '|') for cell in row])} |"
        for row in count_each(rows)
    ]
    return "\n".join((lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]))


def _format_text(content: Mapping[str, Any]) -> str:
    text = format_rich_text(content.get("rich_text") or ())
    color = content.get("color") or "default"
    return text if color == "default" else f'{text} {{color="{color}"}}'


def _format_as_json(block: Block) -> str:
    """The block as JSON, without what only Notion sets; the id stays, by which its children can be read."""
    kept = {name: value for name, value in block.items() if name not in _SERVER_FIELDS or name == "id"}
    if not block.get("has_children"):
        kept.pop("id", None)
    return format_fence(clean_text(json.dumps(kept, ensure_ascii=False, separators=(",", ":"))), "notion")
