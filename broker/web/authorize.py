"""The authorization endpoint in the browser: sign in first, then agree, then back to the client (RFC 6749 §4.1).

The page of consent carries the whole request, as it was checked and shown, under a token of the session that saw it.
Nothing is kept on the server before the person has answered.
"""

from collections.abc import Mapping
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from broker.identity.sessions import Session, Sessions
from broker.oauth.authorization import Authorization, AuthorizationRequest, NotTrusted, Target
from broker.oauth.codes import Approval
from broker.oauth.consents import Asked, Consents, is_sure
from broker.oauth.errors import OAuthError
from broker.oauth.grants import Grants
from broker.oauth.redirect_uris import is_loopback
from broker.web import requests
from broker.web.form_tokens import form_token, is_form_token
from broker.web.names import destination
from broker.web.parts import WebParts
from broker.web.problems import Problem
from core.errors import LimitReached
from core.limits import AttemptLimits
from core.scopes import covers
from core.secret import Secret

PATH = "/oauth/authorize"
MOST_NAME = 200


class AuthorizePages:
    """GET and POST of the authorization endpoint.

    `limits` are of who guesses. `people` are of the codes that one person gets: no site that sends their browser here
    in a circle fills our tables.
    """

    def __init__(
        self,
        parts: WebParts,
        authorization: Authorization,
        sessions: Sessions,
        consents: Consents,
        grants: Grants,
        limits: AttemptLimits,
        people: AttemptLimits,
    ) -> None:
        self._parts = parts
        self._authorization = authorization
        self._sessions = sessions
        self._consents = consents
        self._grants = grants
        self._limits = limits
        self._people = people

    async def ask(self, request: Request) -> Response:
        """A client sends a person here."""
        parameters = requests.query(request)
        target = await self._target(request, parameters)
        try:
            return await self._asked(request, self._wanted(target, parameters))
        except OAuthError as error:
            return await self._refused(request, target, error)

    async def decide(self, request: Request) -> Response:
        """The person has pressed one of the two buttons."""
        form = await requests.form(request)
        parameters = requests.fields(form.get("request", "").encode())
        target = await self._target(request, parameters)
        try:
            answer = await self._decided(request, self._wanted(target, parameters), form)
        except OAuthError as error:
            answer = target.refusal(self._parts.issuer, error)
        return answer if isinstance(answer, Response) else self._parts.pages.go_on(request, answer)

    def _wanted(self, target: Target, parameters: Mapping[str, str]) -> AuthorizationRequest:
        return self._authorization.request(target, parameters, self._parts.clock())

    async def _target(self, request: Request, parameters: Mapping[str, str]) -> Target:
        address = requests.client_address(request, self._parts.proxies)
        self._limits.check(address)
        try:
            return await self._authorization.target(parameters)
        except NotTrusted as error:
            self._limits.failed(address)
            raise Problem(error.key, error.status, **error.words) from None

    async def _asked(self, request: Request, wanted: AuthorizationRequest) -> Response:
        secret, session = await self._signed_in(request)
        if secret is None or session is None or not wanted.accepts(session.authenticated_at):
            if wanted.prompt == "none":
                raise OAuthError("login_required", "nobody is signed in, or not since the client wants it")
            return _to_sign_in(wanted, session)
        wanted = self._for(session, wanted)
        standing = await self._consents.standing(_about(session, wanted))
        if standing.given and wanted.prompt != "consent":
            return self._back(request, await self._answer(session, wanted))
        if wanted.prompt == "none":
            raise OAuthError("consent_required", "the person has to agree first")
        return self._consent_page(request, secret, session, wanted, known=standing.known)

    async def _decided(self, request: Request, wanted: AuthorizationRequest, form: Mapping[str, str]) -> Response | str:
        secret, session = await self._signed_in(request)
        if secret is None or session is None or not wanted.accepts(session.authenticated_at):
            return _to_sign_in(wanted, session)
        if not is_form_token(secret, wanted.query(), form.get("form_token", "")):
            raise Problem("expired", 403)
        if form.get("decision") != "allow":
            raise OAuthError("access_denied", "the person did not agree")
        wanted = self._for(session, wanted)
        await self._consents.give(session.actor, _about(session, wanted))
        return await self._answer(session, wanted)

    async def _refused(self, request: Request, target: Target, error: OAuthError) -> Response:
        """Tell the client, unless that would lead whoever follows a made-up link straight to a stranger's site: anybody
        can name a document of theirs and ask for nonsense (RFC 9700 §4.11.2)."""
        if _is_strange(target) and not await self._is_known(request, target):
            raise Problem("client_request", 400, detail=error.description)
        return self._back(request, target.refusal(self._parts.issuer, error))

    async def _is_known(self, request: Request, target: Target) -> bool:
        """Whether the person has ever agreed to anything for the client."""
        _, session = await self._signed_in(request)
        if session is None:
            return False
        return (await self._consents.standing(_asked(session, target, frozenset()))).known

    def _back(self, request: Request, url: str) -> Response:
        """Send the browser back to the client. One that comes from a page of ours may have posted a form there, and
        Chromium holds all redirects after that against the page's `form-action`."""
        if request.headers.get("sec-fetch-site") == "same-origin":
            return self._parts.pages.go_on(request, url)
        return RedirectResponse(url, 302)

    async def _signed_in(self, request: Request) -> tuple[Secret | None, Session | None]:
        secret = self._parts.cookies.read(request, "session")
        return secret, await self._sessions.find(secret) if secret else None

    def _for(self, session: Session, wanted: AuthorizationRequest) -> AuthorizationRequest:
        """What this person can be asked. Another tenant's client does not exist for them."""
        if wanted.client.tenant_id not in (None, session.tenant_id):
            raise Problem("unknown_client")
        return wanted.of_role(session.system_role)

    async def _answer(self, session: Session, wanted: AuthorizationRequest) -> str:
        client = wanted.client
        approval = Approval(
            session.tenant_id,
            session.user_id,
            client.id,
            client.name[:MOST_NAME],
            wanted.target.redirect_uri,
            wanted.scopes,
            wanted.resource,
            wanted.challenge,
            session.authenticated_at,
        )
        self._count(session)
        code = await self._grants.begin_code(approval)
        return wanted.target.answer(self._parts.issuer, {"code": code.reveal()})

    def _count(self, session: Session) -> None:
        person = str(session.user_id)
        try:
            self._people.check(person)
        except LimitReached as limit:
            raise LimitReached("too many applications asked for you lately; wait a minute", limit.retry_after) from None
        self._people.failed(person)

    def _consent_page(
        self, request: Request, secret: Secret, session: Session, wanted: AuthorizationRequest, *, known: bool
    ) -> Response:
        client, redirect_uri, query = wanted.client, wanted.target.redirect_uri, wanted.query()
        return self._parts.pages.render(
            request,
            "consent.html",
            client=client.name,
            host=client.verified_host,
            destination=destination(redirect_uri),
            loopback=is_loopback(redirect_uri),
            unknown=client.kind == "dynamic" or (client.kind == "metadata" and not known),
            email=session.email,
            tenant=session.tenant_name,
            scopes=_shown(wanted.scopes),
            fields={"request": query, "form_token": form_token(secret, query)},
        )


def _to_sign_in(wanted: AuthorizationRequest, session: Session | None) -> Response:
    notice = "" if session is None else "notice=recent&"
    return RedirectResponse(f"/sign-in?{notice}next={quote(f'{PATH}?{wanted.query()}', safe='')}", 303)


def _is_strange(target: Target) -> bool:
    """Whether nobody here has chosen the site that the answer goes to. What stays on the person's machine is none."""
    return target.client.kind != "registered" and target.redirect_uri.startswith("https:")


def _about(session: Session, wanted: AuthorizationRequest) -> Asked:
    return _asked(session, wanted.target, wanted.scopes)


def _asked(session: Session, target: Target, scopes: frozenset[str]) -> Asked:
    client, redirect_uri = target.client, target.redirect_uri
    sure = is_sure(client.kind, redirect_uri)
    return Asked(session.tenant_id, session.user_id, client.id, redirect_uri, scopes, sure)


def _shown(scopes: frozenset[str]) -> list[str]:
    """Those that no other one covers."""
    return sorted(scope for scope in scopes if not covers(scopes - {scope}, scope))
