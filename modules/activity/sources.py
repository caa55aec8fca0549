"""Sources of activity, and the tools of other modules by which it is read."""

from enum import StrEnum

TIME_ENTRIES = "toggl.list_time_entries"
EVENTS = "google_calendar.list_events"
CURRENT_TIME = "google_calendar.get_current_time"
DAILY_TOTALS = "google_health.list_daily_totals"
SLEEPS = "google_health.list_sleep"
EXERCISES = "google_health.list_exercises"
RESTING_HEART_RATES = "google_health.list_resting_heart_rates"
READS = (TIME_ENTRIES, EVENTS, CURRENT_TIME, DAILY_TOTALS, SLEEPS, EXERCISES, RESTING_HEART_RATES)


class ActivitySource(StrEnum):
    """A service that knows what a person did."""

    TOGGL = "toggl"
    GOOGLE_CALENDAR = "google_calendar"
    GOOGLE_HEALTH = "google_health"

    @property
    def label(self) -> str:
        """Name of the source for people."""
        return _LABELS[self]


_LABELS = {
    ActivitySource.TOGGL: "Toggl Track",
    ActivitySource.GOOGLE_CALENDAR: "Google Calendar",
    ActivitySource.GOOGLE_HEALTH: "Google Health",
}
