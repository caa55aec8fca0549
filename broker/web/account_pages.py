"""The routes of one's own account: sessions, applications, API tokens, mandates, accounts at identity providers; each
only one's own."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import UUID

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from broker.authorization_server.grant_records import GrantEntry
from broker.authorization_server.grants import Grants
from broker.identity.api_tokens import ApiToken, ApiTokens
from broker.identity.browser_names import get_browser_name
from broker.identity.browser_sessions import SessionEntry
from broker.identity.identities import Identity
from broker.identity.identity_services import IdentityServices
from broker.identity.provider_registry import ListedProvider
from broker.identity.sign_in_state import ACCOUNT_PATH, SignInRefused
from broker.mandates.mandate_records import MandateEntry
from broker.mandates.mandates import Mandates
from broker.web.cookies import find_browser_session
from broker.web.i18n import PageError, isolate_name
from broker.web.request_parsing import read_form, read_query
from broker.web.sign_in_pages import FLOW_SECONDS, identify_browser
from broker.web.web_dependencies import WebDependencies
from core.errors import NotFound

DONE_NOTICES = frozenset(
    {
        *("session_ended", "grant_revoked", "token_revoked", "account_tied", "account_untied"),
        *("mandate_revoked", "mandate_allowed"),
    }
)
MAX_SHOWN_MANDATES = 100
_TOKEN_ID = re.compile(r"[0-9A-Za-z]{12}")


def build_account_routes(
    parts: WebDependencies,
    identity_services: IdentityServices,
    tokens: ApiTokens,
    mandates: Mandates,
    grants: Grants | None,
) -> list[Route]:
    """Build the routes of the account pages. `grants` is None where another server issues access tokens."""
    pages = AccountPages(parts, identity_services, tokens, mandates, grants)
    return [
        Route("/account", pages.show, methods=["GET"]),
        Route("/account/sessions/end", pages.end_session, methods=["POST"]),
        Route("/account/sessions/end-all", pages.end_all_sessions, methods=["POST"]),
        Route("/account/grants/end", pages.end_grant, methods=["POST"]),
        Route("/account/tokens/end", pages.end_token, methods=["POST"]),
        Route("/account/mandates/allow", pages.allow_mandate, methods=["POST"]),
        Route("/account/mandates/end", pages.end_mandate, methods=["POST"]),
        Route("/account/identities/tie", pages.link_identity, methods=["POST"]),
        Route("/account/identities/untie", pages.unlink_identity, methods=["POST"]),
    ]


class AccountPages:
    """The handlers. Nobody without a session gets to any of them."""

    def __init__(
        self,
        parts: WebDependencies,
        identity_services: IdentityServices,
        tokens: ApiTokens,
        mandates: Mandates,
        grants: Grants | None,
    ) -> None:
        self._parts = parts
        self._door = identity_services
        self._tokens = tokens
        self._mandates = mandates
        self._grants = grants

    async def show(self, request: Request) -> Response:
        session = await find_browser_session(self._parts.cookies, self._door.sessions, request)
        if session is None:
            return _redirect_to_sign_in()
        done = read_query(request).get("done", "")
        whose = (session.tenant_id, session.user_id)
        sessions = [
            _build_session_view(browser_session, session.id)
            for browser_session in await self._door.sessions.list(*whose)
        ]
        providers = await self._door.sign_in.list_providers()
        identities = [
            _build_identity_view(identity, providers) for identity in await self._door.identities.list(*whose)
        ]
        grants = await self._grants.list_for_user(*whose) if self._grants else []
        return self._parts.pages.render(
            request,
            "account.html",
            email=session.email,
            tenant=session.tenant_name,
            done=done if done in DONE_NOTICES else "",
            sessions=sessions,
            identities=identities,
            grants=[_build_grant_view(browser_session) for browser_session in grants],
            tokens=[_build_token_view(browser_session) for browser_session in await self._tokens.list_live(*whose)],
            mandates=[
                _build_mandate_view(mandate)
                for mandate in await self._mandates.list_page(*whose, None, MAX_SHOWN_MANDATES)
            ],
            providers=[(provider.id, provider.label) for provider in providers],
        )

    async def end_session(self, request: Request) -> Response:
        session = await find_browser_session(self._parts.cookies, self._door.sessions, request)
        if session is None:
            return _redirect_to_sign_in()
        session_id = _parse_id(await read_form(request))
        await self._door.sessions.end(session.actor, session.tenant_id, session_id, user_id=session.user_id)
        return RedirectResponse(f"{ACCOUNT_PATH}?done=session_ended", 303)

    async def end_all_sessions(self, request: Request) -> Response:
        """End all sessions of the user, this browser's included."""
        session = await find_browser_session(self._parts.cookies, self._door.sessions, request)
        if session is None:
            return _redirect_to_sign_in()
        await self._door.sessions.end_all(session.actor, session.tenant_id, session.user_id)
        response = RedirectResponse("/signed-out", 303)
        self._parts.cookies.drop(response, "session")
        return response

    async def end_grant(self, request: Request) -> Response:
        session = await find_browser_session(self._parts.cookies, self._door.sessions, request)
        if session is None:
            return _redirect_to_sign_in()
        grant_id = _parse_id(await read_form(request))
        if self._grants is None:
            raise NotFound("another authorization server manages the access of clients")
        await self._grants.revoke(session.actor, session.tenant_id, grant_id, "user", user_id=session.user_id)
        return RedirectResponse(f"{ACCOUNT_PATH}?done=grant_revoked", 303)

    async def end_token(self, request: Request) -> Response:
        session = await find_browser_session(self._parts.cookies, self._door.sessions, request)
        if session is None:
            return _redirect_to_sign_in()
        token_id = (await read_form(request)).get("id", "")
        if not _TOKEN_ID.fullmatch(token_id):
            raise NotFound("there is nothing of that id")
        await self._tokens.revoke(session.actor, session.tenant_id, token_id, user_id=session.user_id)
        return RedirectResponse(f"{ACCOUNT_PATH}?done=token_revoked", 303)

    async def allow_mandate(self, request: Request) -> Response:
        """The person's consent to what works in their absence: by their own press, in their own browser."""
        session = await find_browser_session(self._parts.cookies, self._door.sessions, request)
        if session is None:
            return _redirect_to_sign_in()
        mandate_id = _parse_id(await read_form(request))
        await self._mandates.consent(session.actor, session.tenant_id, mandate_id, user_id=session.user_id)
        return RedirectResponse(f"{ACCOUNT_PATH}?done=mandate_allowed", 303)

    async def end_mandate(self, request: Request) -> Response:
        session = await find_browser_session(self._parts.cookies, self._door.sessions, request)
        if session is None:
            return _redirect_to_sign_in()
        mandate_id = _parse_id(await read_form(request))
        await self._mandates.revoke(session.actor, session.tenant_id, mandate_id, user_id=session.user_id)
        return RedirectResponse(f"{ACCOUNT_PATH}?done=mandate_revoked", 303)

    async def link_identity(self, request: Request) -> Response:
        """One more account for the person themselves: whoever borrows their open browser has no recent sign-in."""
        session = await find_browser_session(self._parts.cookies, self._door.sessions, request)
        if session is None:
            return _redirect_to_sign_in()
        if not session.is_fresh(self._parts.clock()):
            return _redirect_to_sign_in("&notice=recent")
        provider = (await read_form(request)).get("provider", "")
        try:
            started = await self._door.sign_in.start(
                provider, ACCOUNT_PATH, identify_browser(self._parts, request), session=session
            )
        except SignInRefused as refused:
            raise PageError(refused.key, 503, provider=refused.provider) from None
        response = self._parts.pages.render_forward_page(request, started.url)
        self._parts.cookies.set(response, "flow", started.binding, FLOW_SECONDS)
        return response

    async def unlink_identity(self, request: Request) -> Response:
        """One account less, as long as there is another: it takes a recent sign-in as one more does."""
        session = await find_browser_session(self._parts.cookies, self._door.sessions, request)
        if session is None:
            return _redirect_to_sign_in()
        if not session.is_fresh(self._parts.clock()):
            return _redirect_to_sign_in("&notice=recent")
        identity_id = _parse_id(await read_form(request))
        await self._door.identities.unlink(session.actor, session.tenant_id, identity_id, user_id=session.user_id)
        return RedirectResponse(f"{ACCOUNT_PATH}?done=account_untied", 303)


def _build_identity_view(identity: Identity, providers: Sequence[ListedProvider]) -> Mapping[str, Any]:
    label = next((provider.label for provider in providers if identity.issuer in provider.issuers), "")
    return {
        "id": identity.id,
        "provider": label or urlsplit(identity.issuer).hostname or identity.issuer,
        "email": identity.email,
        "last_sign_in_at": identity.last_sign_in_at,
    }


def _build_session_view(entry: SessionEntry, current: UUID) -> Mapping[str, Any]:
    return {
        "id": entry.id,
        "current": entry.id == current,
        "browser": get_browser_name(entry.user_agent),
        "address": entry.address,
        "method": entry.method,
        "created_at": entry.created_at,
        "last_seen_at": entry.last_seen_at,
    }


def _build_grant_view(entry: GrantEntry) -> Mapping[str, Any]:
    return {
        "id": entry.id,
        "client": entry.client_name or entry.client_id,
        "scopes": entry.scopes,
        "created_at": entry.created_at,
        "last_used_at": entry.last_used_at,
    }


def _build_token_view(token: ApiToken) -> Mapping[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "scopes": sorted(token.scopes),
        "read_only": token.read_only,
        "created_at": token.created_at,
        "last_used_at": token.last_used_at,
        "expires_at": token.expires_at,
    }


def _build_mandate_view(entry: MandateEntry) -> Mapping[str, Any]:
    return {
        "id": entry.id,
        "title": entry.title,
        "purpose": entry.purpose,
        "tools": Markup(", ").join(isolate_name(tool) for tool in entry.tools),
        "client": entry.client,
        "created_at": entry.created_at,
        "waits": entry.consented_at is None,
        "last_used_at": entry.last_used_at,
        "expires_at": entry.expires_at,
    }


def _parse_id(fields: Mapping[str, str]) -> UUID:
    try:
        return UUID(fields.get("id", ""))
    except ValueError:
        raise NotFound("there is nothing of that id") from None


def _redirect_to_sign_in(more: str = "") -> Response:
    return RedirectResponse(f"/sign-in?next={quote(ACCOUNT_PATH, safe='')}{more}", 303)
