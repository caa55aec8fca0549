"""Results of Confluence's tools: compact, with names beside ids, whole addresses, and times with their zone."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, cast
from urllib.parse import unquote

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from modules.kit.result_texts import TextResult
from modules.kit.results import Count, Flag, Identifier, ListPage, OptionalUrl, ResultModel, Text, Word, read_at

_BASE = re.compile(r"https://[A-Za-z0-9.-]{1,253}(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~-]{1,100}){0,3}")
_USUAL_MOMENT = re.compile(r"....-..-..T..:..:..(?:\.[0-9]{1,6})?Z$")
_PLACE = re.compile(r"/[!-~]{1,4000}", re.ASCII)
_SPACE_PLACE = re.compile(r"/spaces/([^/?#\s]{1,255})(?:[/?#]|$)")


def format_moment(value: Any) -> Any:
    """Format a moment such as ``2026-01-31T12:00:00.000Z`` without fractions."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return value
    if _USUAL_MOMENT.match(value):
        return f"{value[:19]}Z"
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


Moment = Annotated[Word, BeforeValidator(format_moment)]


def get_mapping(value: Any) -> Mapping[str, Any]:
    """Return an object of Confluence's; an empty one for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def get_storage(raw: Any) -> str | None:
    """Return the body of an object of Confluence's; None where there is none."""
    value = get_mapping(get_mapping(get_mapping(raw).get("body")).get("storage")).get("value")
    return value if isinstance(value, str) else None


def get_space_key(place: Any) -> str:
    """Return the key in an address such as ``/spaces/ENG/pages/1/Title``; "" where there is none."""
    found = _SPACE_PLACE.match(place) if isinstance(place, str) else None
    if not found:
        return ""
    return unquote(found[1]) if "%" in found[1] else found[1]


def read_address(links: Any, *names: str) -> str:
    """Read the first of these links as an address: whole, or without its host where that is not told."""
    found = get_mapping(links)
    for name in names:
        place = found.get(name)
        if isinstance(place, str) and _PLACE.fullmatch(place):
            return _read_base(found) + place if "base" in found else place
    return ""


def _read_base(links: Any) -> str:
    base = get_mapping(links).get("base")
    return base if isinstance(base, str) and _BASE.fullmatch(base) else ""


def add_base(rows: Sequence[BaseModel], document: Any) -> None:
    """Give rows that were just read, and have a `url`, the host and path that a list has once for all of them; without
    it, they have none."""
    base = _read_base(get_mapping(document).get("_links"))
    for row in rows:
        if url := getattr(row, "url", ""):
            object.__setattr__(row, "url", base and f"{base}{url}")  # nobody has the row yet; a copy takes 2 µs


def drop_usual(raw: Any, **usual: str) -> Any:
    """An object of Confluence's without the values that most have."""
    if not isinstance(raw, dict):
        return raw
    found = cast("dict[str, Any]", raw)
    return {**found, **{name: "" for name, value in usual.items() if found.get(name) == value}}


def read_page(raw: Any) -> Any:
    """A page of Confluence's with the fields of :class:`ConfluencePageRow`."""
    if not isinstance(raw, dict):
        return raw
    page = cast("dict[str, Any]", raw)
    get = page.get
    links, version = get_mapping(get("_links")), get_mapping(get("version"))
    kind, parent, status = get("parentType") or "page", get("parentId") or "", get("status")
    return {
        **page,
        "status": "" if status == "current" else status,
        "space": get_space_key(links.get("webui")) or get("spaceId"),
        "parent": f"{kind} {parent}" if parent and kind != "page" else parent,
        "version": version.get("number"),
        "updated": version.get("createdAt"),
        "url": read_address(links, "tinyui", "webui"),
    }


class ConfluencePageRow(ResultModel):
    """`status` is missing where it is current; `parent` is a page's id unless it says otherwise."""

    id: Identifier
    title: Word = ""
    status: Word = ""
    space: Word = ""
    parent: Word = ""
    version: Count = 0
    updated: Moment = ""
    url: OptionalUrl = ""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        return read_page(raw)


class ConfluencePages(ListPage):
    pages: list[ConfluencePageRow]


class ConfluencePage(TextResult):
    """A page in full. The first version has no `updated`, the author's own none `editor`. `next_offset` leads to the
    rest of a long one. `markup`: its body is no well-formed storage format, and is shown as it is."""

    text_field = "body"

    id: Identifier
    title: Word = ""
    status: Word = ""
    space: Word = ""
    parent: Word = ""
    version: Count = 0
    created: Annotated[Moment, read_at("createdAt")] = ""
    author: Annotated[Word, read_at("authorId")] = ""
    updated: Moment = ""
    editor: Word = ""
    message: Word = ""
    url: OptionalUrl = ""
    body: Text = ""
    next_offset: Count = 0
    markup: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        fields = read_page(raw)
        if fields is raw:
            return raw
        version, key = get_mapping(raw.get("version")), get_space_key(get_mapping(raw.get("_links")).get("webui"))
        space = raw.get("spaceId")
        return {
            **fields,
            "space": f"{key} ({space})" if key and space else key or space,
            "editor": version.get("authorId"),
            "message": version.get("message"),
            "body": get_storage(raw) or "",
        }


class SavedConfluencePage(ResultModel):
    id: Identifier
    title: Word = ""
    version: Count = 0
    url: OptionalUrl = ""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        return read_page(raw)


class RemovedConfluence(ResultModel):
    id: Identifier
    removed: Annotated[bool, Field(description="Always true")] = True
