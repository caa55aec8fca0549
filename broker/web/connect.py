"""The pages of connecting: what can be connected, and one service with its key and its end."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from broker.accounts.standing import Standing
from broker.connect.oauth_clients import OAuthClient
from broker.connect.parts import ConnectParts
from broker.connect.pasted_keys import OtherAccount, Pasted
from broker.connect.refusals import ConnectRefused
from broker.connect.services import ADMINISTRATOR
from broker.connect.session_progress import Wish
from broker.connect.sessions import MOST_MODULES
from broker.identity.front_door import FrontDoor
from broker.identity.sessions import Session
from broker.web.client_documents import client_documents
from broker.web.connect_flow import FlowPages
from broker.web.connect_paths import CONNECT, STATUS, Queue, module_of, queue_of, role_of, session_path, went_on
from broker.web.connect_shown import (
    connected_title,
    is_so,
    open_ones,
    shown_refused,
    shown_service,
    shown_services,
    shown_shared,
    state_of,
)
from broker.web.parts import WebParts
from broker.web.requests import form, query
from broker.web.sign_in import session_of, sign_in_first
from core.errors import NotFound
from core.secret import Secret

DONE = frozenset({"connected", "connected_less", "kept", "declined", "disconnected", "removed"})


def routes(parts: WebParts, door: FrontDoor, connect: ConnectParts) -> list[Route]:
    """What :func:`broker.web.app.identity_app` is given of connecting."""
    pages, flow = ServicePages(parts, door, connect), FlowPages(parts, door, connect)
    return [
        Route(CONNECT, pages.overview, methods=["GET"]),
        Route("/connect/-/all", pages.begin_all, methods=["POST"]),
        client_documents(connect.introductions),
        Route("/connect/-/question/{flow}", flow.question, methods=["GET"]),
        Route("/connect/-/question/{flow}", flow.decide, methods=["POST"]),
        Route("/connect/callback/{provider}", flow.callback, methods=["GET"]),
        Route("/connect/{module}", pages.show, methods=["GET"]),
        Route("/connect/{module}", flow.start, methods=["POST"]),
        Route("/connect/{module}/key", pages.key, methods=["POST"]),
        Route("/connect/{module}/disconnect", pages.disconnect, methods=["POST"]),
    ]


class ServicePages:
    """The handlers. Nobody without a session gets to any of them."""

    def __init__(self, parts: WebParts, door: FrontDoor, connect: ConnectParts) -> None:
        self._parts = parts
        self._door = door
        self._connect = connect

    async def overview(self, request: Request) -> Response:
        session = await self._session(request)
        if session is None:
            return sign_in_first(CONNECT)
        asked = query(request)
        services = await self._connect.services.all(session)
        refused: Sequence[OAuthClient] = ()
        if session.system_role == ADMINISTRATOR:
            refused = await self._connect.clients.list(session.tenant_id)
        shared, more = await self._connect.services.shared(session)
        titles = {one.name: one.title for one in self._connect.services.offered([one.module for one in shared])}
        return self._parts.pages.render(
            request,
            "connect_list.html",
            email=session.email,
            tenant=session.tenant_name,
            done="connected" if asked.get("done") == "connected" else "",
            done_title=connected_title(asked.get("module", ""), services, shared, titles),
            refused=shown_refused(refused, self._parts.settings.public_url),
            by_roles=shown_shared(shared, titles),
            more=more,
            **shown_services(services, await self._standings(session)),
        )

    async def begin_all(self, request: Request) -> Response:
        """Begin with the first of those that are not connected, and go on with the others."""
        session = await self._session(request)
        if session is None:
            return sign_in_first(CONNECT)
        services, standings = await self._connect.services.all(session), await self._standings(session)
        names = open_ones(services, standings)[:MOST_MODULES]
        if not names:
            return RedirectResponse(CONNECT, 303)
        made, _ = await self._connect.sessions.start(session.actor, session, Wish(names))
        return RedirectResponse(session_path(made.id), 303)

    async def show(self, request: Request) -> Response:
        module, asked = module_of(request.path_params), query(request)
        session = await self._session(request)
        if session is None:
            return sign_in_first(_here(request))
        return await self._page(request, session, module, role_of(asked), queue_of(asked), asked)

    async def key(self, request: Request) -> Response:
        module, fields = module_of(request.path_params), await form(request)
        session = await self._session(request)
        if session is None:
            return sign_in_first(f"{CONNECT}/{module}")
        role_id, queue = role_of(fields), queue_of(fields)
        user, provider = fields.get("key_user", "").strip(), fields.get("provider", "")
        pasted, replace = Pasted(Secret(fields.get("key", "").strip()), user, provider), fields.get("replace") == "on"
        try:
            await self._connect.keys.connect(session, module, role_id, pasted, replace=replace)
        except OtherAccount as other:
            return await self._page(request, session, module, role_id, queue, {}, other=other)
        except ConnectRefused as refused:
            return await self._page(request, session, module, role_id, queue, {}, refused=refused)
        return RedirectResponse(went_on(module, role_id, queue, "connected"), 303)

    async def disconnect(self, request: Request) -> Response:
        module, fields = module_of(request.path_params), await form(request)
        session = await self._session(request)
        if session is None:
            return sign_in_first(f"{CONNECT}/{module}")
        role_id = role_of(fields)
        found = await self._connect.services.see(session, module, role_id)
        if found is None or found[0].own is None:
            raise NotFound("there is nothing to disconnect")
        service, whom = found
        assert service.own is not None
        ended = await self._connect.disconnecting.disconnect(session.actor, session.tenant_id, service.own, whom.owner)
        done = "disconnected" if ended.revoked else "removed"
        return RedirectResponse(went_on(module, role_id, Queue(), done), 303)

    async def _standings(self, session: Session) -> Mapping[UUID | None, Standing]:
        async with self._connect.database.tenant(session.tenant_id) as work:
            return {one.id: one for one in await self._connect.doctor.of_person(work, session.user_id)}

    async def _session(self, request: Request) -> Session | None:
        return await session_of(self._parts, self._door, request)

    async def _page(
        self,
        request: Request,
        session: Session,
        module: str,
        role_id: UUID | None,
        queue: Queue,
        asked: Mapping[str, str],
        **more: Any,
    ) -> Response:
        found = await self._connect.services.see(session, module, role_id)
        if found is None:
            raise NotFound("there is no such service for you")
        service, whom = found
        refused: ConnectRefused | None = more.get("refused")
        done = asked.get("done", "")
        return self._parts.pages.render(
            request,
            "connect.html",
            status=200 if refused is None else STATUS.get(refused.key, 400),
            email=session.email,
            tenant=session.tenant_name,
            done=done if done in DONE and is_so(done, service) else "",
            roles=[(str(one), name) for one, name in await self._connect.services.sharable(session, module)],
            role_id="" if role_id is None else str(role_id),
            role=whom.shared_with,
            queue=queue,
            queue_fields=queue.fields(),
            skip=queue.after() if queue.of else "",
            other=more.get("other"),
            refused="" if refused is None else refused.key,
            after=await self._connected(session, asked.get("after", ""), role_id),
            administers=session.system_role == ADMINISTRATOR,
            standing=state_of(service, await self._standings(session)),
            **shown_service(service, self._parts.settings.public_url),
        )

    async def _connected(self, session: Session, module: str, role_id: UUID | None) -> str:
        """The title of a service that is connected, "" for any other word."""
        found = await self._connect.services.see(session, module, role_id) if module else None
        return "" if found is None else connected_title(module, [found[0]])


def _here(request: Request) -> str:
    asked: bytes = request.scope["query_string"]
    return request.scope["path"] + ("?" + asked.decode("latin-1") if asked else "")
