"""Which tools change what of Google Calendar's can be attached to a chat."""

from collections.abc import Iterable, Mapping
from typing import Any

from modules.google_calendar.resources import PRIMARY, agenda, event, my_agenda
from modules.kit.resource_changes import Arguments, ChangedResource, changed


def _find_own(arguments: Arguments) -> Iterable[Mapping[str, Any]]:
    """One's own calendar is also known by the address of the account, which looks like that of a colleague's."""
    calendar = arguments.get("calendar_id", PRIMARY)
    return [] if calendar.endswith("@group.calendar.google.com") else [{}]


_AGENDA = [changed(agenda, calendar="calendar_id"), ChangedResource(my_agenda, _find_own)]
_EVENT = [changed(event, calendar="calendar_id", event="event_id"), *_AGENDA]
CHANGES = {
    **dict.fromkeys(("create_event", "quick_add_event"), _AGENDA),
    **dict.fromkeys(("update_event", "delete_event", "respond_to_event"), _EVENT),
    "move_event": [*_EVENT, changed(agenda, calendar="to_calendar_id")],
    "delete_calendar": [changed(agenda, calendar="calendar_id")],
}
