"""Making, changing, moving and deleting events."""

from typing import Annotated, Any

from pydantic import Field

from modules.google_calendar import rest_client
from modules.google_calendar.error_messages import is_conflict
from modules.google_calendar.event_bodies import (
    ColorId,
    Recurrence,
    Reminders,
    StatusKind,
    build_details,
    build_meeting,
    build_status,
)
from modules.google_calendar.event_reading import VendorEvent, change_guests, fetch_event
from modules.google_calendar.event_times import (
    EventSpan,
    check_span,
    move_span,
    parse_event_moment,
    parse_span,
    read_span,
    write_changed_moment,
    write_moment,
)
from modules.google_calendar.events import EVENT, EVENTS
from modules.google_calendar.parameters import (
    WRITE_EVENTS,
    CalendarId,
    Description,
    Emails,
    EventId,
    Notify,
    OptionalTime,
    Summary,
    TimeText,
    write_send_updates,
)
from modules.google_calendar.results import DeletedEvent, SavedEvent
from modules.kit import Context, ToolError, build_path, tool
from modules.kit.conflicts import retry_conflicts
from modules.kit.parameters import ADD_HINTS, CHANGE_HINTS, OptionalParameter, limit_length
from modules.kit.time_zones import OptionalZone
from modules.kit.write_headers import Etag, build_if_match

Text = Annotated[OptionalParameter[Description], Field(description="Text or simple HTML")]
Place = OptionalParameter[Annotated[str, limit_length(maximum=1024)]]


@tool(hints=ADD_HINTS, scopes=[WRITE_EVENTS])
async def create_event(
    context: Context,
    summary: Annotated[Summary, Field(description="Title")],
    start: Annotated[TimeText, Field(description="Time, or date for all day")],
    end: Annotated[OptionalTime, Field(description="Time, or day after the last")] = None,
    time_zone: OptionalZone = None,
    calendar_id: CalendarId = "primary",
    description: Text = None,
    location: Annotated[Place, Field(description="Place")] = None,
    attendees: Annotated[OptionalParameter[Emails], Field(description="Addresses of guests")] = None,
    recurrence: Recurrence = None,
    reminders: Reminders = None,
    color_id: Annotated[ColorId, Field(description="Id of a color")] = None,
    add_meet: Annotated[bool, Field(description="With Google Meet")] = False,
    status: StatusKind = None,
    decline: Annotated[bool, Field(description="Status declines invitations")] = False,
    notify: Notify = False,
) -> SavedEvent:
    """Create an event."""
    span = parse_span(start, end, time_zone)
    if status and (span.is_all_day or attendees or add_meet or calendar_id != "primary"):
        raise ToolError("status is for the primary calendar, from a time to a time, without attendees and add_meet")
    if decline and not status:
        raise ToolError("decline goes with status: no other event declines invitations")
    if recurrence and not span.is_all_day and time_zone is None:
        raise ToolError("time_zone is missing: an event that recurs needs it, as clocks change")
    body: dict[str, Any] = {
        "start": write_moment(span.start, time_zone), "end": write_moment(span.end, time_zone),
        **build_details(
            summary=summary, description=description, location=location, recurrence=recurrence, reminders=reminders,
            color_id=color_id,
        ),
    }  # fmt: skip
    if attendees:
        body["attendees"] = [{"email": one} for one in dict.fromkeys(attendees)]
    if add_meet:
        body["conferenceData"] = build_meeting()
    if status:
        body |= build_status(status, decline)
    query = {"sendUpdates": write_send_updates(notify), "conferenceDataVersion": 1 if add_meet else None}
    return await _save(context, build_path(EVENTS, calendar_id), notify, query=query, json=body)


@tool(hints=ADD_HINTS, scopes=[WRITE_EVENTS])
async def quick_add_event(
    context: Context,
    text: Annotated[str, limit_length(1, 500), Field(description="Such as: Lunch with Bo on Friday at noon")],
    calendar_id: CalendarId = "primary",
    notify: Notify = False,
) -> SavedEvent:
    """Create an event from a sentence. Google guesses its time: check the answer."""
    query = {"text": text, "sendUpdates": write_send_updates(notify)}
    return await _save(context, build_path(f"{EVENTS}/quickAdd", calendar_id), notify, query=query)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_EVENTS], keywords="reschedule, postpone")
async def update_event(
    context: Context,
    event_id: EventId,
    calendar_id: CalendarId = "primary",
    summary: Annotated[OptionalParameter[Summary], Field(description="Title")] = None,
    start: Annotated[OptionalTime, Field(description="Time, or date for all day")] = None,
    end: Annotated[OptionalTime, Field(description="Time, or day after the last")] = None,
    time_zone: OptionalZone = None,
    description: Annotated[OptionalParameter[Description], Field(description="Replaces; empty clears")] = None,
    location: Annotated[Place, Field(description="Place; empty clears")] = None,
    add_attendees: Annotated[OptionalParameter[Emails], Field(description="Further guests")] = None,
    remove_attendees: Annotated[OptionalParameter[Emails], Field(description="Guests to take off")] = None,
    recurrence: Annotated[Recurrence, Field(description="Replaces; [] ends it")] = None,
    reminders: Reminders = None,
    color_id: Annotated[ColorId, Field(description="Id of a color")] = None,
    free: Annotated[OptionalParameter[bool], Field(description="Blocks no time")] = None,
    add_meet: Annotated[bool, Field(description="With Google Meet")] = False,
    notify: Notify = False,
    etag: Etag = None,
) -> SavedEvent:
    """Change what is given of an event. start alone keeps its length; the id of an instance changes that one alone."""
    body = build_details(
        summary=summary, description=description, location=location, recurrence=recurrence, reminders=reminders,
        color_id=color_id, free=free,
    )  # fmt: skip
    moments = {
        name: parse_event_moment(name, text, time_zone) for name, text in (("start", start), ("end", end)) if text
    }
    if len(moments) == 2:
        check_span(EventSpan(moments["start"], moments["end"]))
    if add_meet:
        body["conferenceData"] = build_meeting()
    if not body and not moments and not add_attendees and not remove_attendees:
        raise ToolError("there is nothing to change: give at least one of summary, start, end, description, location")
    address = build_path(EVENT, calendar_id, event_id)
    query = {"sendUpdates": write_send_updates(notify), "conferenceDataVersion": 1 if add_meet else None}

    async def save(found: dict[str, Any], more: dict[str, Any], version: str | None) -> SavedEvent:
        times = {name: write_changed_moment(moment, time_zone) for name, moment in found.items()}
        made = {**body, **more, **times}
        return await _save(context, address, notify, method="PATCH", query=query, json=made, etag=version)

    async def read_and_save() -> SavedEvent:
        before = await fetch_event(context, address)
        more: dict[str, Any] = {}
        if add_attendees or remove_attendees:
            more["attendees"] = change_guests(before, add_attendees or [], remove_attendees or [])
        return await save(_complete_span(before, moments), more, etag or before.etag or None)

    if len(moments) != 1 and not add_attendees and not remove_attendees:
        return await save(moments, {}, etag)
    return await read_and_save() if etag else await retry_conflicts(read_and_save, is_conflict)


def _complete_span(before: VendorEvent, moments: dict[str, Any]) -> dict[str, Any]:
    """Complete a start or an end that is given alone by what the event has."""
    if len(moments) != 1:
        return moments
    span = read_span(before.start, before.end)
    if span is None:
        raise ToolError("give both start and end: the event's own times cannot be read")
    changed = move_span(span, moments["start"]) if "start" in moments else EventSpan(span.start, moments["end"])
    check_span(changed)
    return {"start": changed.start, "end": changed.end} if "start" in moments else moments


@tool(hints=CHANGE_HINTS, scopes=[WRITE_EVENTS])
async def move_event(
    context: Context,
    event_id: EventId,
    to_calendar_id: Annotated[CalendarId, Field(description="Calendar that gets it")],
    calendar_id: CalendarId = "primary",
    notify: Notify = False,
) -> SavedEvent:
    """Move an event to another calendar, which becomes its organizer."""
    query = {"destination": to_calendar_id, "sendUpdates": write_send_updates(notify)}
    return await _save(context, build_path(f"{EVENT}/move", calendar_id, event_id), notify, query=query)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_EVENTS], keywords="cancel, call off")
async def delete_event(
    context: Context,
    event_id: EventId,
    calendar_id: CalendarId = "primary",
    notify: Notify = False,
    etag: Etag = None,
) -> DeletedEvent:
    """Delete an event: all of a series by series_id, one instance by its own id."""
    headers = build_if_match(etag)
    await rest_client.send_change(
        context, "DELETE", build_path(EVENT, calendar_id, event_id), query={"sendUpdates": write_send_updates(notify)},
        headers=headers,
    )  # fmt: skip
    return DeletedEvent(id=event_id, mailed=notify)


async def _save(
    context: Context, address: str, notify: bool, *, method: str = "POST", etag: str | None = None, **options: Any
) -> SavedEvent:
    headers = build_if_match(etag)
    saved = await rest_client.fetch_one(context, SavedEvent, address, method=method, headers=headers, **options)
    return saved.model_copy(update={"mailed": notify})


TOOLS = (create_event, quick_add_event, update_event, move_event, delete_event)
