"""A Google Calendar of its own."""

from tests.support.google_calendar_double.events import GoogleRefused
from tests.support.google_calendar_double.server import (
    OWNER,
    ROUTES,
    SHARED,
    STRANGER,
    GoogleCalendarDouble,
    google_calendar_double,
)

__all__ = ["OWNER", "ROUTES", "SHARED", "STRANGER", "GoogleCalendarDouble", "GoogleRefused", "google_calendar_double"]
