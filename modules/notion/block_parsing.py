"""Markdown as Notion's blocks: what :mod:`modules.notion.block_formatting` writes, and any other CommonMark."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from modules.kit import ToolError
from modules.kit.markup.markdown_blocks import parse_tree
from modules.kit.markup.markdown_inline import unescape
from modules.kit.markup.markdown_tree import (
    Container,
    Leaf,
    get_code,
    get_heading_text,
    get_paragraph_text,
    get_table,
)
from modules.kit.turns import count_each, count_work
from modules.notion.block_formatting import HEADINGS, MEDIA
from modules.notion.rich_text import make_plain_text, parse_rich_text

Block = dict[str, Any]

MAX_LENGTH = 500_000
"""Of the Markdown of one call."""
_BLOCK_WORK = 30
"""What a block costs beside its text (see `turns.py`)."""
_MAX_EQUATION = 1_000
_MAX_ADDRESS = 2_000

_COLOR = re.compile(r'(?<!\\) ?\{color="([a-z_]{1,30})"\}$')
_TASK = re.compile(r"\[([ xX>])\](?: |$)")
_CALLOUT = re.compile(r"\[!([^\]\s]{0,20})\] ?")
_IMAGE = re.compile(r"!\[((?:[^\[\]\\]|\\.)*+)\]\((?:<([^<>\n]+)>|([^()\s]+))\)")
_MEDIA_LINK = re.compile(rf"\[({'|'.join(MEDIA)})(?:: ((?:[^\[\]\\]|\\.)*+))?\]\((?:<([^<>\n]+)>|([^()\s]+))\)")
_OWN_FILE = re.compile(r"https://(?:prod-files-secure\.s3|s3)[.-][a-z0-9.-]+\.amazonaws\.com/")

_LANGUAGE_NAMES = """
    abap abc agda arduino ascii_art assembly bash basic bnf c c# c++ clojure coffeescript coq css dart dhall diff docker
    ebnf elixir elm erlang f# flow fortran gherkin glsl go graphql groovy haskell hcl html idris java javascript json
    julia kotlin latex less lisp livescript llvm_ir lua makefile markdown markup matlab mathematica mermaid nix
    notion_formula objective-c ocaml pascal perl php plain_text powershell prolog protobuf purescript python r racket
    reason ruby rust sass scala scheme scss shell smalltalk solidity sql swift toml typescript vb.net verilog vhdl
    visual_basic webassembly xml yaml java/c/c++/c#
"""
_LANGUAGES = frozenset(_LANGUAGE_NAMES.split())
_ALIASES = {
    "js": "javascript", "jsx": "javascript", "ts": "typescript", "tsx": "typescript", "py": "python", "rb": "ruby",
    "sh": "shell", "zsh": "shell", "console": "shell", "yml": "yaml", "md": "markdown", "rs": "rust", "golang": "go",
    "kt": "kotlin", "cs": "c#", "csharp": "c#", "cpp": "c++", "fs": "f#", "hs": "haskell", "tex": "latex",
    "dockerfile": "docker", "terraform": "hcl", "tf": "hcl", "make": "makefile", "ps1": "powershell",
    "proto": "protobuf", "text": "plain_text", "txt": "plain_text", "": "plain_text", "objc": "objective-c",
    "svg": "xml", "jsonc": "json",
}  # fmt: skip
_NEVER_MADE = {
    "child_page": "create the page by itself", "child_database": "create the database by itself",
    "unsupported": "it can only be made in Notion", "link_preview": "it can only be made in Notion; use a bookmark",
    "meeting_notes": "it can only be made in Notion", "transcription": "it can only be made in Notion",
}  # fmt: skip


def parse_markdown(markdown: str) -> list[Block]:
    """Parse Markdown as blocks for a request, children within them.

    Raises:
        ToolError: it has something that Notion does not take; the text says what.
    """
    if len(markdown) > MAX_LENGTH:
        raise ToolError(f"the Markdown has {len(markdown)} characters: send at most {MAX_LENGTH} at once")
    return _make_blocks(parse_tree(markdown))


def _make_blocks(parts: Sequence[Container | Leaf]) -> list[Block]:
    blocks: list[Block] = []
    for part in parts:
        if isinstance(part, Leaf):
            blocks += _make_leaf_blocks(part)
        else:
            blocks.append(_make_container_block(part))
    return blocks


def _make_container_block(container: Container) -> Block:
    first = container.parts[0] if container.parts else None
    text, rest = "", container.parts
    if isinstance(first, Leaf) and first.kind == "paragraph" and not first.table_rule:
        text, rest = get_paragraph_text(first), rest[1:]
        if _make_media(text):
            text, rest = "", container.parts
    below = _make_blocks(rest) if rest else []
    if container.kind == "footnote":
        return _make_text_block("paragraph", f"\\[^{container.marker}\\]: {text}", below)
    kind, text, extra = _classify(container, text)
    return _make_text_block(kind, text, below, extra)


def _classify(container: Container, text: str) -> tuple[str, str, Block]:
    """The type of a container's block, its text without the mark of the type, and other fields."""
    if container.kind == "quote":
        callout = _CALLOUT.match(text)
        if not callout:
            return "quote", text, {}
        text = text[callout.end() :].lstrip("\n")
        if callout[1].isascii():  # GitHub's `> [!NOTE]` names a kind, which stays as text
            return "callout", f"**{callout[1].capitalize()}** {text}" if callout[1] else text, {}
        return "callout", text, {"icon": {"type": "emoji", "emoji": callout[1]}}
    if container.marker[0].isdigit():
        return "numbered_list_item", text, {}
    task = _TASK.match(text)
    if not task:
        return "bulleted_list_item", text, {}
    if task[1] == ">":
        return "toggle", text[task.end() :], {}
    return "to_do", text[task.end() :], {"checked": task[1] != " "}


def _make_text_block(kind: str, text: str, children: list[Block], extra: Mapping[str, Any] | None = None) -> Block:
    count_work(_BLOCK_WORK)
    content: Block = dict(extra or {})
    if text.endswith("}") and (color := _COLOR.search(text)):
        content["color"] = color[1]
        text = text[: color.start()]
    content["rich_text"] = parse_rich_text(text)
    if children:
        content["children"] = children
    return {"type": kind, kind: content}


def _make_leaf_blocks(leaf: Leaf) -> list[Block]:
    match leaf.kind:
        case "paragraph" | "html":
            return _make_paragraphs(leaf)
        case "heading":
            return [_make_heading(leaf)]
        case "break":
            return [{"type": "divider", "divider": {}}]
        case "code" | "fence":
            word, text = get_code(leaf)
            return _make_code_blocks(word.lower(), text)
        case "blank":
            return []


def _make_paragraphs(leaf: Leaf) -> list[Block]:
    text = get_paragraph_text(leaf)
    if leaf.table_rule:
        paragraphs = [_make_text_block("paragraph", text, [])] if text else []
        return [*paragraphs, _make_table(leaf)]
    if text.startswith("$$") and text.endswith("$$") and len(text) > 4:
        return [_make_equation(text[2:-2].strip())]
    if media := _make_media(text):
        return [media]
    return [_make_text_block("paragraph", "" if text == "<br>" else text, [])]


def _make_media(text: str) -> Block | None:
    """The block of an image or another file, where a paragraph is nothing else."""
    if not text.startswith(("[", "!")):
        return None
    if image := _IMAGE.fullmatch(text):
        return _make_media_block("image", image[1], unescape(image[2] or image[3]))
    if link := _MEDIA_LINK.fullmatch(text):
        return _make_media_block(link[1], link[2] or "", unescape(link[3] or link[4]))
    return None


def _make_media_block(kind: str, caption: str, address: str) -> Block:
    if _OWN_FILE.match(address):
        raise ToolError(f"a {kind} has an address of Notion's own storage, which ends within an hour: give another one")
    if not address.startswith(("https://", "http://")) or len(address) > _MAX_ADDRESS:
        raise ToolError(
            f"a {kind} needs an address that begins with https:// and has at most {_MAX_ADDRESS} characters"
        )
    content: Block = {"url": address} if kind in ("embed", "bookmark") else {"external": {"url": address}}
    if kind not in ("embed", "bookmark"):
        content["type"] = "external"
    if caption:
        content["caption"] = parse_rich_text(caption)
    return {"type": kind, kind: content}


def _make_heading(leaf: Leaf) -> Block:
    text = get_heading_text(leaf)
    kind = list(HEADINGS)[min(leaf.level, len(HEADINGS)) - 1]
    is_toggle = text.startswith("[>] ")
    return _make_text_block(kind, text[4:] if is_toggle else text, [], {"is_toggleable": True} if is_toggle else {})


def _make_code_blocks(word: str, text: str) -> list[Block]:
    if word == "math":
        return [_make_equation(text)]
    return _read_json(text) if word == "notion" else [_make_code(word, text)]


def _make_code(word: str, text: str) -> Block:
    language = _ALIASES.get(word, word)
    content: Block = {"rich_text": make_plain_text(text), "language": "plain text"}
    if language in _LANGUAGES:
        content["language"] = language.replace("_", " ")
    elif word:
        content["caption"] = make_plain_text(word)  # a language that Notion does not know is not lost
    if len(content["rich_text"]) > 100:
        raise ToolError("a block of code has more than 200,000 characters: divide it")
    return {"type": "code", "code": content}


def _make_equation(expression: str) -> Block:
    if len(expression) > _MAX_EQUATION:
        raise ToolError(f"a formula has {len(expression)} characters, and Notion takes {_MAX_EQUATION}")
    return {"type": "equation", "equation": {"expression": expression}}


def _make_table(leaf: Leaf) -> Block:
    rows = get_table(leaf)
    width = max(map(len, rows))
    cells = [[*map(parse_rich_text, row), *([] for _ in range(width - len(row)))] for row in count_each(rows)]
    made = [{"type": "table_row", "table_row": {"cells": row}} for row in cells]
    content = {"table_width": width, "has_column_header": True, "has_row_header": False, "children": made}
    return {"type": "table", "table": content}


def _read_json(text: str) -> list[Block]:
    try:
        block = json.loads(text)
    except (ValueError, RecursionError):
        raise ToolError("a fence `notion` holds no JSON: leave it as it was read") from None
    kind = cast("Any", block).get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str) or not isinstance(cast("Any", block).get(kind), dict):
        raise ToolError("a fence `notion` holds no block: leave it as it was read")
    if kind in _NEVER_MADE:
        raise ToolError(f"a block of type {kind} cannot be made of Markdown: {_NEVER_MADE[kind]}")
    if "id" in block:
        raise ToolError(
            f"the {kind} in a fence `notion` has children that are not in it: read them by its id, or leave it out"
        )
    return [{"type": kind, kind: _make_request_form(cast("Any", block)[kind])}]


def _make_request_form(value: Any) -> Any:
    """What Notion answered, as it takes it: rich texts without what it derives, no nulls."""
    if isinstance(value, list):
        return [_make_request_form(one) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    found = cast("dict[str, Any]", value)
    if found.get("object") == "user":
        return {"id": found.get("id")}
    dropped = ("plain_text", "href") if "plain_text" in found else ()
    return {name: _make_request_form(one) for name, one in found.items() if name not in dropped and one is not None}
