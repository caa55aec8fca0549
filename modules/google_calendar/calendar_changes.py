"""Making calendars, changing what they are called, and deleting one that is named by its title. Emptying the primary
calendar (`calendars.clear`) is no tool: it leaves nothing to recognise what was lost by."""

from typing import Annotated, Any

from pydantic import Field

from modules.google_calendar import rest_client
from modules.google_calendar.parameters import WRITE_CALENDARS, CalendarId
from modules.kit import Context, ToolError, build_path, tool
from modules.kit.parameters import ADD_HINTS, CHANGE_HINTS, OptionalParameter, limit_length
from modules.kit.results import Identifier, ResultModel, Word, read_at
from modules.kit.text_cleaning import clean_line
from modules.kit.time_zones import OptionalZone

CalendarName = Annotated[str, limit_length(1, 254)]
About = Annotated[str, limit_length(maximum=4000)]
# Google gives each further calendar such an id; a primary one has its person's address, and cannot be deleted
# (https://developers.google.com/workspace/calendar/api/v3/reference/calendars/delete).
_FURTHER = "@group.calendar.google.com"


class SavedCalendar(ResultModel):
    id: Identifier
    summary: Word = ""
    time_zone: Annotated[Word, read_at("timeZone")] = ""
    description: Word = ""


class DeletedCalendar(ResultModel):
    id: Identifier
    summary: Word = ""
    deleted: Annotated[bool, Field(description="Always true")] = True


@tool(hints=ADD_HINTS, scopes=[WRITE_CALENDARS])
async def create_calendar(
    context: Context,
    summary: Annotated[CalendarName, Field(description="Title")],
    time_zone: OptionalZone = None,
    description: Annotated[OptionalParameter[About], Field(description="Text")] = None,
) -> SavedCalendar:
    """Create a further calendar of the account's own."""
    body = _build_body(summary, time_zone, description)
    return await rest_client.fetch_one(context, SavedCalendar, "/calendars", method="POST", json=body)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_CALENDARS])
async def update_calendar(
    context: Context,
    calendar_id: CalendarId,
    summary: Annotated[OptionalParameter[CalendarName], Field(description="Title, for everybody")] = None,
    time_zone: OptionalZone = None,
    description: Annotated[OptionalParameter[About], Field(description="Text; empty clears")] = None,
) -> SavedCalendar:
    """Change what is given of a calendar."""
    body = _build_body(summary, time_zone, description)
    if not body:
        raise ToolError("there is nothing to change: give at least one of summary, time_zone, description")
    address = build_path("/calendars/{}", calendar_id)
    return await rest_client.fetch_one(context, SavedCalendar, address, method="PATCH", json=body)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_CALENDARS])
async def delete_calendar(
    context: Context,
    calendar_id: CalendarId,
    summary: Annotated[CalendarName, Field(description="Its title now, so that no other one is deleted")],
) -> DeletedCalendar:
    """Delete a further calendar with all its events, for everybody. It cannot be undone."""
    if not calendar_id.endswith(_FURTHER):
        raise ToolError(f"calendar_id: only a further calendar, whose id ends with {_FURTHER}, can be deleted")
    address = build_path("/calendars/{}", calendar_id)
    found = await rest_client.fetch_one(context, SavedCalendar, address)
    if found.summary != clean_line(summary):
        raise ToolError("summary: that is not the title of this calendar; nothing was deleted: list the calendars")
    await rest_client.send_change(context, "DELETE", address)
    return DeletedCalendar(id=calendar_id, summary=found.summary)


def _build_body(summary: str | None, zone: str | None, description: str | None) -> dict[str, Any]:
    values = {"summary": summary, "timeZone": zone, "description": description}
    return {name: value for name, value in values.items() if value is not None}


TOOLS = (create_calendar, update_calendar, delete_calendar)
