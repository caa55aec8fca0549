"""Answering an invitation."""

from typing import Annotated, Any, Literal

from pydantic import Field

from modules.google_calendar import rest_client
from modules.google_calendar.error_messages import is_conflict
from modules.google_calendar.event_reading import VendorEvent, fetch_event
from modules.google_calendar.events import EVENT
from modules.google_calendar.parameters import WRITE_EVENTS, CalendarId, EventId, Notify, write_send_updates
from modules.google_calendar.results import SavedEvent
from modules.kit import Context, ToolError, build_path, tool
from modules.kit.conflicts import retry_conflicts
from modules.kit.parameters import CHANGE_HINTS, OptionalParameter, limit_length
from modules.kit.write_headers import build_if_match

Response = Literal["accepted", "declined", "tentative"]


@tool(hints=CHANGE_HINTS, scopes=[WRITE_EVENTS])
async def respond_to_event(
    context: Context,
    event_id: EventId,
    response: Annotated[Response, Field(description="Answer")],
    comment: Annotated[OptionalParameter[Annotated[str, limit_length(maximum=1000)]], Field(description="Note")] = None,
    calendar_id: CalendarId = "primary",
    notify: Notify = False,
) -> SavedEvent:
    """Accept or decline an invitation. The id of an instance answers that one alone."""
    address = build_path(EVENT, calendar_id, event_id)

    async def answer() -> SavedEvent:
        event = await fetch_event(context, address)
        return await rest_client.fetch_one(
            context, SavedEvent, address, method="PATCH", json=_answer(event, response, comment),
            query={"sendUpdates": write_send_updates(notify)}, headers=build_if_match(event.etag),
        )  # fmt: skip

    saved = await retry_conflicts(answer, is_conflict)
    return saved.model_copy(update={"mailed": notify})


def _answer(event: VendorEvent, response: Response, comment: str | None) -> dict[str, Any]:
    """Build the body with the answer in it: all guests, or, where Google does not show all, this one alone, which
    `attendeesOmitted` says."""
    me = next((one for one in event.attendees if one.get("self")), None)
    if me is None:
        raise ToolError("this calendar is not among the guests of the event: there is no invitation to answer")
    answered = {**me, "responseStatus": response, **({} if comment is None else {"comment": comment})}
    if event.attendeesOmitted:
        return {"attendees": [answered], "attendeesOmitted": True}
    return {"attendees": [answered if one is me else one for one in event.attendees]}


TOOLS = (respond_to_event,)
