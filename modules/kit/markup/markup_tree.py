"""Trees of HTML and of XML (see `html_parsing.py` and `xml_parsing.py`): a text never leads to a deep one."""

from dataclasses import dataclass, field

MAX_DEPTH = 60
"""Elements in elements. HTML that is deeper is read as if the rest stood beside each other; such XML is refused."""


@dataclass(slots=True, eq=False)
class Element:
    """An element of a tree. Of XML, `start` is where its first tag begins and `end` where its last tag begins, in bytes
    of UTF-8."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    children: "list[Element | str]" = field(default_factory=list["Element | str"])
    start: int = 0
    end: int = 0

    def find(self, name: str) -> "Element | None":
        """The first child with a name."""
        return next((one for one in self.children if isinstance(one, Element) and one.name == name), None)

    def get_text(self) -> str:
        """The text of the element and all in it."""
        if len(self.children) == 1 and isinstance(text := self.children[0], str):
            return text
        parts: list[str] = []
        waiting: list[Element | str] = [self]
        while waiting:
            one = waiting.pop()
            if isinstance(one, str):
                parts.append(one)
            else:
                waiting.extend(reversed(one.children))
        return "".join(parts)


class MalformedMarkupError(ValueError):
    """A text is no well-formed XML, or too deep; the message says where, and holds nothing of the text."""
