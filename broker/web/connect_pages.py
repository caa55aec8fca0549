"""The pages of connecting: what can be connected, and one service with its key and its end."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from broker.connect.connect_services import ConnectServices
from broker.connect.connect_session_store import MAX_SESSION_MODULES, ConnectSession, ConnectSessionRequest
from broker.connections.api_keys import OtherAccount, PastedKey
from broker.connections.available_services import ADMINISTRATOR
from broker.connections.connect_methods import ConnectError
from broker.connections.oauth_client_store import OAuthClient
from broker.identity.browser_sessions import Session, Sessions
from broker.web.client_metadata_documents import build_client_document_route
from broker.web.connect_flow_pages import ConnectFlowPages
from broker.web.connect_urls import (
    CONNECT_PATH,
    REFUSAL_STATUS,
    ConnectQueue,
    build_next_path,
    build_path,
    get_session_path,
    list_remaining,
    parse_module,
    parse_queue,
    parse_role_id,
)
from broker.web.connect_views import (
    build_refused_client_views,
    build_service_list,
    build_service_view,
    build_shared_views,
    find_connected_title,
    get_display_state,
    is_current,
    list_connectable_modules,
)
from broker.web.cookies import find_browser_session, redirect_to_sign_in
from broker.web.i18n import PageError
from broker.web.request_parsing import read_form, read_query
from broker.web.web_dependencies import WebDependencies
from core.errors import NotFound
from core.secret import Secret

DONE_NOTICES = frozenset({"connected", "connected_less", "kept", "declined", "disconnected", "removed"})


def build_connect_routes(parts: WebDependencies, sessions: Sessions, connect: ConnectServices) -> list[Route]:
    """Build the routes of the connect pages."""
    pages = ServicePages(parts, sessions, connect)
    flow = ConnectFlowPages(
        parts,
        sessions,
        connect.authorization,
        connect.confirmation,
        connect.available_services,
        connect.connect_sessions,
    )
    return [
        Route(CONNECT_PATH, pages.show_overview, methods=["GET"]),
        Route("/connect/-/all", pages.begin_all, methods=["POST"]),
        build_client_document_route(connect.client_registration),
        Route("/connect/-/question/{flow}", flow.show_question, methods=["GET"]),
        Route("/connect/-/question/{flow}", flow.decide, methods=["POST"]),
        Route("/connect/callback/{provider}", flow.callback, methods=["GET"]),
        Route("/connect/{module}", pages.show, methods=["GET"]),
        Route("/connect/{module}", flow.start, methods=["POST"]),
        Route("/connect/{module}/key", pages.store_key, methods=["POST"]),
        Route("/connect/{module}/disconnect", pages.disconnect, methods=["POST"]),
    ]


class ServicePages:
    """The handlers. Nobody without a session gets to any of them."""

    def __init__(self, parts: WebDependencies, sessions: Sessions, connect: ConnectServices) -> None:
        self._parts = parts
        self._sessions = sessions
        self._connect = connect

    async def show_overview(self, request: Request) -> Response:
        session = await self._find_session(request)
        if session is None:
            return redirect_to_sign_in(CONNECT_PATH)
        query = read_query(request)
        services = await self._connect.available_services.list_for_person(session)
        refused: Sequence[OAuthClient] = ()
        if session.system_role == ADMINISTRATOR:
            refused = await self._connect.oauth_clients.list(session.tenant_id)
        shared, more = await self._connect.available_services.list_shared_credentials(session)
        titles = {
            manifest.name: manifest.title
            for manifest in self._connect.available_services.get_manifests([manifest.module for manifest in shared])
        }
        return self._parts.pages.render(
            request,
            "connect_list.html",
            email=session.email,
            tenant=session.tenant_name,
            done="connected" if query.get("done") == "connected" else "",
            done_title=find_connected_title(query.get("module", ""), services, shared, titles),
            refused=build_refused_client_views(refused, self._parts.settings.public_url),
            by_roles=build_shared_views(shared, titles),
            more=more,
            **build_service_list(services),
        )

    async def begin_all(self, request: Request) -> Response:
        """Begin with the first of those that are not connected, and go on with the others."""
        session = await self._find_session(request)
        if session is None:
            return redirect_to_sign_in(CONNECT_PATH)
        services = await self._connect.available_services.list_for_person(session)
        names = list_connectable_modules(services)[:MAX_SESSION_MODULES]
        if not names:
            return RedirectResponse(CONNECT_PATH, 303)
        connect_session, _ = await self._connect.connect_sessions.start(
            session.actor, session, ConnectSessionRequest(names)
        )
        return RedirectResponse(get_session_path(connect_session.id), 303)

    async def show(self, request: Request) -> Response:
        module, query = parse_module(request.path_params), read_query(request)
        session = await self._find_session(request)
        if session is None:
            return redirect_to_sign_in(_get_current_path(request))
        return await self._render_page(request, session, module, parse_role_id(query), parse_queue(query), query)

    async def store_key(self, request: Request) -> Response:
        module, fields = parse_module(request.path_params), await read_form(request)
        session = await self._find_session(request)
        if session is None:
            return redirect_to_sign_in(f"{CONNECT_PATH}/{module}")
        role_id, queue = parse_role_id(fields), parse_queue(fields)
        user, provider = fields.get("key_user", "").strip(), fields.get("provider", "")
        pasted, replace = (
            PastedKey(Secret(fields.get("key", "").strip()), user, provider),
            fields.get("replace") == "on",
        )
        try:
            await self._connect.api_keys.connect(session, module, role_id, pasted, replace=replace)
        except OtherAccount as other:
            return await self._render_page(request, session, module, role_id, queue, {}, other=other)
        except ConnectError as refused:
            return await self._render_page(request, session, module, role_id, queue, {}, refused=refused)
        return RedirectResponse(build_next_path(module, role_id, queue, "connected"), 303)

    async def disconnect(self, request: Request) -> Response:
        module, fields = parse_module(request.path_params), await read_form(request)
        session = await self._find_session(request)
        if session is None:
            return redirect_to_sign_in(f"{CONNECT_PATH}/{module}")
        role_id = parse_role_id(fields)
        match = await self._connect.available_services.find_with_subject(session, module, role_id)
        if match is None or match[0].own is None:
            raise NotFound("there is nothing to disconnect")
        service, _ = match
        assert service.own is not None
        ended = await self._connect.disconnect_service.disconnect(session.actor, session.tenant_id, service.own)
        done = "disconnected" if ended.revoked else "removed"
        return RedirectResponse(build_next_path(module, role_id, ConnectQueue(), done), 303)

    async def _find_session(self, request: Request) -> Session | None:
        return await find_browser_session(self._parts.cookies, self._sessions, request)

    async def _render_page(
        self,
        request: Request,
        session: Session,
        module: str,
        role_id: UUID | None,
        queue: ConnectQueue,
        query: Mapping[str, str],
        **more: Any,
    ) -> Response:
        match = await self._connect.available_services.find_with_subject(session, module, role_id)
        if match is None:
            raise NotFound("there is no such service for you")
        service, whom = match
        refused: ConnectError | None = more.get("refused")
        done = query.get("done", "")
        return self._parts.pages.render(
            request,
            "connect.html",
            status=200 if refused is None else REFUSAL_STATUS.get(refused.key, 400),
            email=session.email,
            tenant=session.tenant_name,
            done=done if done in DONE_NOTICES and is_current(done, service) else "",
            roles=[
                (str(role_id_or_name), name)
                for role_id_or_name, name in await self._connect.available_services.list_sharing_roles(session, module)
            ],
            role_id="" if role_id is None else str(role_id),
            role=whom.shared_with,
            queue=queue,
            queue_fields=queue.to_fields(),
            skip=queue.after() if queue.of else "",
            other=more.get("other"),
            refused="" if refused is None else refused.key,
            after=await self._find_connected_title(session, query.get("after", ""), role_id),
            administers=session.system_role == ADMINISTRATOR,
            standing=get_display_state(service),
            **build_service_view(service, self._parts.settings.public_url),
        )

    async def _find_connected_title(self, session: Session, module: str, role_id: UUID | None) -> str:
        """The title of a service that is connected, "" for any other word."""
        match = await self._connect.available_services.find_with_subject(session, module, role_id) if module else None
        return "" if match is None else find_connected_title(module, [match[0]])


def _get_current_path(request: Request) -> str:
    query: bytes = request.scope["query_string"]
    return request.scope["path"] + ("?" + query.decode("latin-1") if query else "")


def build_connect_session_routes(parts: WebDependencies, sessions: Sessions, connect: ConnectServices) -> list[Route]:
    """Build the route of a connect session's link."""

    async def redirect_to_next(request: Request) -> Response:
        """Find the next service. Nothing is changed by it, and nobody but the session's person gets anywhere."""
        session_id = _parse_session_id(request)
        session = await find_browser_session(parts.cookies, sessions, request)
        if session is None:
            return redirect_to_sign_in(get_session_path(session_id))
        connect_session = await connect.connect_sessions.find(session.tenant_id, session.user_id, session_id)
        if connect_session.state in ("cancelled", "expired"):
            raise PageError("connect_session_over", 410)
        return RedirectResponse(_build_next_url(request, connect_session), 303)

    return [Route(get_session_path("{session}"), redirect_to_next, methods=["GET"])]


def _build_next_url(request: Request, connect_session: ConnectSession) -> str:
    query = read_query(request)
    left, after = list_remaining(query, connect_session.waiting), query.get("after", "")
    if not left:
        return connect_session.return_path or build_path(CONNECT_PATH, {"done": after and "connected", "module": after})
    queue = ConnectQueue(tuple(left[1:]), len(connect_session.queue), str(connect_session.id))
    role = "" if connect_session.role_id is None else str(connect_session.role_id)
    return build_path(f"{CONNECT_PATH}/{left[0]}", {**queue.to_fields(), "role": role, "after": after})


def _parse_session_id(request: Request) -> UUID:
    try:
        return UUID(request.path_params["session"])
    except ValueError:
        raise NotFound("there is no such connect session") from None
