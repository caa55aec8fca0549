"""The routes of one's own account: sessions, applications, API tokens, accounts at identity providers; each only one's
own."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from broker.identity.api_tokens import ApiToken, ApiTokens
from broker.identity.front_door import FrontDoor
from broker.identity.identities import Identity
from broker.identity.sessions import SessionEntry
from broker.identity.sign_in_outcomes import SignInRefused
from broker.oauth.grant_records import GrantEntry
from broker.oauth.grants import Grants
from broker.web.browsers import browser_name
from broker.web.parts import WebParts
from broker.web.problems import Problem
from broker.web.requests import form, query
from broker.web.sign_in import FLOW_SECONDS, browser_of, session_of
from core.errors import NotFound

PATH = "/account"
DONE = frozenset({"session_ended", "grant_revoked", "token_revoked", "account_tied", "account_untied"})
_TOKEN_ID = re.compile(r"[0-9A-Za-z]{12}")


def routes(parts: WebParts, door: FrontDoor, tokens: ApiTokens, grants: Grants | None) -> list[Route]:
    """What :func:`broker.web.app.identity_app` gets; no `grants` where another server makes access tokens."""
    pages = AccountPages(parts, door, tokens, grants)
    return [
        Route("/account", pages.show, methods=["GET"]),
        Route("/account/sessions/end", pages.end_session, methods=["POST"]),
        Route("/account/sessions/end-all", pages.end_all_sessions, methods=["POST"]),
        Route("/account/grants/end", pages.end_grant, methods=["POST"]),
        Route("/account/tokens/end", pages.end_token, methods=["POST"]),
        Route("/account/identities/tie", pages.tie, methods=["POST"]),
        Route("/account/identities/untie", pages.untie, methods=["POST"]),
    ]


class AccountPages:
    """The handlers. Nobody without a session gets to any of them."""

    def __init__(self, parts: WebParts, door: FrontDoor, tokens: ApiTokens, grants: Grants | None) -> None:
        self._parts = parts
        self._door = door
        self._tokens = tokens
        self._grants = grants

    async def show(self, request: Request) -> Response:
        session = await session_of(self._parts, self._door, request)
        if session is None:
            return _sign_in_first()
        done = query(request).get("done", "")
        whose = (session.tenant_id, session.user_id)
        sessions = [_shown_session(one, session.id) for one in await self._door.sessions.list(*whose)]
        identities = [self._shown_identity(one) for one in await self._door.identities.list(*whose)]
        grants = await self._grants.list_of_user(*whose) if self._grants else []
        return self._parts.pages.render(
            request,
            "account.html",
            email=session.email,
            tenant=session.tenant_name,
            done=done if done in DONE else "",
            sessions=sessions,
            identities=identities,
            grants=[_shown_grant(one) for one in grants],
            tokens=[_shown_token(one) for one in await self._tokens.live(*whose)],
            providers=self._door.sign_in.providers,
        )

    async def end_session(self, request: Request) -> Response:
        session = await session_of(self._parts, self._door, request)
        if session is None:
            return _sign_in_first()
        session_id = _id(await form(request))
        await self._door.sessions.end(session.actor, session.tenant_id, session_id, user_id=session.user_id)
        return RedirectResponse(f"{PATH}?done=session_ended", 303)

    async def end_all_sessions(self, request: Request) -> Response:
        """This browser's too: whoever is not sure who else is signed in begins anew."""
        session = await session_of(self._parts, self._door, request)
        if session is None:
            return _sign_in_first()
        await self._door.sessions.end_all(session.actor, session.tenant_id, session.user_id)
        response = RedirectResponse("/signed-out", 303)
        self._parts.cookies.drop(response, "session")
        return response

    async def end_grant(self, request: Request) -> Response:
        session = await session_of(self._parts, self._door, request)
        if session is None:
            return _sign_in_first()
        grant_id = _id(await form(request))
        if self._grants is None:
            raise NotFound("another server gives access to clients here")
        await self._grants.revoke(session.actor, session.tenant_id, grant_id, "user", user_id=session.user_id)
        return RedirectResponse(f"{PATH}?done=grant_revoked", 303)

    async def end_token(self, request: Request) -> Response:
        session = await session_of(self._parts, self._door, request)
        if session is None:
            return _sign_in_first()
        token_id = (await form(request)).get("id", "")
        if not _TOKEN_ID.fullmatch(token_id):
            raise NotFound("there is nothing of that id")
        await self._tokens.revoke(session.actor, session.tenant_id, token_id, user_id=session.user_id)
        return RedirectResponse(f"{PATH}?done=token_revoked", 303)

    async def tie(self, request: Request) -> Response:
        """One more account for the person themselves: whoever borrows their open browser has no recent sign-in."""
        session = await session_of(self._parts, self._door, request)
        if session is None:
            return _sign_in_first()
        if not session.is_fresh(self._parts.clock()):
            return _sign_in_first("&notice=recent")
        provider = (await form(request)).get("provider", "")
        try:
            started = await self._door.sign_in.start(provider, PATH, browser_of(self._parts, request), session=session)
        except SignInRefused as refused:
            raise Problem(refused.key, 503, provider=refused.provider) from None
        response = self._parts.pages.go_on(request, started.url)
        self._parts.cookies.set(response, "flow", started.binding, FLOW_SECONDS)
        return response

    async def untie(self, request: Request) -> Response:
        """One account less, as long as there is another: it takes a recent sign-in as one more does."""
        session = await session_of(self._parts, self._door, request)
        if session is None:
            return _sign_in_first()
        if not session.is_fresh(self._parts.clock()):
            return _sign_in_first("&notice=recent")
        identity_id = _id(await form(request))
        await self._door.identities.untie(session.actor, session.tenant_id, identity_id, user_id=session.user_id)
        return RedirectResponse(f"{PATH}?done=account_untied", 303)

    def _shown_identity(self, identity: Identity) -> Mapping[str, Any]:
        provider = next(
            (one.label for one in self._parts.identity.providers if identity.issuer in (one.issuer, one.base_url)),
            urlsplit(identity.issuer).hostname or identity.issuer,
        )
        return {
            "id": identity.id,
            "provider": provider,
            "email": identity.email,
            "last_sign_in_at": identity.last_sign_in_at,
        }


def _shown_session(entry: SessionEntry, current: UUID) -> Mapping[str, Any]:
    return {
        "id": entry.id,
        "current": entry.id == current,
        "browser": browser_name(entry.user_agent),
        "address": entry.address,
        "method": entry.method,
        "created_at": entry.created_at,
        "last_seen_at": entry.last_seen_at,
    }


def _shown_grant(entry: GrantEntry) -> Mapping[str, Any]:
    return {
        "id": entry.id,
        "client": entry.client_name or entry.client_id,
        "scopes": entry.scopes,
        "created_at": entry.created_at,
        "last_used_at": entry.last_used_at,
    }


def _shown_token(token: ApiToken) -> Mapping[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "scopes": sorted(token.scopes),
        "read_only": token.read_only,
        "created_at": token.created_at,
        "last_used_at": token.last_used_at,
        "expires_at": token.expires_at,
    }


def _id(fields: Mapping[str, str]) -> UUID:
    try:
        return UUID(fields.get("id", ""))
    except ValueError:
        raise NotFound("there is nothing of that id") from None


def _sign_in_first(more: str = "") -> Response:
    return RedirectResponse(f"/sign-in?next={quote(PATH, safe='')}{more}", 303)
