"""Link of a connect session: redirects to the next service that waits, or to the return address."""

from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from broker.connect.connect_services import ConnectServices
from broker.connect.connect_session import ConnectSession
from broker.identity.identity_services import IdentityServices
from broker.web.connect_urls import CONNECT_PATH, ConnectQueue, build_path, get_session_path, list_remaining
from broker.web.page_errors import PageError
from broker.web.request_parsing import read_query
from broker.web.sign_in_pages import find_browser_session, redirect_to_sign_in
from broker.web.web_dependencies import WebDependencies
from core.errors import NotFound


def build_connect_session_routes(
    parts: WebDependencies, door: IdentityServices, connect: ConnectServices
) -> list[Route]:
    """Build the route of a connect session's link."""

    async def redirect_to_next(request: Request) -> Response:
        """Find the next service. Nothing is changed by it, and nobody but the session's person gets anywhere."""
        session_id = _parse_session_id(request)
        session = await find_browser_session(parts, door, request)
        if session is None:
            return redirect_to_sign_in(get_session_path(session_id))
        found = await connect.connect_sessions.find(session.tenant_id, session.user_id, session_id)
        if found.state in ("cancelled", "expired"):
            raise PageError("connect_session_over", 410)
        return RedirectResponse(_build_next_url(request, found), 303)

    return [Route(get_session_path("{session}"), redirect_to_next, methods=["GET"])]


def _build_next_url(request: Request, found: ConnectSession) -> str:
    asked = read_query(request)
    left, after = list_remaining(asked, found.waiting), asked.get("after", "")
    if not left:
        return found.return_path or build_path(CONNECT_PATH, {"done": after and "connected", "module": after})
    queue = ConnectQueue(tuple(left[1:]), len(found.services), str(found.id))
    role = "" if found.role_id is None else str(found.role_id)
    return build_path(f"{CONNECT_PATH}/{left[0]}", {**queue.to_fields(), "role": role, "after": after})


def _parse_session_id(request: Request) -> UUID:
    try:
        return UUID(request.path_params["session"])
    except ValueError:
        raise NotFound("there is no such connect session") from None
