"""``/events``: what changed, as it happens (server-sent events). Hints only: whoever is told asks the API again."""

from typing import Annotated, Any

from fastapi import Header, Request
from starlette.responses import Response

from admin_ui.api.admin_dependencies import AdminDeps
from core.api.app import create_router
from core.api.dependencies import WatchingUser
from core.api.security import get_security
from core.api.streaming import SteadyStreamResponse

routes = create_router("events")

_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Stream of events: `ready` and `reset` (read everything again) at its begin, `change` with the "
        "`resource` of the API to read again, its `kind` and `object_id`, and the `request_id` (`X-Request-Id` of the "
        "answer) where a request of the caller's own has made it; and `end` with a `reason`.",
        "content": {"text/event-stream": {}},
    }
}


@routes.get("/events", response_class=Response, responses=_RESPONSES)
async def stream_events(
    caller: WatchingUser,
    dependencies: AdminDeps,
    request: Request,
    last_event_id: Annotated[
        int | None,
        Header(ge=0, lt=2**63, description="Identifier of the last event that was read; omit it to begin now."),
    ] = None,
) -> Response:
    """Stream hints of changes.

    Administrators are told of everything in their tenant, other people of what concerns them. The stream ends after
    some minutes, when the session ends, and when the caller's rights change: connect again. Reading it does not keep a
    session alive.
    """
    streams = dependencies.events
    streams.admit(caller)
    security = get_security(request)
    stream = streams.open(caller, last_event_id, lambda: security.authenticate_request(request))
    return SteadyStreamResponse(stream.run(), "text/event-stream", on_disconnect=stream.stop)
