"""Google Calendar, through its API version 3 at www.googleapis.com."""

from modules.google_calendar import calendars, event_changes, event_responses, events
from modules.google_calendar.error_messages import read_rate_limit
from modules.google_calendar.parameters import READ_CALENDARS, READ_EVENTS, READ_FREE_BUSY, WRITE_EVENTS
from modules.kit import AccountRequest, Module, VendorApi

TOOLS = (*calendars.TOOLS, *events.TOOLS, *event_changes.TOOLS, *event_responses.TOOLS)

MODULE = Module(
    name="google_calendar",
    title="Google Calendar",
    description="Google Calendar: find, create, change and answer events; see who is free and when.",
    scopes=frozenset({READ_CALENDARS, READ_EVENTS, READ_FREE_BUSY, WRITE_EVENTS}),
    tools=TOOLS,
    vendor=VendorApi(
        base_url="https://www.googleapis.com/calendar/v3",
        account=AccountRequest("/users/me/calendarList/primary", name="/id"),
        rate_limit=read_rate_limit,
    ),
)
