"""The pages on the way to a vendor and back: the start, the answer, and the questions that a new grant leaves."""

from collections.abc import Mapping
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from broker.connect.connecting import Declined, Start
from broker.connect.finishing import Connected, Question
from broker.connect.flows import Flow
from broker.connect.parts import ConnectParts
from broker.connect.refusals import ConnectRefused
from broker.identity.front_door import FrontDoor
from broker.identity.sessions import Session
from broker.web.connect_paths import CONNECT, STATUS, address, module_of, queue_of, role_of, went_on
from broker.web.parts import WebParts
from broker.web.problems import Problem
from broker.web.requests import fields as fields_of
from broker.web.requests import form, query
from broker.web.sign_in import session_of, sign_in_first
from core.errors import NotFound


class FlowPages:
    """The handlers. Nobody without a session gets to any of them."""

    def __init__(self, parts: WebParts, door: FrontDoor, connect: ConnectParts) -> None:
        self._parts = parts
        self._door = door
        self._connect = connect

    async def start(self, request: Request) -> Response:
        module, fields = module_of(request.path_params), await form(request)
        session = await self._session(request)
        if session is None:
            return sign_in_first(f"{CONNECT}/{module}")
        start = Start(
            module=module,
            provider=fields.get("provider", ""),
            role_id=role_of(fields),
            also=frozenset(name.removeprefix("also.") for name in fields if name.startswith("also.")),
            writing=fields.get("writing") == "on",
            next=address("", queue_of(fields).fields()),
        )
        try:
            return self._parts.pages.go_on(request, await self._connect.connecting.start(session, start))
        except ConnectRefused as refused:
            raise _problem(refused) from None

    async def callback(self, request: Request) -> Response:
        """The browser is back from a vendor. Whoever has no session here began nothing here."""
        session = await self._session(request)
        if session is None:
            raise Problem("connect_unknown", 403)
        asked = query(request)
        try:
            outcome = await self._connect.connecting.answer(session, request.path_params["provider"], asked)
        except ConnectRefused as refused:
            await self._connect.sessions.failed(session, refused.key, state=asked.get("state", "")[:200])
            raise _problem(refused) from None
        if isinstance(outcome, Declined):
            await self._connect.sessions.failed(session, "declined", flow_id=outcome.flow.id)
            return _to_module(outcome.flow, "declined")
        if isinstance(outcome, Question):
            return RedirectResponse(f"{CONNECT}/-/question/{outcome.flow.id}", 303)
        return await self._finished(session, outcome)

    async def question(self, request: Request) -> Response:
        session = await self._session(request)
        if session is None:
            return sign_in_first(CONNECT)
        try:
            asked = await self._connect.finishing.asked(session, _flow_id(request))
        except NotFound:
            raise _over() from None
        offered = self._connect.services.offered(asked.flow.modules)
        return self._parts.pages.render(
            request,
            "connect_question.html",
            flow=str(asked.flow.id),
            services=", ".join(one.title for one in offered),
            role=asked.role,
            email=session.email,
            account=asked.account,
            before=asked.before,
            untold=asked.untold,
            sites=[{"id": one.id, "name": one.name, "url": one.url} for one in asked.sites],
        )

    async def decide(self, request: Request) -> Response:
        fields = await form(request)
        session = await self._session(request)
        if session is None:
            return sign_in_first(CONNECT)
        flow_id = _flow_id(request)
        try:
            if fields.get("decision") != "connect":
                flow = await self._connect.finishing.cancel(session, flow_id)
                await self._connect.sessions.failed(session, "declined", flow_id=flow_id)
                return _to_module(flow, "kept")
            confirmed = await self._connect.finishing.confirm(session, flow_id, fields.get("site", ""))
        except NotFound:
            raise _over() from None
        return await self._finished(session, confirmed)

    async def _finished(self, session: Session, outcome: Connected) -> Response:
        if outcome.kept:
            await self._connect.sessions.failed(session, "kept", flow_id=outcome.flow.id)
        return _to_module(outcome.flow, "kept" if outcome.kept else "connected")

    async def _session(self, request: Request) -> Session | None:
        return await session_of(self._parts, self._door, request)


def _over() -> Problem:
    return Problem("connect_question_over", 404)


def _flow_id(request: Request) -> UUID:
    try:
        return UUID(request.path_params["flow"])
    except ValueError:
        raise NotFound("there is nothing to decide here") from None


def _to_module(flow: Flow, done: str) -> Response:
    queue = queue_of(_fields(flow.next))
    return RedirectResponse(went_on(flow.modules[0], flow.role_id, queue, done), 303)


def _fields(text: str) -> Mapping[str, str]:
    return fields_of(text.removeprefix("?").encode())


def _problem(refused: ConnectRefused) -> Problem:
    role = {"role": str(refused.role_id)} if refused.role_id else {}
    return Problem(refused.key, STATUS.get(refused.key, 403), title=refused.title, module=refused.module, **role)
