"""Elements of Confluence's storage format that Markdown cannot say, as the storage format has them."""

from html import escape

from modules.kit.markup.html_reading import is_hidden
from modules.kit.markup.markdown_runs import Inline, Mark
from modules.kit.markup.markdown_text import Block, format_fence
from modules.kit.markup.markup_tree import Element
from modules.kit.turns import count_work

MARK = "{=storage}"
HOLE = "\0"
"""Stands for content that is left out."""
_DROPPED = frozenset({"ac:macro-id", "ac:local-id", "local-id", "class", "ac:schema-version", "id"})
_DROPPED_ELEMENTS = frozenset({"colgroup", "ac:task-id", "ac:task-uuid"})
_ELEMENT_WORK = 20


def format_raw(element: Element) -> Block:
    """A block that Markdown cannot say."""
    return Block(format_fence(serialize(element), MARK))


def make_raw_run(element: Element, marks: tuple[Mark, ...]) -> Inline:
    """A part of a line that Markdown cannot say."""
    text = serialize(element).replace("\r", "").replace("\n", "&#10;")
    return Inline("raw", text, marks, "storage") if text else Inline("text", "", marks)


def serialize(element: Element, *, hole: Element | None = None) -> str:
    """Write an element in the storage format, without what is not shown; `hole` is written without its content, for
    which a mark stands."""
    if element.name in _DROPPED_ELEMENTS or is_hidden(element):
        return ""
    count_work(_ELEMENT_WORK)
    kept = {name: value for name, value in element.attributes.items() if name not in _DROPPED and name[:5] != "data-"}
    tag = element.name + "".join(f' {name}="{escape(value)}"' for name, value in kept.items())
    if element is hole:
        return f"<{tag}>{HOLE}</{element.name}>"
    parts = [
        escape(one, quote=False) if isinstance(one, str) else serialize(one, hole=hole) for one in element.children
    ]
    if not element.name:
        return "".join(parts)
    return f"<{tag}>{''.join(parts)}</{element.name}>" if parts else f"<{tag}/>"
