"""A person signs in to an MCPist with their browser: authorization code, PKCE, loopback redirect (RFC 8252, 9207)."""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from broker.oauth.codes import challenge_of
from broker.oauth.own_clients import COMMAND_LINE
from core.errors import Forbidden, Unavailable
from core.scopes import shown
from core.secret import Secret
from gateway.cli.output import note
from gateway.cli.remote.browser import open_browser
from gateway.cli.remote.callback import callback, lasting
from gateway.cli.remote.discovery import Endpoints
from gateway.cli.remote.http import Http
from gateway.cli.remote.problems import NotSignedIn

SECONDS = 300
"""How long a person may take."""
MOST_ERROR = 200


@dataclass(frozen=True, slots=True)
class Tokens:
    """What the token endpoint gives."""

    access: Secret
    refresh: Secret
    expires_at: datetime
    scopes: str


@dataclass(frozen=True, slots=True)
class Wish:
    """How a person shall sign in: with the browser's present session, or if `max_age` is given only with one that is no
    older than that, in seconds. The browser is opened, or its link only printed. `reason` tells the person why they are
    asked, where they have not asked for it themselves.
    """

    max_age: int | None = None
    open_browser: bool = True
    seconds: int = SECONDS
    reason: str = ""


def signed_in(http: Http, endpoints: Endpoints, wish: Wish) -> Tokens:
    """Send a person to the authorization server, and wait for their tokens.

    Raises:
        Forbidden: they did not agree, or the answer came from another server.
        Unavailable: nobody came in time, or the server is away.
    """
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
    with callback(state) as waiting:
        url = _link(endpoints, wish, state, verifier, waiting.redirect_uri)
        _lead(url, wish)
        code = _code(endpoints, waiting.wait(wish.seconds))
        form = {
            "grant_type": "authorization_code",
            "client_id": COMMAND_LINE.id,
            "code": code,
            "redirect_uri": waiting.redirect_uri,
            "code_verifier": verifier,
            "resource": endpoints.resource,
        }
        return _asked(http, endpoints, form)


def refreshed(http: Http, endpoints: Endpoints, refresh: Secret) -> Tokens:
    """The next tokens.

    Raises:
        NotSignedIn: the refresh token counts no more.
        Unavailable: the server is away.
    """
    form = {"grant_type": "refresh_token", "client_id": COMMAND_LINE.id, "refresh_token": refresh.reveal()}
    return _asked(http, endpoints, form)


def revoked(http: Http, endpoints: Endpoints, refresh: Secret) -> bool:
    """Give the access back: all its tokens end. False where the server refuses."""
    form = {"client_id": COMMAND_LINE.id, "token": refresh.reveal()}
    return http.send("POST", endpoints.revoke, form=form).status == 200


def _link(endpoints: Endpoints, wish: Wish, state: str, verifier: str, redirect_uri: str) -> str:
    asked = {
        "response_type": "code",
        "client_id": COMMAND_LINE.id,
        "redirect_uri": redirect_uri,
        "scope": shown(COMMAND_LINE.scopes),
        "resource": endpoints.resource,
        "state": state,
        "code_challenge": challenge_of(verifier),
        "code_challenge_method": "S256",
        "prompt": "consent",
        **({} if wish.max_age is None else {"max_age": str(wish.max_age)}),
    }
    return f"{endpoints.authorize}?{urlencode(asked, quote_via=quote)}"


def _lead(url: str, wish: Wish) -> None:
    if wish.reason:
        note(wish.reason)
    opened = wish.open_browser and open_browser(url)
    where = "in the browser that opens; if none does, open this link on this machine" if opened else "with this link"
    note(f"Sign in {where}:")
    note(url)
    note(f"Waiting for your sign-in, at most {lasting(wish.seconds)}; Ctrl-C stops it.")


def _code(endpoints: Endpoints, answer: Mapping[str, str]) -> str:
    """The code of an answer whose state is right already; whose `iss` is wrong, another server has given (RFC 9207)."""
    if not hmac.compare_digest(answer.get("iss", "").encode(), endpoints.issuer.encode()):
        raise Forbidden(
            f"the answer came from another authorization server than {endpoints.issuer}, and was not used; "
            "if you did not open other links meanwhile, somebody may have tried to deceive you"
        )
    if "error" in answer:
        if answer["error"] == "access_denied":
            raise Forbidden("you did not agree, so nothing was changed")
        told = answer.get("error_description") or answer["error"]
        raise Forbidden(f"the sign-in was refused: {told[:MOST_ERROR]}")
    if not answer.get("code"):
        raise Unavailable("the answer of the authorization server has no code; begin again with `mcpist login`")
    return answer["code"]


def _asked(http: Http, endpoints: Endpoints, form: Mapping[str, str]) -> Tokens:
    now = datetime.now(UTC)
    answer = http.send("POST", endpoints.token, form=form)
    said = answer.json()
    if answer.status == 200:
        return _tokens(said, now)
    if answer.status in (400, 401) and said.get("error") in ("invalid_grant", "invalid_client"):
        raise NotSignedIn(f"the access to {endpoints.issuer} has ended: `mcpist login {endpoints.issuer}` begins anew")
    told = str(said.get("error_description") or said.get("detail") or said.get("error") or answer.status)
    raise Unavailable(f"{endpoints.issuer} gives no token: {told[:MOST_ERROR]}")


def _tokens(said: Mapping[str, Any], now: datetime) -> Tokens:
    try:
        access, refresh = Secret(str(said["access_token"])), Secret(str(said["refresh_token"]))
        ends = now + timedelta(seconds=min(int(said["expires_in"]), 86_400))
        return Tokens(access, refresh, ends, str(said.get("scope", "")))
    except (KeyError, TypeError, ValueError):
        raise Unavailable("the token endpoint does not answer as MCPist's does") from None
