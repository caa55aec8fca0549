"""Reading an event before it is changed: PATCH replaces its list of guests whole, so that nobody else may get lost."""

from typing import Any

from pydantic import BaseModel

from modules.google_calendar import rest_client
from modules.kit import Context, ToolError


class VendorEvent(BaseModel):
    """What a change needs to know of an event, as Google sends it."""

    id: str
    etag: str = ""
    status: str = ""
    start: Any = None
    end: Any = None
    attendees: list[dict[str, Any]] = []
    attendeesOmitted: bool = False  # noqa: N815


async def fetch_event(context: Context, address: str) -> VendorEvent:
    """Fetch an event with all of its guests. It is read strictly: a guest that was left out here would be taken off.

    Raises:
        ToolError: it is deleted, which Google shows as cancelled.
    """
    event = (await rest_client.send_request(context, "GET", address)).read(VendorEvent)
    if event.status == "cancelled":
        raise ToolError("the event was deleted before; nothing is left to change")
    return event


def change_guests(event: VendorEvent, added: list[str], removed: list[str]) -> list[dict[str, Any]]:
    """Change the list of guests; those who stay keep their answers.

    Raises:
        ToolError: somebody to take off is no guest, or Google did not show all guests.
    """
    if event.attendeesOmitted:
        raise ToolError("Google does not show all guests of this event, so that changing them here would lose some")
    known = {str(one.get("email", "")).lower() for one in event.attendees}
    leaving = {one.lower() for one in removed}
    if strangers := sorted(leaving - known):
        raise ToolError(f"remove_attendees: {strangers[0]} is no guest of this event; read it for its guests")
    both = leaving & {one.lower() for one in added}
    if both:
        raise ToolError(f"{sorted(both)[0]} stands in add_attendees and in remove_attendees; give it in one")
    staying = [one for one in event.attendees if str(one.get("email", "")).lower() not in leaving]
    new = [{"email": one} for one in dict.fromkeys(added) if one.lower() not in known]
    return [*staying, *new]
