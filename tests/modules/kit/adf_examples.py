"""Documents of Atlassian's format: one for each type of node and mark, and the form that two equal ones share."""

import json
from typing import Any

Node = dict[str, Any]


def doc(*content: Node) -> Node:
    return {"version": 1, "type": "doc", "content": list(content)}


def text(value: str, *marks: str | Node) -> Node:
    made = [{"type": mark} if isinstance(mark, str) else mark for mark in marks]
    return {"type": "text", "text": value, **({"marks": made} if made else {})}


def para(*content: Node | str, **more: Any) -> Node:
    return {"type": "paragraph", "content": [text(one) if isinstance(one, str) else one for one in content], **more}


def node(kind: str, *content: Node, marks: list[Node] | None = None, **attrs: Any) -> Node:
    return {
        "type": kind,
        **({"attrs": attrs} if attrs else {}),
        **({"content": list(content)} if content else {}),
        **({"marks": marks} if marks else {}),
    }


def cells(*kinds_and_texts: tuple[str, str], **attrs: Any) -> Node:
    made = [
        node("tableHeader" if kind == "h" else "tableCell", para(value), **attrs) for kind, value in kinds_and_texts
    ]
    return node("tableRow", *made)


def item(*content: Node) -> Node:
    return node("listItem", *content)


def task(value: str, state: str = "TODO") -> Node:
    return node("taskItem", text(value), localId="1", state=state)


LINK = node("link", href="https://a.test/b_(c)?d=e")
FILE = {"type": "file", "id": "6e7c7f2c-dd7a-499c-bceb-6f32bfbf30b5", "collection": "c 1", "width": 3, "height": 4}
ALIGNED = [node("alignment", align="center")]
WIDE = [node("breakout", mode="wide", width=1200)]
EXTENSION = {"extensionType": "com.atlassian.macro", "extensionKey": "toc", "parameters": {"a": ["|", "`", "]"]}}

BLOCKS: dict[str, Node] = {
    "paragraph": para("Plain, with * and _ and [x] and <b> &amp; \\ `."),
    "paragraph-empty": para(),
    "paragraph-spaces": para("  two at each end  "),
    "paragraph-like-heading": para("# no heading"),
    "paragraph-like-item": para("1. no item"),
    "paragraph-like-rule": para("---"),
    "paragraph-like-alert": para("[!info] no panel"),
    "paragraph-like-table": para("| a | b |"),
    "paragraph-newline": para("a\nb"),
    "paragraph-aligned": para("x", marks=ALIGNED),
    "paragraph-indented": para("x", marks=[node("indentation", level=2)]),
    "heading": node("heading", text("Head #"), level=2),
    "heading-empty": node("heading", level=6),
    "heading-aligned": node("heading", text("x"), level=1, marks=ALIGNED),
    "rule": node("rule"),
    "bulletList": node("bulletList", item(para("a")), item(para("b"), node("bulletList", item(para("c"))))),
    "orderedList": node("orderedList", item(para("a"), para("b")), item(para()), order=7),
    "orderedList-in-bulletList": node("bulletList", item(para("a"), node("orderedList", item(para("b")), order=3))),
    "list-of-code": node("bulletList", item(node("codeBlock", text("a\n\n  b"), language="python"))),
    "list-of-media": node("bulletList", item(node("mediaSingle", node("media", **FILE), layout="center"))),
    "taskList": node("taskList", task("a"), node("taskList", task("b", "DONE"), localId="2"), task("c"), localId="3"),
    "blockTaskItem": node("taskList", node("blockTaskItem", para("a"), para("b"), localId="1", state="TODO")),
    "decisionList": node("decisionList", node("decisionItem", text("a"), localId="1", state="DECIDED"), localId="2"),
    "codeBlock": node("codeBlock", text("a = `b`\n```\n\tc\n\n"), language="python"),
    "codeBlock-plain": node("codeBlock", text("x")),
    "codeBlock-empty": node("codeBlock"),
    "codeBlock-adf": node("codeBlock", text("{}"), language="adf"),
    "codeBlock-odd-language": node("codeBlock", text("x"), language="two words"),
    "codeBlock-wide": node("codeBlock", text("x"), language="sql", marks=WIDE),
    "blockquote": node("blockquote", para("a"), node("bulletList", item(para("b"))), para("c")),
    **{f"panel-{kind}": node("panel", para("a"), para("b"), panelType=kind)
       for kind in ("info", "note", "tip", "warning", "error", "success")},
    "panel-custom": node("panel", para("a"), panelType="custom", panelIcon=":x:", panelColor="#fff"),
    "panel-of-list": node("panel", node("bulletList", item(para("a"))), panelType="note"),
    "expand": node("expand", para("a"), title="A *title* [here]"),
    "expand-untitled": node("expand", node("codeBlock", text("x"))),
    "expand-empty-title": node("expand", para("a"), title=""),
    "expand-wide": node("expand", para("a"), title="T", marks=WIDE),
    "nestedExpand": node("expand", node("nestedExpand", para("a"), title="{x}"), title="T"),
    "table": node("table", cells(("h", "a|b"), ("h", "")), cells(("c", "1\\"), ("c", "`2`"))),
    "table-attributes": node("table", cells(("h", "a")), isNumberColumnEnabled=True, layout="wide", width=900),
    "table-header-column": node("table", cells(("h", "a"), ("c", "b")), cells(("h", "c"), ("c", "d"))),
    "table-header-both": node("table", cells(("h", "a"), ("h", "b")), cells(("h", "c"), ("c", "d"))),
    "table-without-header": node("table", cells(("c", "a"), ("c", "b")), cells(("c", "c"), ("c", "d"))),
    "table-widths": node("table", cells(("h", "a"), colwidth=[100]), cells(("c", "b"), colwidth=[100])),
    "table-span": node("table", cells(("h", "a"), colspan=2), cells(("c", "b"), ("c", "c"), background="#fff")),
    "table-of-blocks": node("table", node("tableRow", node("tableCell", para("a"), node("rule"), para("b")))),
    "table-of-lists": node("table", node("tableRow", node("tableHeader", node("bulletList", item(para("a")))))),
    "mediaSingle": node("mediaSingle", node("media", alt="a [b]", **FILE), layout="center"),
    "mediaSingle-wide": node("mediaSingle", node("media", **FILE), layout="wrap-left", width=33.5, widthType="pixel"),
    "mediaSingle-external": node("mediaSingle", node("media", type="external", url="http://a.t/ b"), layout="center"),
    "mediaSingle-caption": node("mediaSingle", node("media", **FILE), node("caption", text("x")), layout="center"),
    "mediaSingle-border": node("mediaSingle", node("media", marks=[node("border", size=2, color="#123456")], **FILE),
                               layout="center"),
    "mediaGroup": node("mediaGroup", node("media", **FILE), node("media", **FILE)),
    "blockCard": node("blockCard", url="https://a.test/b"),
    "blockCard-datasource": node("blockCard", url="https://a.test/b", datasource={"id": "x", "views": []}),
    "blockCard-data": node("blockCard", data={"@type": "Document"}),
    "embedCard": node("embedCard", url="https://a.test/b", layout="center"),
    "embedCard-wide": node("embedCard", url="https://a.test/b", layout="wide", width=80.5, originalHeight=300),
    "layoutSection": node("layoutSection", node("layoutColumn", para("a"), width=50),
                          node("layoutColumn", node("bulletList", item(para("b"))), width=50), marks=WIDE),
    "extension": node("extension", layout="default", **EXTENSION),
    "bodiedExtension": node("bodiedExtension", para("a"), node("rule"), **EXTENSION),
    "multiBodiedExtension": node("multiBodiedExtension", node("extensionFrame", para("a")), **EXTENSION),
    "syncBlock": node("syncBlock", resourceId="x"),
    "bodiedSyncBlock": node("bodiedSyncBlock", para("a"), resourceId="x"),
    "unknown": node("somethingNew", node("deeper", text("x")), a={"b": [1, None, "`````"]}),
}  # fmt: skip

INLINES: dict[str, Node] = {
    "hardBreak": node("hardBreak"),
    "mention": node("mention", id="557058:0867a421-a9ee", text="@Ada [L] \\"),
    "mention-nameless": node("mention", id="5b10ac8d82e05b22cc7d4ef5"),
    "mention-access": node("mention", id="a", text="@b", accessLevel="CONTAINER", userType="APP"),
    "mention-odd": node("mention", id="a", text="no sign", accessLevel=""),
    "emoji": node("emoji", shortName=":smile:", id="1f604", text="😄"),
    "emoji-own": node("emoji", shortName=":our-logo:", id="0a-b", text=":our-logo:"),
    "emoji-other-id": node("emoji", shortName=":+1:", id="x y", text="👍"),
    "emoji-short": node("emoji", shortName=":smile:"),
    "date": node("date", timestamp="1777593600000"),
    "date-early": node("date", timestamp="-86400000"),
    "date-in-a-day": node("date", timestamp="1777593600001"),
    "status": node("status", text="IN (PROGRESS]", color="yellow", style="bold"),
    "status-odd": node("status", text="x", color="pink"),
    "inlineCard": node("inlineCard", url="https://a.test/b?c=(d)&e=*f*"),
    "inlineCard-data": node("inlineCard", data={"url": "https://a.test/`"}),
    "inlineCard-odd": node("inlineCard", url="a b"),
    "mediaInline": node("mediaInline", alt="x", **FILE),
    "placeholder": node("placeholder", text="type `here`"),
    "inlineExtension": node("inlineExtension", **EXTENSION),
    "annotated-card": node("inlineCard", url="https://a.test/", marks=[node("annotation", id="1", annotationType="i")]),
    "unknown": node("newInline", text="x"),
}

MARKS: dict[str, list[Node]] = {
    "strong": [node("strong")],
    "em": [node("em")],
    "code": [node("code")],
    "strike": [node("strike")],
    "underline": [node("underline")],
    "link": [LINK],
    "link-titled": [node("link", href="https://a.test", title='a "b"')],
    "link-relative": [node("link", href="/browse/A-1#x")],
    "link-odd": [node("link", href="a<b")],
    "link-strong": [LINK, node("strong")],
    "link-code": [node("code"), LINK],
    "sub": [node("subsup", type="sub")],
    "sup": [node("subsup", type="sup")],
    "textColor": [node("textColor", color="#ff5630")],
    "backgroundColor": [node("backgroundColor", color="#fedec8")],
    "annotation": [node("annotation", id="abc", annotationType="inlineComment")],
    "fontSize": [node("fontSize", fontSize="small")],
    "all": [node("strong"), node("em"), node("strike"), node("underline"), node("textColor", color="#ff5630")],
    "unknown": [node("newMark", a="> ] |")],
}


def normalize(found: Any) -> Any:
    """A document without what says nothing: the editor's ids, an order of 1, empty content, the division of texts."""
    if isinstance(found, list):
        return [normalize(one) for one in _merge(found)]
    if not isinstance(found, dict):
        return found
    made = {name: normalize(value) for name, value in found.items()}
    attrs = {name: value for name, value in made.get("attrs", {}).items() if name != "localId"}
    if made.get("type") == "orderedList" and attrs.get("order") == 1:
        attrs = {}
    made["attrs"] = attrs
    if isinstance(made.get("marks"), list):
        made["marks"] = sorted(made["marks"], key=json.dumps)
    return {name: value for name, value in made.items() if value or name not in ("attrs", "content", "marks")}


def _merge(nodes: list[Any]) -> list[Any]:
    """Texts of the same marks as one; white space at the edge of a text without the marks that stand at words."""
    parts: list[Any] = []
    for one in nodes:
        if not isinstance(one, dict) or one.get("type") != "text":
            parts.append(one)
        elif one.get("text") and parts and _is_text(parts[-1]) and _marks(parts[-1]) == _marks(one):
            parts[-1] = {**parts[-1], "text": parts[-1]["text"] + one["text"]}
        elif one.get("text"):
            parts.append(one)
    spread: list[Any] = []
    for one in parts:
        is_plain = _is_text(one) and not any(mark.get("type") == "code" for mark in one.get("marks", []))
        words = one["text"].strip() if is_plain else ""
        if not is_plain or "\n" in one["text"] or "\r" in one["text"]:
            spread.append(one)
            continue
        start = one["text"].index(words) if words else len(one["text"])
        for value, is_core in ((one["text"][:start], 0), (words, 1), (one["text"][start + len(words) :], 0)):
            if value:
                marks = [
                    mark for mark in one.get("marks", []) if is_core or mark["type"] not in ("strong", "em", "strike")
                ]
                spread.append({**one, "text": value, "marks": marks})
    merged: list[Any] = []
    for one in spread:
        if merged and _is_text(one) and _is_text(merged[-1]) and _marks(merged[-1]) == _marks(one):
            merged[-1] = {**merged[-1], "text": merged[-1]["text"] + one["text"]}
        else:
            merged.append(one)
    return merged


def _is_text(one: Any) -> bool:
    return isinstance(one, dict) and one.get("type") == "text"


def _marks(one: Node) -> str:
    return json.dumps(sorted(one.get("marks", []), key=json.dumps))
