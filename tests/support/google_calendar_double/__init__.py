"""A Google Calendar of its own."""

from tests.support.google_calendar_double.events import GoogleRefused
from tests.support.google_calendar_double.server import (
    OWNER,
    ROUTES,
    SHARED,
    GoogleCalendarDouble,
    google_calendar_double,
)

__all__ = ["OWNER", "ROUTES", "SHARED", "GoogleCalendarDouble", "GoogleRefused", "google_calendar_double"]
