"""The Markdown files of Shirokuma: its data folder up to version 0.7, and what its `export` writes from 0.8 on.

Both have a file for each item, with front matter of one line for each field. Up to 0.7 an id counts within a type, and
relations are keys (``issues-1``); from 0.8 on ids are of all types together, and relations are numbers.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from cli.moving_in.item_file import ItemText
from cli.moving_in.markdown_folder import list_markdown_files

MAX_FILE_BYTES = 1024 * 1024
"""No item has as much."""
MAX_STATUSES = 50
"""Of one line."""
PRIORITIES = frozenset({"CRITICAL", "HIGH", "MEDIUM", "LOW", "MINIMAL"})
CLOSED = frozenset({"archived", "canceled", "cancelled", "closed", "completed", "done", "rejected", "resolved"})
"""Statuses that end an item, where a workspace does not know them yet: Shirokuma's files do not say it."""
STATE_FILES = (".system/current_state/latest.md", "current_state.md")
STATE_TYPE = "system_state"
FIELDS = {
    "title": ("title",),
    "description": ("description",),
    "status": ("status",),
    "category": ("category",),
    "version": ("version",),
    "start_date": ("start_date", "startDate", "date"),
    "end_date": ("end_date", "endDate"),
    "created_at": ("created_at", "createdAt", "created"),
    "updated_at": ("updated_at", "updatedAt", "updated"),
}
"""Fields of an item, and what they are called in the versions."""
RELATED = ("related", "related_tasks", "related_documents", "related_issues", "relatedItems")

_FIELD = re.compile(r"([A-Za-z_]\w{0,50}):(.*)")
_LIST_MARK = "- "
_NAMED_FILE = re.compile(r"(.{1,64})-[0-9]{1,10}")


@dataclass(frozen=True, slots=True)
class _ShirokumaFile:
    """A file: its front matter, and its text."""

    place: str
    fields: Mapping[str, Any]
    body: str

    @property
    def type(self) -> str:
        """Type that the front matter names, else the folder, else the beginning of the file's name."""
        folder, _, name = self.place.rpartition("/")
        named = _NAMED_FILE.fullmatch(name.removesuffix(".md"))
        return str(self.fields.get("type") or folder.partition("/")[0] or (named[1] if named else ""))

    @property
    def id(self) -> int | None:
        """Its number; None for sessions and days, whose ids are times."""
        text = str(self.fields.get("id", ""))
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None

    @property
    def related(self) -> list[str]:
        """Related items, as they are written there."""
        return [one for name in RELATED for one in _read_list(self.fields.get(name))]


class ShirokumaFolder:
    """A folder of Shirokuma's, as lines of items."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> Iterator[ItemText]:
        """Read the statuses that items have, and then the items.

        Raises:
            Invalid: it is no folder, or cannot be read.
        """
        names = self._statuses
        for start in range(0, len(names), MAX_STATUSES):
            listed = [
                {"name": one, "is_closed": one.casefold() in CLOSED} for one in names[start : start + MAX_STATUSES]
            ]
            yield ItemText("statuses", json.dumps({"statuses": listed}, ensure_ascii=False))
        for file in self._iterate_files():
            yield file if isinstance(file, ItemText) else self._build_line(file)

    def read_state(self) -> dict[str, Any] | None:
        """Read the current state as parameters of `update_current_state`; None where there is none."""
        for name in STATE_FILES:
            if (self._folder / name).is_file():
                file = _read_file(self._folder, self._folder / name)
                if isinstance(file, ItemText):
                    return None
                author = file.fields.get("updated_by") or file.fields.get("updatedBy") or "import"
                related = [key for key in map(self._name_related, file.related) if "-" in key]
                tags = _read_list(file.fields.get("tags"))
                return {"content": file.body, "updated_by": str(author), "related": related, "tags": tags}
        return None

    @cached_property
    def _types(self) -> dict[int, str]:
        """The types of ids; not of those that several types have."""
        types: dict[int, set[str]] = {}
        for file in self._iterate_files():
            if isinstance(file, _ShirokumaFile) and file.id is not None:
                types.setdefault(file.id, set()).add(file.type)
        return {id: next(iter(named)) for id, named in types.items() if len(named) == 1}

    @cached_property
    def _statuses(self) -> list[str]:
        files = (file for file in self._iterate_files() if isinstance(file, _ShirokumaFile))
        return list(dict.fromkeys(str(name) for file in files if (name := file.fields.get("status"))))

    def _iterate_files(self) -> Iterator[_ShirokumaFile | ItemText]:
        paths, _ = list_markdown_files(self._folder)
        for path in paths:
            if path.relative_to(self._folder).as_posix() not in STATE_FILES:
                file = _read_file(self._folder, path)
                if isinstance(file, ItemText) or file.type != STATE_TYPE:
                    yield file

    def _build_line(self, file: _ShirokumaFile) -> ItemText:
        if not file.type:
            return ItemText(file.place, "", "says no type, in its front matter, its folder or its name")
        line: dict[str, Any] = {"type": file.type} if file.id is None else {"type": file.type, "id": file.id}
        for name, called in FIELDS.items():
            value = next((file.fields[one] for one in called if file.fields.get(one)), None)
            if value is not None:
                line[name] = str(value)
        priority = str(file.fields.get("priority", "")).upper()
        if priority in PRIORITIES:
            line["priority"] = priority
        line["tags"] = list(dict.fromkeys(_read_list(file.fields.get("tags"))))
        line["related"] = list(dict.fromkeys(map(self._name_related, file.related)))
        if file.body:
            line["content"] = file.body
        return ItemText(file.place, json.dumps(line, ensure_ascii=False))

    def _name_related(self, text: str) -> str:
        """Name what an item is related to by its key; a number that no file has stays one, and is refused."""
        if text.isascii() and text.isdigit() and len(text) < 10 and int(text) in self._types:
            return f"{self._types[int(text)]}-{int(text)}"
        return text


def _read_file(folder: Path, path: Path) -> _ShirokumaFile | ItemText:
    """Read a file, or tell what is wrong with it."""
    place = path.relative_to(folder).as_posix()
    try:
        with path.open("rb") as opened:
            data = opened.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            return ItemText(place, "", f"is larger than {MAX_FILE_BYTES:,} bytes")
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        return ItemText(place, "", f"cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        return ItemText(place, "", "is not UTF-8")
    head, fence, body = text.removeprefix("---\n").partition("\n---\n")
    if not text.startswith("---\n") or not fence:
        return ItemText(place, "", "has no front matter")
    return _ShirokumaFile(place, _read_fields(head), body.removeprefix("\n"))


def _read_fields(head: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    latest: str = ""
    listed: list[str] | None = None
    for line in head.split("\n"):
        if (found := _FIELD.fullmatch(line)) is not None:
            latest = found[1]
            fields[latest] = _read_value(latest, found[2].strip())
            listed = None
        elif line.strip().startswith(_LIST_MARK) and (listed is not None or fields.get(latest) == ""):
            if listed is None:
                listed = fields[latest] = []
            listed.append(line.strip().removeprefix(_LIST_MARK).strip("\"' "))
    return fields


def _read_value(name: str, text: str) -> Any:
    """Read a value. A title, a category and a version stand in quotes of which only the quotes are escaped; lists,
    objects and other texts in quotes are JSON; and all else is a text as it is."""
    is_quoted = len(text) > 1 and text[0] == text[-1] == '"'
    if is_quoted and name in {"title", "category", "version"}:
        return text[1:-1].replace('\\"', '"')
    if is_quoted or text[:1] in {"[", "{"}:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text.strip('[]"')
    return text


def _read_list(value: Any) -> list[str]:
    """Read a list, or a text with commas."""
    parts = cast("list[Any]", value) if isinstance(value, list) else str(value or "").split(",")
    return [text for one in parts if (text := str(one).strip("\"' "))]
