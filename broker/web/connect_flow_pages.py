"""The pages on the way to a vendor and back: the start, the answer, and the questions that a new grant leaves."""

from collections.abc import Mapping
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from broker.connect.authorization import (
    ConnectAuthorization,
    ConnectRequest,
    ConsentDeclined,
    is_installation_notice,
)
from broker.connect.confirmation import ConnectedAccount, GrantConfirmation, PendingConfirmation
from broker.connect.connect_session_store import ConnectSessionStore
from broker.connect.flow_store import ConnectFlow
from broker.connections.available_services import AvailableServices
from broker.connections.connect_methods import ConnectError
from broker.identity.browser_sessions import Session, Sessions
from broker.web.connect_urls import (
    CONNECT_PATH,
    REFUSAL_STATUS,
    build_next_path,
    build_path,
    parse_module,
    parse_queue,
    parse_role_id,
)
from broker.web.cookies import find_browser_session, redirect_to_sign_in
from broker.web.i18n import PageError
from broker.web.request_parsing import parse_fields as fields_of
from broker.web.request_parsing import read_form, read_query
from broker.web.web_dependencies import WebDependencies
from core.errors import NotFound


class ConnectFlowPages:
    """The handlers. Nobody without a session gets to any of them."""

    def __init__(
        self,
        parts: WebDependencies,
        sessions: Sessions,
        authorization: ConnectAuthorization,
        confirmation: GrantConfirmation,
        services: AvailableServices,
        connect_sessions: ConnectSessionStore,
    ) -> None:
        self._parts = parts
        self._sessions = sessions
        self._authorization = authorization
        self._confirmation = confirmation
        self._services = services
        self._connect_sessions = connect_sessions

    async def start(self, request: Request) -> Response:
        module, fields = parse_module(request.path_params), await read_form(request)
        session = await self._find_session(request)
        if session is None:
            return redirect_to_sign_in(f"{CONNECT_PATH}/{module}")
        start = ConnectRequest(
            module=module,
            provider=fields.get("provider", ""),
            role_id=parse_role_id(fields),
            also=frozenset(name.removeprefix("also.") for name in fields if name.startswith("also.")),
            writing=fields.get("writing") == "on",
            install=fields.get("install") == "on",
            next=build_path("", parse_queue(fields).to_fields()),
        )
        try:
            return self._parts.pages.render_forward_page(request, await self._authorization.begin(session, start))
        except ConnectError as refused:
            raise _to_page_error(refused) from None

    async def callback(self, request: Request) -> Response:
        """The browser is back from a vendor. Whoever has no session here began nothing here."""
        query = read_query(request)
        if is_installation_notice(query):
            return RedirectResponse(CONNECT_PATH, 303)
        session = await self._find_session(request)
        if session is None:
            raise PageError("connect_unknown", 403)
        try:
            outcome = await self._authorization.handle_callback(session, request.path_params["provider"], query)
        except ConnectError as refused:
            await self._connect_sessions.record_failure(session, refused.key, state=query.get("state", "")[:200])
            raise _to_page_error(refused) from None
        if isinstance(outcome, ConsentDeclined):
            await self._connect_sessions.record_failure(session, "declined", flow_id=outcome.flow.id)
            return _redirect_to_module(outcome.flow, "declined")
        if isinstance(outcome, PendingConfirmation):
            return RedirectResponse(f"{CONNECT_PATH}/-/question/{outcome.flow.id}", 303)
        return await self._redirect_finished(session, outcome)

    async def show_question(self, request: Request) -> Response:
        session = await self._find_session(request)
        if session is None:
            return redirect_to_sign_in(CONNECT_PATH)
        try:
            prompt = await self._confirmation.get_prompt(session, _parse_flow_id(request))
        except NotFound:
            raise _build_expired_error() from None
        offered = self._services.get_manifests(prompt.flow.modules)
        return self._parts.pages.render(
            request,
            "connect_question.html",
            flow=str(prompt.flow.id),
            services=", ".join(site.title for site in offered),
            role=prompt.role,
            email=session.email,
            account=prompt.account,
            before=prompt.replaced_accounts,
            untold=prompt.identity_unknown,
            sites=[
                {
                    "id": site.id,
                    "name": site.name,
                    "url": site.url,
                    "missing": ", ".join(one.title for one in offered if one.name in site.missing_modules),
                }
                for site in prompt.sites
            ],
        )

    async def decide(self, request: Request) -> Response:
        fields = await read_form(request)
        session = await self._find_session(request)
        if session is None:
            return redirect_to_sign_in(CONNECT_PATH)
        flow_id = _parse_flow_id(request)
        try:
            if fields.get("decision") != "connect":
                flow = await self._confirmation.cancel(session, flow_id)
                await self._connect_sessions.record_failure(session, "declined", flow_id=flow_id)
                return _redirect_to_module(flow, "kept")
            confirmed = await self._confirmation.confirm(session, flow_id, fields.get("site", ""))
        except NotFound:
            raise _build_expired_error() from None
        return await self._redirect_finished(session, confirmed)

    async def _redirect_finished(self, session: Session, outcome: ConnectedAccount) -> Response:
        if outcome.kept_previous:
            await self._connect_sessions.record_failure(session, "kept", flow_id=outcome.flow.id)
        return _redirect_to_module(outcome.flow, "kept" if outcome.kept_previous else "connected")

    async def _find_session(self, request: Request) -> Session | None:
        return await find_browser_session(self._parts.cookies, self._sessions, request)


def _build_expired_error() -> PageError:
    return PageError("connect_question_over", 404)


def _parse_flow_id(request: Request) -> UUID:
    try:
        return UUID(request.path_params["flow"])
    except ValueError:
        raise NotFound("there is no pending confirmation") from None


def _redirect_to_module(flow: ConnectFlow, done: str) -> Response:
    queue = parse_queue(_parse_fields(flow.next))
    return RedirectResponse(build_next_path(flow.modules[0], flow.role_id, queue, done), 303)


def _parse_fields(text: str) -> Mapping[str, str]:
    return fields_of(text.removeprefix("?").encode())


def _to_page_error(refused: ConnectError) -> PageError:
    role = {"role": str(refused.role_id)} if refused.role_id else {}
    return PageError(
        refused.key, REFUSAL_STATUS.get(refused.key, 403), title=refused.title, module=refused.module, **role
    )
