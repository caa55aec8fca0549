"""The routes of sign-in: choose a provider, come back from it, choose a tenant, use a one-time link, sign out."""

from collections.abc import Mapping
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from broker.identity.browser_sessions import Session
from broker.identity.identity_services import IdentityServices
from broker.identity.one_time_links import LinkTarget
from broker.identity.provider_registry import ListedProvider
from broker.identity.sign_in_state import (
    ACCOUNT_PATH,
    SIGN_IN_LIFETIME,
    Browser,
    SignInRefused,
    SignInResult,
    TenantSelection,
    sanitize_return_to,
)
from broker.web.cookies import find_browser_session
from broker.web.i18n import PageError, render_contact
from broker.web.request_parsing import get_client_address, read_form, read_query
from broker.web.web_dependencies import WebDependencies
from core.errors import MCPistError, NotFound
from core.secret import Secret

SIGN_IN_NOTICES = frozenset({"session_ended", "recent", "link_needed"})
FLOW_SECONDS = int(SIGN_IN_LIFETIME.total_seconds())
CONTACT_KEYS = frozenset({"suspended", "other_account", "unverified_email"})
"""Of the reasons for a refusal, those that an administrator knows a way out of."""
SIGN_IN_REFUSAL_STATUS = {"link_used": 410, "expired": 410, "provider_away": 503}


def build_sign_in_routes(parts: WebDependencies, identity_services: IdentityServices) -> list[Route]:
    """Build the routes of sign-in."""
    pages = SignInPages(parts, identity_services)
    return [
        Route("/login", pages.redirect_login, methods=["GET"]),
        Route("/sign-in", pages.choose_provider, methods=["GET"]),
        Route("/sign-in/start", pages.start, methods=["POST"]),
        Route("/sign-in/callback/{provider}", pages.callback, methods=["GET"]),
        Route("/sign-in/tenant", pages.choose_tenant, methods=["GET"]),
        Route("/sign-in/tenant", pages.handle_tenant_choice, methods=["POST"]),
        Route("/sign-in/link", pages.show_link, methods=["GET"]),
        Route("/sign-in/link", pages.use_link, methods=["POST"]),
        Route("/sign-out", pages.sign_out, methods=["POST"]),
        Route("/signed-out", pages.show_signed_out, methods=["GET"]),
    ]


def identify_browser(parts: WebDependencies, request: Request) -> Browser:
    """The browser that asks, as far as can be known."""
    return Browser(get_client_address(request, parts.proxies), request.headers.get("user-agent", ""))


class SignInPages:
    """The handlers."""

    def __init__(self, parts: WebDependencies, identity_services: IdentityServices) -> None:
        self._parts = parts
        self._door = identity_services
        self._sign_in = identity_services.sign_in

    async def redirect_login(self, request: Request) -> Response:
        """The name that people guess."""
        return RedirectResponse("/sign-in", 307)

    async def choose_provider(self, request: Request) -> Response:
        query = read_query(request)
        notice = query.get("notice", "")
        return self._parts.pages.render(
            request,
            "sign_in.html",
            providers=[(provider.id, provider.label) for provider in await self._sign_in.list_providers()],
            next=sanitize_return_to(query["next"]) if "next" in query else "",
            notice=notice if notice in SIGN_IN_NOTICES else "",
        )

    async def start(self, request: Request) -> Response:
        fields = await read_form(request)
        try:
            started = await self._sign_in.start(
                fields.get("provider", ""), self._get_next_path(fields), identify_browser(self._parts, request)
            )
        except SignInRefused as refused:
            return self._render_refusal(request, refused)
        response = self._parts.pages.render_forward_page(request, started.url)
        self._parts.cookies.set(response, "flow", started.binding, FLOW_SECONDS)
        return response

    async def callback(self, request: Request) -> Response:
        session = await find_browser_session(self._parts.cookies, self._door.sessions, request)
        binding = self._parts.cookies.read(request, "flow")
        browser = identify_browser(self._parts, request)
        try:
            outcome = await self._sign_in.handle_callback(
                request.path_params["provider"], binding, read_query(request), browser, session=session
            )
        except SignInRefused as refused:
            return self._render_refusal(request, refused)
        if isinstance(outcome, TenantSelection):
            return RedirectResponse("/sign-in/tenant", 303)  # so that a reload is no second use of the answer
        if isinstance(outcome, SignInResult):
            return await self._start_session(outcome, session)
        done = "/account?done=account_tied"
        response = RedirectResponse(done if outcome.next_path == ACCOUNT_PATH else outcome.next_path, 303)
        self._parts.cookies.drop(response, "flow")
        return response

    async def choose_tenant(self, request: Request) -> Response:
        try:
            pending = await self._sign_in.list_choices(self._parts.cookies.read(request, "flow"))
        except SignInRefused as refused:
            return self._render_refusal(request, refused)
        choices = [(str(choice.tenant_id), choice.name) for choice in pending.choices]
        return self._parts.pages.render(request, "tenant.html", email=pending.email, choices=choices, fields={})

    async def handle_tenant_choice(self, request: Request) -> Response:
        fields = await read_form(request)
        try:
            tenant_id = UUID(fields.get("tenant", ""))
        except ValueError:
            raise NotFound("there is no such organisation") from None
        binding = self._parts.cookies.read(request, "flow")
        session = await find_browser_session(self._parts.cookies, self._door.sessions, request)
        try:
            outcome = await self._sign_in.choose_tenant(binding, tenant_id, identify_browser(self._parts, request))
        except SignInRefused as refused:
            return self._render_refusal(request, refused)
        return await self._start_session(outcome, session)

    async def show_link(self, request: Request) -> Response:
        query = read_query(request)
        try:
            target = await self._sign_in.find_link_target(
                Secret(query.get("code", "")), identify_browser(self._parts, request)
            )
        except SignInRefused as refused:
            return self._render_refusal(request, refused)
        return self._parts.pages.render(
            request,
            "link.html",
            code=query.get("code", ""),
            email=target.email,
            tenant=target.tenant_name,
            next=sanitize_return_to(self._get_next_path(query)),
            providers=[(provider.id, provider.label) for provider in await self._list_linkable_providers(target)],
        )

    async def use_link(self, request: Request) -> Response:
        fields = await read_form(request)
        session = await find_browser_session(self._parts.cookies, self._door.sessions, request)
        code, browser = Secret(fields.get("code", "")), identify_browser(self._parts, request)
        try:
            outcome = await self._sign_in.use_link(code, self._get_next_path(fields), browser)
        except SignInRefused as refused:
            return self._render_refusal(request, refused)
        response = await self._start_session(outcome, session)
        if "provider" not in fields:
            return response
        return await self._link_account(request, outcome, fields["provider"])

    async def _link_account(self, request: Request, outcome: SignInResult, provider: str) -> Response:
        """Go on to a provider, whose account is linked to the user that the one-time link has signed in."""
        session = await self._door.sessions.find(outcome.session)
        assert session is not None, "it began a moment ago"
        browser = identify_browser(self._parts, request)
        try:
            started = await self._sign_in.start(provider, outcome.next_path, browser, session=session)
        except SignInRefused as refused:
            response = self._render_refusal(request, refused)
        except MCPistError as error:  # the one-time link is used up: they are signed in without the account
            response = self._parts.pages.render_error(request, error)
        else:
            response = self._parts.pages.render_forward_page(request, started.url)
            self._parts.cookies.set(response, "flow", started.binding, FLOW_SECONDS)
        self._parts.cookies.set(response, "session", outcome.session)
        return response

    async def _list_linkable_providers(self, target: LinkTarget) -> list[ListedProvider]:
        """The providers that a one-time link may lead on to: all, as long as its user has no account at any."""
        if await self._door.identities.list(target.tenant_id, target.user_id):
            return []
        return await self._sign_in.list_providers()

    def _get_next_path(self, fields: Mapping[str, str]) -> str:
        return fields.get("next") or self._parts.get_home_path()

    async def sign_out(self, request: Request) -> Response:
        session = await find_browser_session(self._parts.cookies, self._door.sessions, request)
        await self._end_session(session)
        response = RedirectResponse("/signed-out", 303)
        self._parts.cookies.drop(response, "session")
        self._parts.cookies.drop(response, "flow")
        return response

    async def show_signed_out(self, request: Request) -> Response:
        return self._parts.pages.render(request, "signed_out.html")

    async def _start_session(self, outcome: SignInResult, before: Session | None) -> Response:
        """A new session in the place of the browser's old one, whoever's that was."""
        await self._end_session(before)
        response = RedirectResponse(outcome.next_path, 303)
        self._parts.cookies.set(response, "session", outcome.session)
        self._parts.cookies.drop(response, "flow")
        return response

    async def _end_session(self, session: Session | None) -> None:
        if session is None:
            return
        try:
            await self._door.sessions.end(session.actor, session.tenant_id, session.id)
        except NotFound:
            return  # it ended in the same moment elsewhere

    def _render_refusal(self, request: Request, refused: SignInRefused) -> Response:
        whom = self._parts.identity.contact
        if refused.key == "not_listed":
            contact = render_contact(whom) if whom else ""
            response: Response = self._parts.pages.render(
                request, "refused.html", status=403, email=refused.email, provider=refused.provider, contact=contact
            )
        else:
            words: dict[str, str] = {"provider": refused.provider, "email": refused.email}
            if whom and refused.key in CONTACT_KEYS:
                words["contact"] = render_contact(whom)
            problem = PageError(refused.key, SIGN_IN_REFUSAL_STATUS.get(refused.key, 403), **words)
            response = self._parts.pages.render_error(request, problem)
        self._parts.cookies.drop(response, "flow")
        return response
