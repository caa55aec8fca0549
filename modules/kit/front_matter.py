"""Front matter of Markdown: the block between two lines ``---`` at its top, of which title and tags are read.

It is no YAML parser: keys at the left edge with a text, a list in brackets or a list of lines are read, and all else is
passed over. So there are no anchors, no types and nothing that grows.
"""

import re
from dataclasses import dataclass

MAX_FRONT_MATTER_CHARS = 64 * 1024
MAX_TITLE_CHARS = 500
MAX_TAG_CHARS = 100
MAX_FRONT_TAGS = 50

_FENCE = re.compile(r"---[ \t]*\r?\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$\n?", re.MULTILINE)
_KEY = re.compile(r"([A-Za-z_][\w-]{0,50})[ \t]*:(?:[ \t]+|$)")
_FIRST_HEADING = re.compile(r"(?:[ \t]*\r?\n)*# +([^\r\n]{1,1000})")
_ITEM = re.compile(r"[ \t]*-[ \t]+")
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*+)\"|'((?:[^']|'')*+)'")
_UNREAD = frozenset({"null", "Null", "NULL", "~", ">", ">-", ">+", "|", "|-", "|+"})
_PLAIN_COMMENT = re.compile(r"[ \t]#.*")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What the front matter of a document says of it; empty where it does not. `rest` is the document without it, which
    begins at `offset`."""

    title: str
    tags: tuple[str, ...]
    rest: str
    offset: int


@dataclass(slots=True)
class _Field:
    value: str
    items: list[str]

    @property
    def is_open(self) -> bool:
        """Check whether a list in brackets goes on on the next line."""
        return self.value.startswith("[") and "]" not in self.value


def read_front_matter(text: str) -> FrontMatter:
    """Read the front matter at the top of a text. Without one that ends within 64 KiB, all of the text is `rest`."""
    opening = 1 if text.startswith("\ufeff") else 0
    found = _FENCE.match(text, opening)
    closing = _CLOSING.search(text, found.end(), found.end() + MAX_FRONT_MATTER_CHARS) if found else None
    if found is None or closing is None:
        return FrontMatter("", (), text, 0)
    fields = _read_fields(text[found.end() : closing.start()])
    title = _read_text(fields["title"].value)[:MAX_TITLE_CHARS] if "title" in fields else ""
    tags = _read_tags(fields.get("tags") or fields.get("tag"))
    return FrontMatter(title, tags, text[closing.end() :], closing.end())


def find_first_heading(text: str) -> str:
    """Return the heading that a Markdown text begins with, ``# Title``; empty where it begins with something else."""
    found = _FIRST_HEADING.match(text)
    return " ".join(found[1].split())[:MAX_TITLE_CHARS] if found else ""


def _read_fields(block: str) -> dict[str, _Field]:
    fields: dict[str, _Field] = {}
    last: _Field | None = None
    for line in block.splitlines():
        if last is not None and last.is_open:
            last.value += f" {line.strip()}"
        elif (key := _KEY.match(line)) is not None:
            last = _Field(line[key.end() :].strip(), [])
            fields.setdefault(key[1].lower(), last)
        elif last is not None and (item := _ITEM.match(line)) is not None:
            last.items.append(line[item.end() :].strip())
    return fields


def _read_tags(field: _Field | None) -> tuple[str, ...]:
    if field is None:
        return ()
    found = field.items or _split_list(field.value)
    tags = (_read_text(tag).lstrip("#").strip()[:MAX_TAG_CHARS] for tag in found)
    return tuple(dict.fromkeys(tag for tag in tags if tag))[:MAX_FRONT_TAGS]


def _split_list(value: str) -> list[str]:
    """Split ``[a, "b, c"]`` or ``a, b``."""
    if not value.startswith("["):
        return value.split(",") if _QUOTED.fullmatch(value) is None else [value]
    inner = value[1:].rpartition("]")[0] if "]" in value else value[1:]
    items: list[str] = []
    place = 0
    while place < len(inner):
        quoted = _QUOTED.match(inner, place)
        end = inner.find(",", quoted.end() if quoted else place)
        end = len(inner) if end < 0 else end
        items.append(inner[place:end].strip())
        place = end + 1
        place += len(inner[place:]) - len(inner[place:].lstrip())
    return items


def _read_text(value: str) -> str:
    """Read a scalar: quoted, or plain up to a comment. Nulls are empty, and so are texts of several lines."""
    quoted = _QUOTED.match(value)
    if quoted is None and value in _UNREAD:
        return ""
    if quoted is None:
        return " ".join(_PLAIN_COMMENT.sub("", value).split())
    if quoted[1] is not None:
        return " ".join(quoted[1].replace('\\"', '"').replace("\\\\", "\\").split())
    return " ".join((quoted[2] or "").replace("''", "'").split())
