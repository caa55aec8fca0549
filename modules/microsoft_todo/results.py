"""Results of Microsoft To Do's tools: compact, with days as days and times with their offset."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import Field, model_validator

from modules.kit.markup.html_reading import convert_html_to_markdown
from modules.kit.results import (
    LEFT_OUT_IF_EMPTY,
    Count,
    Flag,
    Identifier,
    OptionalIdentifier,
    ResultModel,
    Text,
    Word,
    read_each,
)
from modules.kit.text_cleaning import clean_line, clean_url
from modules.microsoft_todo.task_times import (
    describe_recurrence,
    format_due,
    format_moment,
    format_recurrence,
    get_list,
    get_mapping,
)

Raw = Mapping[str, Any]
Lines = Annotated[list[str], LEFT_OUT_IF_EMPTY]


class TaskList(ResultModel):
    """A list. `kind` stands at To Do's own ones, which cannot be renamed or deleted."""

    id: Identifier
    name: Word = ""
    kind: Word = ""
    shared: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        if not isinstance(raw, Mapping):
            return raw
        found = cast("Raw", raw)
        kind = found.get("wellknownListName")
        own = "" if kind == "none" else kind
        return {**found, "name": found.get("displayName"), "kind": own, "shared": found.get("isShared")}


class ChecklistItem(ResultModel):
    """A step of a task."""

    id: Identifier
    name: Word = ""
    done: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        if not isinstance(raw, Mapping):
            return raw
        found = cast("Raw", raw)
        return {**found, "name": found.get("displayName"), "done": found.get("isChecked")}


class TaskRow(ResultModel):
    """A task. `due` is a day; `reminder` is in the zone in which it was set, or in UTC."""

    id: Identifier
    title: Word = ""
    status: Word = ""
    importance: Word = ""
    due: Word = ""
    reminder: Word = ""
    repeats: Word = ""
    categories: Lines = []  # noqa: RUF012
    has_body: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        return read_task(cast("Raw", raw)) if isinstance(raw, Mapping) else raw


class TodoTask(TaskRow):
    """One task in full. `recurrence` is as it can be given again, `repeats` the same in words."""

    longest = {"body": 100_000}  # noqa: RUF012
    markdown_fields = frozenset({"body"})

    body: Text = ""
    body_more: Annotated[Count, Field(description="Characters behind; read on by body_from")] = 0
    recurrence: Word = ""
    start: Word = ""
    completed: Word = ""
    steps: Annotated[list[ChecklistItem], read_each(ChecklistItem), LEFT_OUT_IF_EMPTY] = []  # noqa: RUF012
    links: Lines = []  # noqa: RUF012
    has_attachments: Flag = False
    created: Word = ""
    changed: Word = ""
    etag: OptionalIdentifier = ""
    truncated: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        return {**read_task(cast("Raw", raw)), "has_body": False} if isinstance(raw, Mapping) else raw


class SavedTask(ResultModel):
    """What was made or changed."""

    id: Identifier
    title: Word = ""
    status: Word = ""
    due: Word = ""
    reminder: Word = ""
    repeats: Word = ""
    etag: OptionalIdentifier = ""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        return read_task(cast("Raw", raw)) if isinstance(raw, Mapping) else raw


class RemovedTodo(ResultModel):
    id: Identifier
    deleted: Annotated[bool, Field(description="Always true")] = True


def format_body(raw: Raw) -> Raw:
    """A task of Graph's with its text, which is HTML, as Markdown."""
    return {
        **raw,
        "body": {"content": convert_html_to_markdown(str(get_mapping(raw.get("body")).get("content") or ""))},
    }


def has_html(raw: Raw) -> bool:
    """Check whether a task of Graph's has its text as HTML."""
    return get_mapping(raw.get("body")).get("contentType") == "html"


def read_task(raw: Raw) -> dict[str, Any]:
    """Read a task of Graph's as the fields of :class:`TodoTask`, of which the other shapes take some."""
    content = str(get_mapping(raw.get("body")).get("content") or "")
    rule = format_recurrence(raw.get("recurrence"))
    fields = {
        "id": raw.get("id"),
        "title": raw.get("title"),
        "status": raw.get("status"),
        "importance": "" if raw.get("importance") == "normal" else raw.get("importance"),
        "due": format_due(raw.get("dueDateTime")),
        "reminder": format_moment(raw.get("reminderDateTime")) if raw.get("isReminderOn") else "",
        "recurrence": rule,
        "repeats": describe_recurrence(rule) or ("in a way that is not known here" if raw.get("recurrence") else ""),
        "categories": [clean_line(str(one)) for one in get_list(raw.get("categories"))],
        "has_body": bool(content.strip()),
        "body": content,
        "start": format_due(raw.get("startDateTime")),
        "completed": format_due(raw.get("completedDateTime")),
        "steps": raw.get("checklistItems"),
        "links": [_format_link(get_mapping(one)) for one in get_list(raw.get("linkedResources"))],
        "has_attachments": raw.get("hasAttachments"),
        "created": raw.get("createdDateTime"),
        "changed": raw.get("lastModifiedDateTime"),
        "etag": raw.get("@odata.etag"),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _format_link(link: Raw) -> str:
    name = link.get("displayName") or link.get("applicationName") or "link"
    return f"{clean_line(str(name))}: {clean_url(str(link.get('webUrl') or link.get('externalId') or ''))}"
