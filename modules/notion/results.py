"""Parts of results that several of Notion's tools share."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field, model_validator

from modules.kit.results import Flag, Identifier, OptionalUrl, ResultModel, Word
from modules.notion.properties import find_title, format_person, read_properties
from modules.notion.rich_text import format_rich_text


def _format_parent(parent: Any) -> Any:
    """A parent as its type and id."""
    if not isinstance(parent, Mapping):
        return ""
    found = cast("Mapping[str, Any]", parent)
    kind = str(found.get("type", ""))
    return "workspace" if kind == "workspace" else f"{kind.removesuffix('_id')} {found.get(kind)}"


def _format_icon(icon: Any) -> Any:
    return cast("Any", icon).get("emoji") or "" if isinstance(icon, Mapping) else ""


def _format_user(user: Any) -> Any:
    return format_person(cast("Any", user)) if isinstance(user, Mapping) else ""


def _format_texts(items: Any) -> Any:
    return format_rich_text(cast("Any", items)) if isinstance(items, list) else items


Parent = Annotated[Word, BeforeValidator(_format_parent)]
Icon = Annotated[Word, BeforeValidator(_format_icon)]
Person = Annotated[Word, BeforeValidator(_format_user)]
Title = Annotated[Word, BeforeValidator(_format_texts)]
Values = Annotated[dict[str, Any], Field(exclude_if=lambda values: not values)]


class PageRow(ResultModel):
    """A page or, in a search, a data source."""

    id: Identifier
    object: Word = ""
    title: Word = ""
    icon: Icon = ""
    parent: Parent = ""
    url: OptionalUrl = ""
    last_edited_time: Word = ""
    in_trash: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _find_title(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        found = cast("dict[str, Any]", raw)
        title: Any = found.get("title")
        if isinstance(title, str):
            return found
        if title is None:
            return {**found, "title": find_title(found.get("properties") or {})}
        return {**found, "title": format_rich_text(title)}


class RowOfValues(PageRow):
    """A page with the values of its properties."""

    properties: Values = {}  # noqa: RUF012

    @model_validator(mode="before")
    @classmethod
    def _read_values(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        found = cast("dict[str, Any]", raw)
        properties = cast("dict[str, Any]", found.get("properties") or {})
        rest = {name: value for name, value in properties.items() if value.get("type") != "title"}
        return {**found, "title": find_title(properties), "properties": read_properties(rest)}


class SavedObject(ResultModel):
    """What was made or changed."""

    id: Identifier
    url: OptionalUrl = ""
    in_trash: Flag = False
