"""The inline nodes of Atlassian's document format as Markdown (see `adf_nodes.py` for the forms)."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from modules.kit.markup.adf_nodes import RAW_SPAN, STATUS_COLORS, AdfNode, format_json, get_attrs, list_marks
from modules.kit.markup.markdown_runs import Inline, Mark
from modules.kit.markup.markdown_text import escape_text, format_address, format_code_span, format_runs, is_plain
from modules.kit.text_cleaning import clean_text, is_clean
from modules.kit.turns import count_each, count_work

_PLAIN_ADDRESS = re.compile(r"https?://[^\s<>\\\x00-\x1f]++")
_USUAL_ADDRESS = re.compile(r"https?://[!#-%'*-;=?-\[\]-~]++")
_SIGN = re.compile(r"[\\`*\[\]~<_&{!\n\r]")
_WRAPS: dict[Any, tuple[str, str]] = {
    "strong": ("**", "**"),
    "em": ("*", "*"),
    "strike": ("~~", "~~"),
    "code": ("`", "`"),
}
_TEXT_KEYS = {"type", "text", "marks"}
COLOR = re.compile(r"#[0-9a-fA-F]{3,8}|[a-z]{1,30}")
_SIMPLE_MARKS = {"underline": Mark("u"), "strike": Mark("strike"), "strong": Mark("strong"), "em": Mark("em")}


def format_inline(nodes: Sequence[AdfNode]) -> str:
    """Format the content of a paragraph, heading or other text block as one line of Markdown."""
    if len(nodes) == 1 and len(nodes[0]) == 2 and "text" in nodes[0]:
        text = nodes[0]["text"]
        if isinstance(text, str) and text.isascii() and is_plain(text):
            return text
    usual = _format_usual(nodes)
    if usual is not None:
        return _keep_edges(usual)
    text = format_runs([run for node in count_each(nodes, 100) if (run := _read_node(node))])
    if text == "<br>":
        text = format_raw({"type": "hardBreak"})  # alone it would be an empty paragraph
    return _keep_edges(text)


def _format_usual(nodes: Sequence[AdfNode]) -> str | None:
    """Texts as most lines have them: nothing has to be cleaned or escaped, and between plain ones are words with one
    mark; None for others."""
    count_work(20 * (len(nodes) + 1))
    texts: list[str] = []
    parts: list[str] = []
    was_marked = False
    for node in count_each(nodes):
        text = node.get("text")
        if node["type"] != "text" or not isinstance(text, str) or not text:
            return None
        texts.append(text)
        if len(node) == 2:
            parts.append(text)
            was_marked = False
            continue
        wrap = None if was_marked or text[0].isspace() or text[-1].isspace() else _find_wrap(node)
        if wrap is None:
            return None
        parts += (wrap[0], text, wrap[1])
        was_marked = True
    shown = "".join(texts)
    return "".join(parts) if is_clean(shown) and not _SIGN.search(shown) else None


def _find_wrap(node: AdfNode) -> tuple[str, str] | None:
    """What stands around a text with one usual mark; None for others."""
    marks: Any = node.get("marks")
    if len(node) != 3 or marks.__class__ is not list or len(marks) != 1:
        return None
    found: Any = marks[0]
    if found.__class__ is not dict:
        return None
    kind: Any = found.get("type")
    if len(found) == 1:
        return _WRAPS.get(kind)
    attrs: Any = found.get("attrs")
    if kind != "link" or len(found) != 2 or attrs.__class__ is not dict or len(attrs) != 1:
        return None
    address: Any = attrs.get("href")
    is_usual = isinstance(address, str) and _USUAL_ADDRESS.fullmatch(address)
    return ("[", f"]({address})") if is_usual else None


def _keep_edges(text: str) -> str:
    if text[:1].isspace():
        text = f"&#{ord(text[0])};{text[1:]}"
    if text[-1:].isspace():
        text = f"{text[:-1]}&#{ord(text[-1])};"
    return text


def _read_node(node: AdfNode) -> Inline | None:
    """The run of a node; None for a text without letters that are seen."""
    text = node.get("text")
    if node["type"] == "text" and isinstance(text, str) and node.keys() <= _TEXT_KEYS:
        return _read_text(clean_text(text), node)
    marks = list_marks(node)
    literal = "" if node.get("content") or node.keys() - {"type", "attrs", "marks"} else _format_atom(node)
    if not literal or not is_known_form(marks):
        return Inline("node", value=format_raw(node))
    return Inline("node", marks=tuple(map(_read_mark, marks)), value=literal)


def is_known_form(marks: Sequence[Mapping[str, Any]]) -> bool:
    """Check that each mark has a type and nothing beside it and its attributes, and that no type comes twice."""
    if len(marks) == 1:
        return isinstance(marks[0].get("type"), str)
    kinds = [mark.get("type") for mark in marks]
    return all(isinstance(kind, str) for kind in kinds) and len(set(kinds)) == len(kinds)


def _read_text(text: str, node: AdfNode) -> Inline | None:
    if not text:
        return None
    if "\n" in text or "\r" in text:
        return Inline("node", value=format_raw(node))
    if "marks" not in node:
        return Inline("text", text)
    marks = list_marks(node)
    if not is_known_form(marks):
        return Inline("node", value=format_raw(node))
    code = next((mark for mark in marks if mark["type"] == "code"), None)
    if code is None:
        return Inline("text", text, tuple(map(_read_mark, marks)))
    if get_attrs(code) or text.startswith(RAW_SPAN):
        return Inline("node", value=format_raw(node))
    return Inline("code", text, tuple([_read_mark(mark) for mark in marks if mark is not code]))


def format_raw(node: AdfNode) -> str:
    """Format any inline node as JSON in a span of code."""
    return format_code_span(f"{RAW_SPAN[:-1]}{format_json(node)}")


def _read_mark(mark: AdfNode) -> Mark:
    kind = mark["type"]
    if len(mark) == 1 and kind in _SIMPLE_MARKS:
        return _SIMPLE_MARKS[kind]
    attrs = get_attrs(mark)
    if mark.keys() <= {"type", "attrs"}:
        if kind in _SIMPLE_MARKS and not attrs:
            return _SIMPLE_MARKS[kind]
        if kind == "subsup" and attrs in ({"type": "sub"}, {"type": "sup"}):
            return Mark(attrs["type"])
        if kind in ("textColor", "backgroundColor") and attrs.keys() == {"color"} and _is_color(attrs["color"]):
            return Mark("color" if kind == "textColor" else "background", attrs["color"])
        if kind == "link" and attrs.keys() == {"href"} and is_address(attrs["href"]):
            return Mark("link", attrs["href"])
    return Mark("mark", mark)


def _is_color(value: object) -> bool:
    return isinstance(value, str) and COLOR.fullmatch(value) is not None


def is_address(value: object) -> bool:
    """Check that a link to `value` can be written, and is read as the same one."""
    return (
        isinstance(value, str)
        and value != ""
        and value == clean_text(value)
        and not set(value) & set("<>\n\r\\")
        and not value.startswith(("mention:", "emoji:", "date:", "status:", "media:"))
        and value == value.strip()
    )


def _format_atom(node: AdfNode) -> str:
    """An inline node that is no text; "" where it has to be written as JSON."""
    attrs = get_attrs(node)
    match node.get("type"):
        case "hardBreak":
            return "<br>" if attrs in ({}, {"text": "\n"}) else ""
        case "mention":
            return _format_mention(attrs)
        case "emoji":
            return _format_emoji(attrs)
        case "date":
            return _format_date(attrs)
        case "status":
            return _format_status(attrs)
        case "inlineCard":
            address = attrs.get("url")
            is_plain = isinstance(address, str) and _PLAIN_ADDRESS.fullmatch(address) and is_address(address)
            return f"<{address}>" if is_plain and attrs.keys() == {"url"} else ""
        case "mediaInline":
            return format_media(attrs)
        case _:
            return ""


def _format_mention(attrs: dict[str, Any]) -> str:
    text = attrs.get("text", "@")
    extra = {name: value for name, value in attrs.items() if name not in ("id", "text") and value != ""}
    if not _are_words(attrs.get("id"), text, *extra.values()) or not text.startswith("@"):
        return ""
    if attrs.get("text") == "@" or extra.keys() - {"accessLevel", "userType"} or text != text.strip():
        return ""
    return f"[@{escape_text(text[1:])}](mention:{quote(attrs['id'], safe=':@-')}{_format_query(extra)})"


def _format_emoji(attrs: dict[str, Any]) -> str:
    if not _are_words(attrs.get("shortName"), attrs.get("text"), attrs.get("id")) or attrs.keys() - {
        "shortName",
        "text",
        "id",
    }:
        return ""
    name, text, code = str(attrs["shortName"]), str(attrs["text"]), str(attrs["id"])
    if not re.fullmatch(r":[a-z0-9_+-]{1,60}:", name) or name == text:
        return ""
    is_usual = code == get_emoji_code(text)
    query = "" if is_usual else _format_query({"id": code})
    return f"[{escape_text(text)}](emoji:{name.strip(':')}{query})" if text == text.strip() else ""


def get_emoji_code(text: str) -> str:
    """Return the id of an emoji of Unicode's, such as ``1f604``."""
    return "-".join(f"{ord(character):x}" for character in text)


def _format_date(attrs: dict[str, Any]) -> str:
    stamp = attrs.get("timestamp")
    if attrs.keys() != {"timestamp"} or not isinstance(stamp, str) or not re.fullmatch(r"-?[0-9]{1,14}", stamp):
        return ""
    days, rest = divmod(int(stamp), 86_400_000)
    if rest or str(int(stamp)) != stamp or not -719_000 < days < 2_900_000:
        return ""
    day = datetime.fromtimestamp(days * 86_400, UTC).date().isoformat()
    return f"[{day}](date:{day})"


def _format_status(attrs: dict[str, Any]) -> str:
    text, color, style = attrs.get("text", "\n"), attrs.get("color"), attrs.get("style", "")
    if not _are_words(text, style) or color not in STATUS_COLORS or text != text.strip():
        return ""
    if attrs.keys() - {"text", "color", "style"}:
        return ""
    return f"[{escape_text(text)}](status:{color}{_format_query({'style': style} if style else {})})"


def format_media(attrs: Mapping[str, Any]) -> str:
    """Format a file of a document as an image; "" where its attributes say more than an image can."""
    alt, kind = attrs.get("alt", ""), attrs.get("type", "file")
    if not isinstance(alt, str) or alt != clean_text(alt).strip() or "\n" in alt or (alt == "" and "alt" in attrs):
        return ""
    rest = {name: value for name, value in attrs.items() if name not in ("type", "alt")}
    if kind == "external":
        address = rest.get("url")
        is_plain = isinstance(address, str) and address.startswith(("https://", "http://")) and is_address(address)
        return f"![{escape_text(alt)}]({format_address(str(address))})" if is_plain and rest.keys() == {"url"} else ""
    identity, collection = rest.pop("id", None), rest.pop("collection", "")
    sizes = [rest.pop(name, 0) for name in ("width", "height")]
    is_sized = all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in sizes)
    is_missing = any(name in attrs and not attrs[name] for name in ("width", "height"))
    if kind != "file" or "type" not in attrs or rest or not is_sized or is_missing or "collection" not in attrs:
        return ""
    if not _are_words(identity) or not isinstance(collection, str) or collection != clean_text(collection):
        return ""
    query = {"collection": collection, **{n: s for n, s in zip(("width", "height"), sizes, strict=True) if s}}
    shown = {name: value for name, value in query.items() if value != ""}
    return f"![{escape_text(alt)}](media:{quote(str(identity), safe='-')}{_format_query(shown)})"


def _are_words(*values: object) -> bool:
    return all(
        isinstance(value, str) and value == clean_text(value) and "\n" not in value and "\r" not in value
        for value in values
    )


def _format_query(values: Mapping[str, Any]) -> str:
    return f"?{urlencode(values)}" if values else ""
