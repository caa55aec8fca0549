"""Google Calendar, through its API version 3 at www.googleapis.com."""

from modules.google_calendar import calendar_changes, calendars, event_changes, event_responses, events
from modules.google_calendar.error_messages import read_rate_limit
from modules.google_calendar.resource_changes import CHANGES
from modules.google_calendar.resources import RESOURCES
from modules.kit import AccountRequest, Icon, Module, ParameterSample, VendorApi
from modules.kit.resource_changes import announce_changes

TOOLS = (*calendars.TOOLS, *calendar_changes.TOOLS, *events.TOOLS, *event_changes.TOOLS, *event_responses.TOOLS)

_EVER = {"time_min": "2000-01-01T00:00:00Z"}

MODULE = Module(
    name="google_calendar",
    title="Google Calendar",
    description="Google Calendar: find, create, change and answer events; see who is free and when.",
    scopes=frozenset(scope for one in TOOLS for scope in one.scopes),
    tools=announce_changes(TOOLS, CHANGES),
    resources=RESOURCES,
    icon=Icon("#1a73e8", "M5 7h14v12H5ZM5 11h14M9 5v3M15 5v3M12 13.5v2.5h2.5"),
    vendor=VendorApi(
        base_url="https://www.googleapis.com/calendar/v3",
        account=AccountRequest("/users/me/calendarList/primary", name="/id"),
        rate_limit=read_rate_limit,
    ),
    samples={
        "update_calendar.calendar_id": ParameterSample("c_4f8a0v3f5qk2@group.calendar.google.com"),
        "delete_calendar.calendar_id": ParameterSample("c_4f8a0v3f5qk2@group.calendar.google.com"),
        "event_id": ParameterSample("4f8a0v3f5qk2", "list_events", "/events/0/id", arguments=_EVER),
        "list_event_instances.event_id": ParameterSample(
            "4f8a0v3f5qk2", "list_events", "/events/0/series_id", arguments=_EVER
        ),
        "calendar_ids": ParameterSample(["ada@example.com"], "list_calendars", "/calendars/0/id"),
        "time_min": ParameterSample("2026-02-01T00:00:00Z"),
        "time_max": ParameterSample("2026-03-01T00:00:00Z"),
        "update_calendar.summary": ParameterSample("Team"),
        "delete_calendar.summary": ParameterSample("Team"),
        "summary": ParameterSample("Planning"),
        "text": ParameterSample("Lunch with Grace tomorrow at noon"),
        "create_event.start": ParameterSample("2026-02-02T09:00"),
        "create_event.end": ParameterSample("2026-02-02T09:30"),
        "create_event.time_zone": ParameterSample("Europe/Berlin"),
        "update_event.location": ParameterSample("Room 2"),
        "to_calendar_id": ParameterSample("c_4f8a0v3f5qk2@group.calendar.google.com"),
    },
)
