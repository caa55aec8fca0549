"""Notion's rich text as inline Markdown, and back (https://developers.notion.com/reference/rich-text).

Beside what Markdown has: `<u>`, `<span color="red">`, `$formula$`, `<br>` for a line break within a block, and
mentions as links, such as `[@Ada](mention:user:ID)`, `[Plan](mention:page:ID)` and `[1 May](mention:date:2026-05-01)`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from modules.kit import ToolError
from modules.kit.markup.markdown_inline import parse_inline
from modules.kit.markup.markdown_runs import Inline, InlineDialect, LinkKind, Mark
from modules.kit.markup.markdown_text import escape_text, format_address, format_runs
from modules.kit.markup.markdown_tokens import divide_usual, read_code
from modules.kit.text_cleaning import clean_text, is_clean
from modules.kit.turns import count_each, count_work
from modules.notion.dates import parse_date_text
from modules.notion.parameters import parse_id

MAX_CHARACTERS = 2_000
"""Of one text of Notion's; 1,000 of a formula (https://developers.notion.com/reference/request-limits)."""
MAX_PARTS = 100
"""Of one rich text."""
_MAX_FORMULA = 1_000

RichText = list[dict[str, Any]]

_FLAGS = {"underline": "u", "strikethrough": "strike", "bold": "strong", "italic": "em"}
_ANNOTATIONS = {mark: flag for flag, mark in _FLAGS.items()}
_MARKS = {flag: Mark(name) for flag, name in _FLAGS.items()}
_MENTION = re.compile(r"mention:(user|page|database|data_source|date):([^\s:][^\s]*)")
_BACKGROUND = "_background"
_NO_WRAP = "", ""
_WRAPS: dict[Any, tuple[str, str]] = {
    "bold": ("**", "**"), "italic": ("*", "*"), "strikethrough": ("~~", "~~"), "code": ("`", "`")
}  # fmt: skip
_USUAL_ADDRESS = re.compile(r"https?://[!#-%'*-;=?-\[\]-~]++")
_SIGN = re.compile(r"[\\`*\[\]~<_&{!$\n\r]")


def format_rich_text(items: Sequence[Mapping[str, Any]]) -> str:
    """Format a rich text, as Notion sends it, as inline Markdown. Invisible characters are taken out."""
    usual = _format_usual(items)
    if usual is not None:
        return usual
    return format_runs([run for item in items for run in _read_item(item)], has_math=True)


def _format_usual(items: Sequence[Mapping[str, Any]]) -> str | None:
    """Format texts as most are: nothing has to be cleaned or escaped, and between plain ones are words with one mark;
    None for others."""
    count_work(20 * (len(items) + 1))
    texts: list[str] = []
    parts: list[str] = []
    was_marked = False
    for item in count_each(items):
        text = item.get("plain_text")
        if item.get("type") != "text" or not isinstance(text, str) or not text or item.get("mention"):
            return None
        wrap = _find_wrap(item)
        if wrap is None:
            return None
        texts.append(text)
        if not wrap[0]:
            parts.append(text)
            was_marked = False
            continue
        if was_marked or text[0].isspace() or text[-1].isspace():
            return None
        parts += (wrap[0], text, wrap[1])
        was_marked = True
    shown = "".join(texts)
    return "".join(parts) if is_clean(shown) and not _SIGN.search(shown) else None


def _find_wrap(item: Mapping[str, Any]) -> tuple[str, str] | None:
    """What stands around a text with at most one usual mark; None for others."""
    annotations, address = item.get("annotations"), item.get("href")
    flags: list[Any] = []
    if annotations:
        if not isinstance(annotations, dict):
            return None
        flags = [name for name, value in cast("dict[Any, Any]", annotations).items() if value and value != "default"]
    if not address:
        return _NO_WRAP if not flags else _WRAPS.get(flags[0]) if len(flags) == 1 else None
    is_usual = not flags and isinstance(address, str) and _USUAL_ADDRESS.fullmatch(address)
    return ("[", f"]({address})") if is_usual else None


def _read_item(item: Mapping[str, Any]) -> Iterator[Inline]:
    text = clean_text(str(item.get("plain_text") or ""))
    annotations: Mapping[str, Any] = item.get("annotations") or {}
    marks = tuple([mark for flag, mark in _MARKS.items() if annotations.get(flag)])
    if (color := str(annotations.get("color") or "default")) != "default":
        marks = (Mark("color", color), *marks)
    if item.get("type") == "equation":
        expression = cast("dict[str, Any]", item.get("equation") or {}).get("expression")
        yield Inline("math", clean_text(str(expression or text)), marks)
        return
    if mention := _read_mention(item):
        yield Inline("node", "", marks, f"[{escape_text(text, has_math=True)}]({format_address(mention)})")
        return
    if address := clean_text(str(item.get("href") or "")):
        marks = (Mark("link", address), *marks)
    kind = "code" if annotations.get("code") else "text"
    if "\n" not in text:
        if text:
            yield Inline(kind, text, marks)
        return
    for number, line in enumerate(text.split("\n")):
        if number:
            yield Inline("break", "", marks)
        if line:
            yield Inline(kind, line, marks)


def _read_mention(item: Mapping[str, Any]) -> str:
    """The address that stands for a mention; empty for anything else."""
    mention = cast("Mapping[str, Any]", item.get("mention") or {})
    kind = mention.get("type")
    target = cast("Any", mention.get(str(kind)))
    if kind in ("user", "page", "database", "data_source"):
        return f"mention:{kind}:{target['id']}"
    if kind == "date":
        value = f"{target['start']}/{target['end']}" if target.get("end") else target["start"]
        return f"mention:date:{value}" + (f"@{target['time_zone']}" if target.get("time_zone") else "")
    return ""


def parse_rich_text(markdown: str) -> RichText:
    """Parse inline Markdown as the rich text of a request; texts beyond Notion's limit are divided.

    Raises:
        ToolError: it has more than 100 parts, or a part that Notion does not take.
    """
    made = _parse_usual(markdown) if len(markdown) * 2 <= MAX_CHARACTERS else None
    if made is None:
        made = [item for run in count_each(_merge(parse_inline(markdown, _DIALECT))) for item in _make_items(run)]
    if len(made) > MAX_PARTS:
        raise ToolError(
            f"a text has {len(made)} parts, one for each format and {MAX_CHARACTERS:,} characters, and Notion takes "
            f"{MAX_PARTS} at once: divide it into several"
        )
    return made


def _parse_usual(markdown: str) -> RichText | None:
    """Parse a short text of words with one usual mark each, which are never beside each other; None for others."""
    divided = divide_usual(markdown, has_math=True)
    if divided is None:
        return None
    start, parts = divided
    made: RichText = [{"type": "text", "text": {"content": start}}] if start else []
    was_marked = False
    for code, strong, em, words, address, struck, behind in parts:
        if was_marked:
            return None  # the same marks beside each other are one
        if words:
            made.append({"type": "text", "text": {"content": words, "link": {"url": address}}})
        else:
            flag = "code" if code else "bold" if strong else "italic" if em else "strikethrough"
            text = read_code(code) if code else strong or em or struck
            made.append({"type": "text", "text": {"content": text}, "annotations": {flag: True}})
        if behind:
            made.append({"type": "text", "text": {"content": behind}})
        was_marked = not behind
    return made


def _merge(runs: Sequence[Inline]) -> Sequence[Inline]:
    """Runs with line breaks as text, and neighbouring texts of the same marks as one."""
    if len(runs) == 1 and runs[0].kind == "text":
        return runs
    merged: list[Inline] = []
    texts: list[str] = []
    for run in count_each(runs, 20):
        one = run
        if run.kind in ("break", "line"):
            one = Inline("text", "\n", run.marks)
        elif run.kind == "image":
            one = Inline("text", run.text or run.value, (*run.marks, Mark("link", run.value)))
        if one.kind == "text" and texts and merged[-1].marks == one.marks:
            texts.append(one.text)
            continue
        if len(texts) > 1:
            merged[-1] = Inline("text", "".join(texts), merged[-1].marks)
        texts = [one.text] if one.kind == "text" else []
        merged.append(one)
    if len(texts) > 1:
        merged[-1] = Inline("text", "".join(texts), merged[-1].marks)
    return merged


def _make_items(run: Inline) -> RichText:
    if not run.marks and run.kind == "text" and len(run.text) * 2 <= MAX_CHARACTERS:
        return [{"type": "text", "text": {"content": run.text}}]
    annotations: dict[str, Any] = {"code": True} if run.kind == "code" else {}
    link: dict[str, Any] = {}
    for name, value, _ in run.marks:
        if name == "link":
            link = {"link": {"url": value}}
        elif name in ("color", "background"):
            annotations["color"] = value if name == "color" else value + _BACKGROUND
        else:
            annotations[_ANNOTATIONS[name]] = True
    extra = {"annotations": annotations} if annotations else {}
    if run.kind == "math":
        if len(run.text) > _MAX_FORMULA:
            raise ToolError(f"a formula has {len(run.text)} characters, and Notion takes {_MAX_FORMULA}")
        return [{"type": "equation", "equation": {"expression": run.text}, **extra}]
    if run.kind == "node":
        return [{"type": "mention", "mention": run.value, **extra}]
    return [{"type": "text", "text": {"content": text, **link}, **extra} for text in split_text(run.text)]


def _resolve(_label: str, address: str, kind: LinkKind) -> dict[str, Any] | None:
    """Make the mention that a link stands for; None for any other link."""
    mention = _MENTION.fullmatch(address) if kind == "link" else None
    return _make_mention(mention[1], mention[2]) if mention else None


_TAGS = frozenset({"u", "strong", "b", "em", "i", "s", "del"})
_DIALECT = InlineDialect(_TAGS, re.compile("[a-z_]{1,30}"), has_math=True, resolve=_resolve)


def _make_mention(kind: str, target: str) -> dict[str, Any]:
    name = f"mention:{kind}"
    if kind == "date":
        return {"type": kind, kind: parse_date_text(name, target, "@")}
    try:
        return {"type": kind, kind: {"id": parse_id(target)}}
    except ValueError as error:
        raise ToolError(f"{name}: {target[:40]!r} {error}") from None


def split_text(text: str) -> list[str]:
    """Divide a text into pieces of at most 2,000 UTF-16 units, which is how Notion counts."""
    if len(text) * 2 <= MAX_CHARACTERS:
        return [text] if text else []
    pieces: list[str] = []
    start = units = 0
    for place, character in enumerate(text):
        size = 2 if character > "\uffff" else 1
        if units + size > MAX_CHARACTERS:
            pieces.append(text[start:place])
            start, units = place, 0
        units += size
    return [*pieces, text[start:]]


def make_plain_text(text: str) -> RichText:
    """Make the rich text of a request out of text without marks, such as that of code."""
    return [{"type": "text", "text": {"content": piece}} for piece in split_text(text)]
