"""Where the link of a connect session leads: to the service that comes next, or on to where the person is awaited."""

from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from broker.connect.parts import ConnectParts
from broker.connect.session_progress import ConnectSession
from broker.identity.front_door import FrontDoor
from broker.web.connect_paths import CONNECT, Queue, address, left_of, session_path
from broker.web.parts import WebParts
from broker.web.problems import Problem
from broker.web.requests import query
from broker.web.sign_in import session_of, sign_in_first
from core.errors import NotFound


def routes(parts: WebParts, door: FrontDoor, connect: ConnectParts) -> list[Route]:
    """The one address."""

    async def go_on(request: Request) -> Response:
        """Find the next service. Nothing is changed by it, and nobody but the session's person gets anywhere."""
        session_id = _id(request)
        session = await session_of(parts, door, request)
        if session is None:
            return sign_in_first(session_path(session_id))
        found = await connect.sessions.find(session.tenant_id, session.user_id, session_id)
        if found.state in ("cancelled", "expired"):
            raise Problem("connect_session_over", 410)
        return RedirectResponse(_next(request, found), 303)

    return [Route(session_path("{session}"), go_on, methods=["GET"])]


def _next(request: Request, found: ConnectSession) -> str:
    asked = query(request)
    left, after = left_of(asked, found.waiting), asked.get("after", "")
    if not left:
        return found.return_path or address(CONNECT, {"done": after and "connected", "module": after})
    queue = Queue(tuple(left[1:]), len(found.services), str(found.id))
    role = "" if found.role_id is None else str(found.role_id)
    return address(f"{CONNECT}/{left[0]}", {**queue.fields(), "role": role, "after": after})


def _id(request: Request) -> UUID:
    try:
        return UUID(request.path_params["session"])
    except ValueError:
        raise NotFound("there is no such connect session") from None
