"""The timer: what runs, starting it, stopping it."""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

from modules.kit import Context, ToolError, build_path, tool
from modules.kit.parameters import (
    ADD_HINTS,
    CHANGE_HINTS,
    READ_HINTS,
    OptionalParameter,
    Positive,
    format_timestamp,
    limit_items,
    limit_length,
)
from modules.kit.results import read_object
from modules.toggl.parameters import READ, WRITE, WorkspaceId
from modules.toggl.rest_client import choose_workspace, send_request
from modules.toggl.results import ChangedTimer, RunningTimer, TimeEntry

CURRENT = "/me/time_entries/current"
ENTRIES = "/workspaces/{}/time_entries"
CREATED_WITH = "MCPist"
NOTHING_RUNS = "no timer is running"


@tool(hints=READ_HINTS, scopes=[READ], keywords="current, tracking now")
async def get_running_timer(context: Context) -> RunningTimer:
    """The time entry that is running now."""
    entry = await _fetch_running(context)
    return RunningTimer(running=entry is not None, time_entry=entry)


@tool(hints=ADD_HINTS, scopes=[WRITE], keywords="track, begin; 開始")
async def start_timer(
    context: Context,
    description: Annotated[str, limit_length(maximum=3_000), Field(description="What is worked on")] = "",
    project_id: Annotated[OptionalParameter[Positive], Field(description="Project of the workspace")] = None,
    tags: Annotated[
        OptionalParameter[Annotated[list[Annotated[str, limit_length(1, 128)]], limit_items(maximum=50)]],
        Field(description="Tags; new ones are made"),
    ] = None,
    billable: Annotated[OptionalParameter[bool], Field(description="Needs a plan that has it")] = None,
    workspace_id: WorkspaceId = None,
) -> ChangedTimer:
    """Start a time entry now. Toggl stops the one that runs."""
    workspace = await choose_workspace(context, workspace_id)
    body: dict[str, Any] = {
        "created_with": CREATED_WITH,
        "workspace_id": workspace,
        "start": format_timestamp(datetime.now(UTC)),
        "duration": -1,
        "description": description,
    }
    further = {"project_id": project_id, "tags": tags, "billable": billable}
    body |= {name: value for name, value in further.items() if value is not None}
    answer = await send_request(context, "POST", build_path(ENTRIES, workspace), json=body)
    return ChangedTimer(time_entry=read_object(answer, TimeEntry))


@tool(hints=CHANGE_HINTS, scopes=[WRITE], keywords="end, finish; 停止")
async def stop_timer(context: Context) -> ChangedTimer:
    """Stop the time entry that is running."""
    entry = await _fetch_running(context)
    if entry is None or entry.workspace_id is None:
        raise ToolError(NOTHING_RUNS)
    address = build_path(f"{ENTRIES}/{{}}/stop", entry.workspace_id, entry.id)
    return ChangedTimer(time_entry=read_object(await send_request(context, "PATCH", address), TimeEntry))


async def _fetch_running(context: Context) -> TimeEntry | None:
    """Fetch the time entry that runs; Toggl writes null where none does."""
    answer = await send_request(context, "GET", CURRENT)
    return None if answer.json() is None else read_object(answer, TimeEntry)


TOOLS = (get_running_timer, start_timer, stop_timer)
