"""The inline nodes of Atlassian's document format as Markdown (see `adf_nodes.py` for the forms)."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from modules.kit.markup.adf_nodes import RAW_SPAN, STATUS_COLORS, AdfNode, format_json, get_attrs, list_marks
from modules.kit.text_cleaning import clean_text

_ESCAPED = re.compile(
    r"([\\`*~\[\]]|<(?=[A-Za-z/!])|&(?=#?[A-Za-z0-9]{1,31};)|(?<![^\W_])_|_(?![^\W_])|!(?=\Z))", re.ASCII
)
_LINE_START = re.compile(r"#{1,6}(?=[ \t]|$)|[-+](?=[ \t]|$)|[>|]|={1,}[ \t]*$|:?-{1,}|:(?=-)")
_NUMBER_START = re.compile(r"([0-9]{1,9})[.)](?=[ \t]|$)")
_TICKS = re.compile(r"`+")
_ODD_ADDRESS = re.compile(r"[\s()]")
_PLAIN_ADDRESS = re.compile(r"https?://[^\s<>\\\x00-\x1f]++")
_PLAIN_KEYS = {"type", "text"}
_COLOR = re.compile(r"#[0-9a-fA-F]{3,8}|[a-z]{1,30}")

Wrap = tuple[str, str, bool]
"""What opens and closes a mark, and whether it has to stand at a word."""
_SIMPLE: Mapping[str, Wrap] = {
    "underline": ("<u>", "</u>", False),
    "strike": ("~~", "~~", True),
    "strong": ("**", "**", True),
    "em": ("*", "*", True),
}


class _Piece(NamedTuple):
    """A text in Markdown with its marks, outermost first. `core` is false for white space between words."""

    text: str
    marks: tuple[Wrap, ...]
    core: bool = True


def format_inline(nodes: Iterable[AdfNode]) -> str:
    """Format the content of a paragraph, heading or other text block as one line of Markdown."""
    pieces: list[_Piece] = []
    for node in _merge(nodes):
        pieces.extend(_format_node(node))
    text = _join(_drop_marks_at_spaces(pieces))
    if text == "<br>":
        text = format_raw({"type": "hardBreak"})  # alone it would be an empty paragraph
    return _keep_edges(text)


def escape_start(line: str) -> str:
    """`line` with what would begin another block escaped."""
    if found := _NUMBER_START.match(line):
        return f"{found[1]}\\{line[found.end(1) :]}"
    return f"\\{line}" if _LINE_START.match(line) else line


def _keep_edges(text: str) -> str:
    if text[:1].isspace():
        text = f"&#{ord(text[0])};{text[1:]}"
    if text[-1:].isspace():
        text = f"{text[:-1]}&#{ord(text[-1])};"
    return text


def _merge(nodes: Iterable[AdfNode]) -> list[AdfNode]:
    """Nodes with neighbouring texts of the same marks as one: what escapes look at stands beside each other."""
    merged: list[AdfNode] = []
    texts: list[str] = []
    for node in nodes:
        is_text = node.get("type") == "text" and isinstance(node.get("text"), str)
        if is_text and texts and merged[-1].get("marks") == node.get("marks"):
            texts.append(node["text"])
            continue
        if len(texts) > 1:
            merged[-1] = {**merged[-1], "text": "".join(texts)}
        texts = [node["text"]] if is_text else []
        merged.append(node)
    if len(texts) > 1:
        merged[-1] = {**merged[-1], "text": "".join(texts)}
    return merged


def _format_node(node: AdfNode) -> Iterable[_Piece]:
    if node.keys() == _PLAIN_KEYS and node["type"] == "text" and isinstance(node["text"], str):
        return _format_text(clean_text(node["text"]), [], node)
    marks = list_marks(node)
    if node.get("type") == "text" and isinstance(node.get("text"), str) and node.keys() <= {"type", "text", "marks"}:
        return _format_text(clean_text(node["text"]), marks, node)
    text = "" if node.get("content") or node.keys() - {"type", "attrs", "marks"} else _format_atom(node)
    if not text or not is_known_form(marks):
        return [_Piece(format_raw(node), ())]
    return [_Piece(text, tuple(map(_get_wrap, _sort(marks))))]


def is_known_form(marks: Iterable[Mapping[str, Any]]) -> bool:
    """Check that each mark has a type and nothing beside it and its attributes, and that no type comes twice."""
    kinds = [mark.get("type") for mark in marks]
    return all(isinstance(kind, str) for kind in kinds) and len(set(kinds)) == len(kinds)


def _format_text(text: str, marks: list[AdfNode], node: AdfNode) -> list[_Piece]:
    if not text:
        return []
    if not marks and "\n" not in text and "\r" not in text:
        return [_Piece(_escape(text), ())]
    code = [mark for mark in marks if mark.get("type") == "code"]
    others = [mark for mark in marks if mark.get("type") != "code"]
    if "\n" in text or "\r" in text or not is_known_form(marks):
        return [_Piece(format_raw(node), ())]
    if code and (get_attrs(code[0]) or text.startswith(RAW_SPAN)):
        return [_Piece(format_raw(node), ())]
    wraps = tuple(map(_get_wrap, _sort(others)))
    if code:
        return [_Piece(_format_code(text), wraps)]
    if not any(wrap[2] for wrap in wraps):
        return [_Piece(_escape(text), wraps)]
    words = text.strip()
    start = text.index(words) if words else len(text)
    parts = ((text[:start], False), (words, True), (text[start + len(words) :], False))
    return [_Piece(_escape(part), wraps, core) for part, core in parts if part]


def _escape(text: str) -> str:
    return _ESCAPED.sub(r"\\\1", text)


def _format_code(text: str) -> str:
    fence = "`" * (1 + max((len(run) for run in _TICKS.findall(text)), default=0))
    is_padded = text[0] == "`" or text[-1] == "`" or (text[0] == text[-1] == " " and text.strip())
    return f"{fence} {text} {fence}" if is_padded else f"{fence}{text}{fence}"


def format_raw(node: AdfNode) -> str:
    """Format any inline node as JSON in a span of code."""
    return _format_code(f"{RAW_SPAN[:-1]}{format_json(node)}")


_ORDER = ("link", "textColor", "backgroundColor", "underline", "subsup", "strike", "strong", "em")


def _sort(marks: Iterable[AdfNode]) -> list[AdfNode]:
    return sorted(marks, key=lambda mark: _ORDER.index(mark["type"]) if mark["type"] in _ORDER else len(_ORDER))


def _get_wrap(mark: AdfNode) -> Wrap:
    kind, attrs = mark["type"], get_attrs(mark)
    if mark.keys() <= {"type", "attrs"}:
        if kind in _SIMPLE and not attrs:
            return _SIMPLE[kind]
        if kind == "subsup" and attrs in ({"type": "sub"}, {"type": "sup"}):
            return f"<{attrs['type']}>", f"</{attrs['type']}>", False
        if kind in ("textColor", "backgroundColor") and attrs.keys() == {"color"} and _is_color(attrs["color"]):
            name = "color" if kind == "textColor" else "background"
            return f'<span {name}="{attrs["color"]}">', "</span>", False
        if kind == "link" and attrs.keys() == {"href"} and is_address(attrs["href"]):
            return "[", f"]({format_address(attrs['href'])})", False
    return f"<mark {format_json(mark)}>", "</mark>", False


def _is_color(value: object) -> bool:
    return isinstance(value, str) and _COLOR.fullmatch(value) is not None


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


def format_address(address: str) -> str:
    """Format the address of a link or an image."""
    return f"<{address}>" if _ODD_ADDRESS.search(address) else address


def _drop_marks_at_spaces(pieces: list[_Piece]) -> list[_Piece]:
    """Take marks that stand at words off the white space at their edges: there they would be none."""
    kept: list[_Piece] = []
    before: tuple[Wrap, ...] = ()
    for number, piece in enumerate(pieces):
        if piece.core:
            before = piece.marks
            kept.append(piece)
            continue
        after: tuple[Wrap, ...] = next((one.marks for one in pieces[number + 1 : number + 3] if one.core), ())
        marks = tuple(wrap for wrap in piece.marks if not wrap[2] or (wrap in before and wrap in after))
        kept.append(piece._replace(marks=marks))
    return kept


def _join(pieces: list[_Piece]) -> str:
    """Write each mark where it begins and where it ends; links hold whole pieces, other marks may cross."""
    texts: list[str] = []
    open_marks: tuple[Wrap, ...] = ()
    for text, marks, _ in (*pieces, _Piece("", ())):
        kept = _list_kept(open_marks, marks)
        new = tuple(wrap for wrap in marks if wrap not in kept)
        texts += [wrap[1] for wrap in reversed(open_marks) if wrap not in kept]
        texts += [wrap[0] for wrap in new]
        if text[:1] == "`" and texts and texts[-1].endswith("`"):
            texts.append("<wbr>")  # or two spans of code would become one
        texts.append(text)
        open_marks = (*kept, *new)
    return "".join(texts)


def _list_kept(open_marks: tuple[Wrap, ...], marks: tuple[Wrap, ...]) -> tuple[Wrap, ...]:
    """The marks that stay open. One within another that is closed by the same tag is closed with it."""
    kept: list[Wrap] = []
    closed: set[str] = set()
    for wrap in open_marks:
        if wrap in marks and wrap[1] not in closed:
            kept.append(wrap)
        else:
            closed.add(wrap[1])
    return tuple(kept)


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
    return f"[@{_escape(text[1:])}](mention:{quote(attrs['id'], safe=':@-')}{_format_query(extra)})"


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
    return f"[{_escape(text)}](emoji:{name.strip(':')}{query})" if text == text.strip() else ""


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
    return f"[{_escape(text)}](status:{color}{_format_query({'style': style} if style else {})})"


def format_media(attrs: Mapping[str, Any]) -> str:
    """Format a file of a document as an image; "" where its attributes say more than an image can."""
    alt, kind = attrs.get("alt", ""), attrs.get("type", "file")
    if not isinstance(alt, str) or alt != clean_text(alt).strip() or "\n" in alt or (alt == "" and "alt" in attrs):
        return ""
    rest = {name: value for name, value in attrs.items() if name not in ("type", "alt")}
    if kind == "external":
        address = rest.get("url")
        is_plain = isinstance(address, str) and address.startswith(("https://", "http://")) and is_address(address)
        return f"![{_escape(alt)}]({format_address(str(address))})" if is_plain and rest.keys() == {"url"} else ""
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
    return f"![{_escape(alt)}](media:{quote(str(identity), safe='-')}{_format_query(shown)})"


def _are_words(*values: object) -> bool:
    return all(
        isinstance(value, str) and value == clean_text(value) and "\n" not in value and "\r" not in value
        for value in values
    )


def _format_query(values: Mapping[str, Any]) -> str:
    return f"?{urlencode(values)}" if values else ""
