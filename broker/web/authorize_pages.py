"""The authorization endpoint in the browser: sign in first, then agree, then back to the client (RFC 6749 §4.1).

The page of consent carries the whole request, as it was checked and shown, under a token of the session that saw it.
Nothing is kept on the server before the person has answered.
"""

from collections.abc import Mapping
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from broker.authorization_server.authorization_codes import Approval
from broker.authorization_server.authorization_request import (
    AuthorizationRequest,
    AuthorizationRequestParser,
    RedirectTarget,
    UntrustedRedirect,
)
from broker.authorization_server.consents import ConsentRequest, Consents, is_verified_client
from broker.authorization_server.errors import OAuthError
from broker.authorization_server.grants import Grants
from broker.authorization_server.redirect_uris import is_loopback
from broker.identity.browser_sessions import Session, Sessions
from broker.web import request_parsing
from broker.web.i18n import PageError, describe_destination
from broker.web.security_headers import create_form_token, is_valid_form_token
from broker.web.web_dependencies import WebDependencies
from core.concurrency.rate_limits import AttemptLimits
from core.errors import LimitReached
from core.scopes import covers
from core.secret import Secret

AUTHORIZE_PATH = "/oauth/authorize"
MAX_CLIENT_NAME_LENGTH = 200


class AuthorizePages:
    """GET and POST of the authorization endpoint.

    `limits` are of who guesses. `people` are of the codes that one person gets: no site that sends their browser here
    in a circle fills our tables.
    """

    def __init__(
        self,
        parts: WebDependencies,
        authorization: AuthorizationRequestParser,
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

    async def begin(self, request: Request) -> Response:
        """A client sends a person here."""
        parameters = request_parsing.read_query(request)
        target = await self._resolve_target(request, parameters)
        try:
            return await self._handle_request(request, self._build_request(target, parameters))
        except OAuthError as error:
            return await self._handle_error(request, target, error)

    async def decide(self, request: Request) -> Response:
        """The person has pressed one of the two buttons."""
        form = await request_parsing.read_form(request)
        parameters = request_parsing.parse_fields(form.get("request", "").encode())
        target = await self._resolve_target(request, parameters)
        try:
            answer = await self._handle_decision(request, self._build_request(target, parameters), form)
        except OAuthError as error:
            answer = target.build_error_url(self._parts.issuer, error)
        return answer if isinstance(answer, Response) else self._parts.pages.render_forward_page(request, answer)

    def _build_request(self, target: RedirectTarget, parameters: Mapping[str, str]) -> AuthorizationRequest:
        return self._authorization.parse_request(target, parameters, self._parts.clock())

    async def _resolve_target(self, request: Request, parameters: Mapping[str, str]) -> RedirectTarget:
        address = request_parsing.get_client_address(request, self._parts.proxies)
        self._limits.check(address)
        try:
            return await self._authorization.resolve_target(parameters)
        except UntrustedRedirect as error:
            self._limits.record_failure(address)
            raise PageError(error.key, error.status, **error.words) from None

    async def _handle_request(self, request: Request, authorization: AuthorizationRequest) -> Response:
        secret, session = await self._find_session(request)
        if secret is None or session is None or not authorization.accepts_sign_in_at(session.authenticated_at):
            if authorization.prompt == "none":
                raise OAuthError(
                    "login_required", "login required: no session, or an older one than the client accepts"
                )
            return _redirect_to_sign_in(authorization, session)
        authorization = self._restrict_to_session(session, authorization)
        standing = await self._consents.get_status(_build_consent_request(session, authorization))
        if standing.covers_request and authorization.prompt != "consent":
            return self._redirect_to_client(request, await self._issue_code(session, authorization))
        if authorization.prompt == "none":
            raise OAuthError("consent_required", "consent required: the user has not agreed yet")
        return self._render_consent_page(request, secret, session, authorization, is_known=standing.has_prior_consent)

    async def _handle_decision(
        self, request: Request, authorization: AuthorizationRequest, form: Mapping[str, str]
    ) -> Response | str:
        secret, session = await self._find_session(request)
        if secret is None or session is None or not authorization.accepts_sign_in_at(session.authenticated_at):
            return _redirect_to_sign_in(authorization, session)
        if not is_valid_form_token(secret, authorization.build_query(), form.get("form_token", "")):
            raise PageError("expired", 403)
        if form.get("decision") != "allow":
            raise OAuthError("access_denied", "the user denied the request")
        authorization = self._restrict_to_session(session, authorization)
        await self._consents.grant_consent(session.actor, _build_consent_request(session, authorization))
        return await self._issue_code(session, authorization)

    async def _handle_error(self, request: Request, target: RedirectTarget, error: OAuthError) -> Response:
        """Tell the client, unless that would lead whoever follows a made-up link straight to a stranger's site: anybody
        can name a document of theirs and ask for nonsense (RFC 9700 §4.11.2)."""
        if _is_untrusted_site(target) and not await self._has_consented_before(request, target):
            raise PageError("client_request", 400, detail=error.description)
        return self._redirect_to_client(request, target.build_error_url(self._parts.issuer, error))

    async def _has_consented_before(self, request: Request, target: RedirectTarget) -> bool:
        """Check whether the user has ever consented to anything for the client."""
        _, session = await self._find_session(request)
        if session is None:
            return False
        return (
            await self._consents.get_status(_build_consent_request_for(session, target, frozenset()))
        ).has_prior_consent

    def _redirect_to_client(self, request: Request, url: str) -> Response:
        """Send the browser back to the client. One that comes from a page of ours may have posted a form there, and
        Chromium holds all redirects after that against the page's `form-action`."""
        if request.headers.get("sec-fetch-site") == "same-origin":
            return self._parts.pages.render_forward_page(request, url)
        return RedirectResponse(url, 302)

    async def _find_session(self, request: Request) -> tuple[Secret | None, Session | None]:
        secret = self._parts.cookies.read(request, "session")
        return secret, await self._sessions.find(secret) if secret else None

    def _restrict_to_session(self, session: Session, authorization: AuthorizationRequest) -> AuthorizationRequest:
        """Return the request as far as this session's user may be asked, or refuse another tenant's client as
        unknown."""
        if authorization.client.tenant_id not in (None, session.tenant_id):
            raise PageError("unknown_client")
        return authorization.narrow_to_role(session.system_role)

    async def _issue_code(self, session: Session, authorization: AuthorizationRequest) -> str:
        client = authorization.client
        approval = Approval(
            session.tenant_id,
            session.user_id,
            client.id,
            client.name[:MAX_CLIENT_NAME_LENGTH],
            authorization.target.redirect_uri,
            authorization.scopes,
            authorization.resource,
            authorization.challenge,
            session.authenticated_at,
        )
        self._count_code(session)
        code = await self._grants.create_code(approval)
        return authorization.target.build_response_url(self._parts.issuer, {"code": code.reveal()})

    def _count_code(self, session: Session) -> None:
        person = str(session.user_id)
        try:
            self._people.check(person)
        except LimitReached as limit:
            raise LimitReached(
                "too many authorization requests for this user; wait a minute", limit.retry_after
            ) from None
        self._people.record_failure(person)

    def _render_consent_page(
        self, request: Request, secret: Secret, session: Session, authorization: AuthorizationRequest, *, is_known: bool
    ) -> Response:
        client, redirect_uri, query = (
            authorization.client,
            authorization.target.redirect_uri,
            authorization.build_query(),
        )
        return self._parts.pages.render(
            request,
            "consent.html",
            client=client.name,
            host=client.verified_host,
            destination=describe_destination(redirect_uri),
            loopback=is_loopback(redirect_uri),
            unknown=client.kind == "dynamic" or (client.kind == "metadata" and not is_known),
            email=session.email,
            tenant=session.tenant_name,
            scopes=_list_uncovered_scopes(authorization.scopes),
            fields={"request": query, "form_token": create_form_token(secret, query)},
        )


def _redirect_to_sign_in(authorization: AuthorizationRequest, session: Session | None) -> Response:
    notice = "" if session is None else "notice=recent&"
    return RedirectResponse(
        f"/sign-in?{notice}next={quote(f'{AUTHORIZE_PATH}?{authorization.build_query()}', safe='')}", 303
    )


def _is_untrusted_site(target: RedirectTarget) -> bool:
    """Check whether the redirect URI is a site that no administrator has chosen; loopback addresses are none."""
    return target.client.kind != "registered" and target.redirect_uri.startswith("https:")


def _build_consent_request(session: Session, authorization: AuthorizationRequest) -> ConsentRequest:
    return _build_consent_request_for(session, authorization.target, authorization.scopes)


def _build_consent_request_for(session: Session, target: RedirectTarget, scopes: frozenset[str]) -> ConsentRequest:
    client, redirect_uri = target.client, target.redirect_uri
    sure = is_verified_client(client.kind, redirect_uri)
    return ConsentRequest(session.tenant_id, session.user_id, client.id, redirect_uri, scopes, sure)


def _list_uncovered_scopes(scopes: frozenset[str]) -> list[str]:
    """Return the scopes that no other scope of the list covers."""
    return sorted(scope for scope in scopes if not covers(scopes - {scope}, scope))
