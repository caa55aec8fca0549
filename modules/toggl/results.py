"""Results of Toggl's tools."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import Field, model_validator

from modules.kit.results import (
    LEFT_OUT_IF_EMPTY,
    Count,
    CountedPage,
    Flag,
    ListPage,
    Missable,
    ResultModel,
    Word,
    read_at,
)
from modules.kit.text_cleaning import clean_line

Lines = Annotated[list[str], LEFT_OUT_IF_EMPTY]
MAX_TAGS = 100
"""Of one time entry that are shown."""


class TogglProfile(ResultModel):
    """Whose the account is. `time_zone` is that of Toggl's own pages."""

    id: Missable[int] = None
    name: Annotated[Word, read_at("fullname")] = ""
    email: Word = ""
    time_zone: Annotated[Word, read_at("timezone")] = ""
    default_workspace_id: Missable[int] = None


class TogglWorkspace(ResultModel):
    id: int
    name: Word = ""
    organization_id: Missable[int] = None


class Workspaces(ResultModel):
    """`unreadable` is the number of rows left out because they are not of the documented form."""

    workspaces: list[TogglWorkspace]
    unreadable: Count = 0


class Project(ResultModel):
    id: int
    name: Word = ""
    client: Annotated[Word, read_at("client_name")] = ""
    active: bool = True
    billable: Flag = False
    color: Word = ""


class Projects(ListPage):
    projects: list[Project]


class TimeEntry(ResultModel):
    """A time entry. A `running` one has no `stop`, and its `seconds` are not known."""

    id: int
    description: Word = ""
    start: Word = ""
    stop: Word = ""
    seconds: Missable[int] = None
    running: Flag = False
    project: Word = ""
    project_id: Missable[int] = None
    client: Word = ""
    tags: Lines = []  # noqa: RUF012
    billable: Flag = False
    workspace_id: Missable[int] = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        return _read_entry(cast("Mapping[str, Any]", raw)) if isinstance(raw, Mapping) else raw


class TimeEntries(CountedPage):
    """Newest first. `incomplete`: there are more than are given at once: ask for a shorter time."""

    time_entries: list[TimeEntry]


class RunningTimer(ResultModel):
    """The time entry that runs now, if one does."""

    running: bool
    time_entry: Missable[TimeEntry] = None


class ChangedTimer(ResultModel):
    """A time entry whose timer was started or stopped."""

    time_entry: Annotated[TimeEntry, Field(description="As it is now")]


def _read_entry(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Read a time entry of Toggl's, in which a duration below 0 says that it runs."""
    seconds, tags = raw.get("duration"), raw.get("tags")
    is_running = type(seconds) is int and seconds < 0
    fields = {
        "id": raw.get("id"),
        "description": raw.get("description"),
        "start": raw.get("start"),
        "stop": None if is_running else raw.get("stop"),
        "seconds": None if is_running else seconds,
        "running": is_running,
        "project": raw.get("project_name"),
        "project_id": raw.get("project_id"),
        "client": raw.get("client_name"),
        "tags": [clean_line(str(one)) for one in cast("list[Any]", tags)[:MAX_TAGS]] if isinstance(tags, list) else [],
        "billable": raw.get("billable"),
        "workspace_id": raw.get("workspace_id"),
    }
    return {name: value for name, value in fields.items() if value is not None}
