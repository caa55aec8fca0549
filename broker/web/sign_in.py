"""The routes of sign-in: choose a provider, come back from it, choose a tenant, use a one-time link, sign out."""

from urllib.parse import quote
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from broker.identity.front_door import FrontDoor
from broker.identity.next_path import safe_next
from broker.identity.pending import LIFETIME
from broker.identity.sessions import Session
from broker.identity.sign_in_outcomes import Browser, ChooseTenant, SignedIn, SignInRefused
from broker.web.names import contact
from broker.web.parts import WebParts
from broker.web.problems import Problem
from broker.web.requests import client_address, form, query
from core.errors import NotFound
from core.secret import Secret

NOTICES = frozenset({"session_ended", "recent", "link_needed"})
FLOW_SECONDS = int(LIFETIME.total_seconds())
ADMINISTRATORS = frozenset({"suspended", "other_account", "unverified_email"})
"""Of the reasons for a refusal, those that an administrator knows a way out of."""
STATUS = {"link_used": 410, "expired": 410, "provider_away": 503}


def routes(parts: WebParts, door: FrontDoor) -> list[Route]:
    """What :func:`broker.web.app.identity_app` is given of sign-in."""
    pages = SignInPages(parts, door)
    return [
        Route("/login", pages.login, methods=["GET"]),
        Route("/sign-in", pages.choose_provider, methods=["GET"]),
        Route("/sign-in/start", pages.start, methods=["POST"]),
        Route("/sign-in/callback/{provider}", pages.callback, methods=["GET"]),
        Route("/sign-in/tenant", pages.choose_tenant, methods=["GET"]),
        Route("/sign-in/tenant", pages.tenant_chosen, methods=["POST"]),
        Route("/sign-in/link", pages.show_link, methods=["GET"]),
        Route("/sign-in/link", pages.use_link, methods=["POST"]),
        Route("/sign-out", pages.sign_out, methods=["POST"]),
        Route("/signed-out", pages.signed_out, methods=["GET"]),
    ]


async def session_of(parts: WebParts, door: FrontDoor, request: Request) -> Session | None:
    """The live session of the browser that asks."""
    cookie = parts.cookies.read(request, "session")
    return await door.sessions.find(cookie) if cookie else None


def sign_in_first(to: str) -> Response:
    """On to the sign-in, and from there to an address of ours."""
    return RedirectResponse(f"/sign-in?next={quote(to, safe='')}", 303)


def browser_of(parts: WebParts, request: Request) -> Browser:
    """The browser that asks, as far as can be known."""
    return Browser(client_address(request, parts.proxies), request.headers.get("user-agent", ""))


class SignInPages:
    """The handlers."""

    def __init__(self, parts: WebParts, door: FrontDoor) -> None:
        self._parts = parts
        self._door = door
        self._sign_in = door.sign_in

    async def login(self, request: Request) -> Response:
        """The name that people guess."""
        return RedirectResponse("/sign-in", 307)

    async def choose_provider(self, request: Request) -> Response:
        asked = query(request)
        notice = asked.get("notice", "")
        return self._parts.pages.render(
            request,
            "sign_in.html",
            providers=self._sign_in.providers,
            next=safe_next(asked["next"]) if "next" in asked else "",
            notice=notice if notice in NOTICES else "",
        )

    async def start(self, request: Request) -> Response:
        fields = await form(request)
        try:
            started = await self._sign_in.start(
                fields.get("provider", ""), fields.get("next", ""), browser_of(self._parts, request)
            )
        except SignInRefused as refused:
            return self._refused(request, refused)
        response = self._parts.pages.go_on(request, started.url)
        self._parts.cookies.set(response, "flow", started.binding, FLOW_SECONDS)
        return response

    async def callback(self, request: Request) -> Response:
        session = await session_of(self._parts, self._door, request)
        binding = self._parts.cookies.read(request, "flow")
        browser = browser_of(self._parts, request)
        try:
            outcome = await self._sign_in.callback(
                request.path_params["provider"], binding, query(request), browser, session=session
            )
        except SignInRefused as refused:
            return self._refused(request, refused)
        if isinstance(outcome, ChooseTenant):
            return RedirectResponse("/sign-in/tenant", 303)  # so that a reload is no second use of the answer
        if isinstance(outcome, SignedIn):
            return await self._signed_in(outcome, session)
        response = RedirectResponse("/account?done=account_tied", 303)
        self._parts.cookies.drop(response, "flow")
        return response

    async def choose_tenant(self, request: Request) -> Response:
        try:
            found = await self._sign_in.choices(self._parts.cookies.read(request, "flow"))
        except SignInRefused as refused:
            return self._refused(request, refused)
        choices = [(str(one.tenant_id), one.name) for one in found.choices]
        return self._parts.pages.render(request, "tenant.html", email=found.email, choices=choices, fields={})

    async def tenant_chosen(self, request: Request) -> Response:
        fields = await form(request)
        try:
            tenant_id = UUID(fields.get("tenant", ""))
        except ValueError:
            raise NotFound("there is no such organisation") from None
        binding = self._parts.cookies.read(request, "flow")
        session = await session_of(self._parts, self._door, request)
        try:
            outcome = await self._sign_in.choose(binding, tenant_id, browser_of(self._parts, request))
        except SignInRefused as refused:
            return self._refused(request, refused)
        return await self._signed_in(outcome, session)

    async def show_link(self, request: Request) -> Response:
        asked = query(request)
        try:
            target = await self._sign_in.peek(Secret(asked.get("code", "")), browser_of(self._parts, request))
        except SignInRefused as refused:
            return self._refused(request, refused)
        return self._parts.pages.render(
            request,
            "link.html",
            code=asked.get("code", ""),
            email=target.email,
            tenant=target.tenant_name,
            next=safe_next(asked.get("next", "")),
        )

    async def use_link(self, request: Request) -> Response:
        fields = await form(request)
        session = await session_of(self._parts, self._door, request)
        code, browser = Secret(fields.get("code", "")), browser_of(self._parts, request)
        try:
            outcome = await self._sign_in.use_link(code, fields.get("next", ""), browser)
        except SignInRefused as refused:
            return self._refused(request, refused)
        return await self._signed_in(outcome, session)

    async def sign_out(self, request: Request) -> Response:
        session = await session_of(self._parts, self._door, request)
        await self._end(session)
        response = RedirectResponse("/signed-out", 303)
        self._parts.cookies.drop(response, "session")
        self._parts.cookies.drop(response, "flow")
        return response

    async def signed_out(self, request: Request) -> Response:
        return self._parts.pages.render(request, "signed_out.html")

    async def _signed_in(self, outcome: SignedIn, before: Session | None) -> Response:
        """A new session in the place of the browser's old one, whoever's that was."""
        await self._end(before)
        response = RedirectResponse(outcome.next, 303)
        self._parts.cookies.set(response, "session", outcome.session)
        self._parts.cookies.drop(response, "flow")
        return response

    async def _end(self, session: Session | None) -> None:
        if session is None:
            return
        try:
            await self._door.sessions.end(session.actor, session.tenant_id, session.id)
        except NotFound:
            return  # it ended in the same moment elsewhere

    def _refused(self, request: Request, refused: SignInRefused) -> Response:
        whom = self._parts.identity.contact
        if refused.key == "not_listed":
            asked = contact(whom) if whom else ""
            response: Response = self._parts.pages.render(
                request, "refused.html", status=403, email=refused.email, provider=refused.provider, contact=asked
            )
        else:
            words: dict[str, str] = {"provider": refused.provider, "email": refused.email}
            if whom and refused.key in ADMINISTRATORS:
                words["contact"] = contact(whom)
            problem = Problem(refused.key, STATUS.get(refused.key, 403), **words)
            response = self._parts.pages.problem(request, problem)
        self._parts.cookies.drop(response, "flow")
        return response
