"""A person signs in to an MCPist with their browser: authorization code, PKCE, loopback redirect (RFC 8252, 9207)."""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from broker.authorization_server.authorization_codes import compute_code_challenge
from broker.authorization_server.client_registry import CLI_CLIENT
from cli.client.api_errors import NotSignedIn
from cli.client.browser import format_duration, listen_for_callback, open_browser
from cli.client.server_http import ServerHttp
from cli.client.server_metadata import ServerEndpoints
from cli.output import print_note
from core.errors import Forbidden, Unavailable
from core.scopes import format_scopes
from core.secret import Secret

SIGN_IN_TIMEOUT_SECONDS = 300
"""How long a person may take."""
MAX_ERROR_LENGTH = 200


@dataclass(frozen=True, slots=True)
class LoginTokens:
    """What the token endpoint gives."""

    access: Secret
    refresh: Secret
    expires_at: datetime
    scopes: str


@dataclass(frozen=True, slots=True)
class SignInOptions:
    """How a person shall sign in: with the browser's present session, or if `max_age` is given only with one that is no
    older than that, in seconds. The browser is opened, or its link only printed. `reason` tells the person why they are
    asked, where they have not asked for it themselves.
    """

    max_age: int | None = None
    open_browser: bool = True
    seconds: int = SIGN_IN_TIMEOUT_SECONDS
    reason: str = ""


def run_browser_sign_in(http: ServerHttp, endpoints: ServerEndpoints, options: SignInOptions) -> LoginTokens:
    """Send a person to the authorization server and return the tokens.

    Raises:
        Forbidden: they did not agree, or the answer came from another server.
        Unavailable: the sign-in took too long, or the server is unavailable.
    """
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
    with listen_for_callback(state) as callback:
        url = _build_authorization_url(endpoints, options, state, verifier, callback.redirect_uri)
        _show_link(url, options)
        code = _parse_code(endpoints, callback.wait_for_parameters(options.seconds))
        form = {
            "grant_type": "authorization_code",
            "client_id": CLI_CLIENT.id,
            "code": code,
            "redirect_uri": callback.redirect_uri,
            "code_verifier": verifier,
            "resource": endpoints.resource,
        }
        return _request_tokens(http, endpoints, form)


def refresh_tokens(http: ServerHttp, endpoints: ServerEndpoints, refresh: Secret) -> LoginTokens:
    """Exchange a refresh token for the next tokens.

    Raises:
        NotSignedIn: the refresh token is no longer valid.
        Unavailable: the server is away.
    """
    form = {"grant_type": "refresh_token", "client_id": CLI_CLIENT.id, "refresh_token": refresh.reveal()}
    return _request_tokens(http, endpoints, form)


def revoke_refresh_token(http: ServerHttp, endpoints: ServerEndpoints, refresh: Secret) -> bool:
    """Give the access back: all its tokens end. False where the server refuses."""
    form = {"client_id": CLI_CLIENT.id, "token": refresh.reveal()}
    return http.send("POST", endpoints.revoke, form=form).status == 200


def _build_authorization_url(
    endpoints: ServerEndpoints, options: SignInOptions, state: str, verifier: str, redirect_uri: str
) -> str:
    parameters = {
        "response_type": "code",
        "client_id": CLI_CLIENT.id,
        "redirect_uri": redirect_uri,
        "scope": format_scopes(CLI_CLIENT.scopes),
        "resource": endpoints.resource,
        "state": state,
        "code_challenge": compute_code_challenge(verifier),
        "code_challenge_method": "S256",
        "prompt": "consent",
        **({} if options.max_age is None else {"max_age": str(options.max_age)}),
    }
    return f"{endpoints.authorize}?{urlencode(parameters, quote_via=quote)}"


def _show_link(url: str, options: SignInOptions) -> None:
    if options.reason:
        print_note(options.reason)
    is_opened = options.open_browser and open_browser(url)
    how = "in the browser that opens; if none does, open this link on this machine" if is_opened else "with this link"
    print_note(f"Sign in {how}:")
    print_note(url)
    print_note(f"Waiting for your sign-in, at most {format_duration(options.seconds)}; Ctrl-C stops it.")


def _parse_code(endpoints: ServerEndpoints, parameters: Mapping[str, str]) -> str:
    """Parse the authorization code of an answer whose state was checked; a wrong `iss` is another server's (RFC
    9207)."""
    if not hmac.compare_digest(parameters.get("iss", "").encode(), endpoints.issuer.encode()):
        raise Forbidden(
            f"the answer came from another authorization server than {endpoints.issuer}, and was not used; "
            "if you opened no other link meanwhile, this may have been an attack"
        )
    if "error" in parameters:
        if parameters["error"] == "access_denied":
            raise Forbidden("you did not agree, so nothing was changed")
        description = parameters.get("error_description") or parameters["error"]
        raise Forbidden(f"the sign-in was refused: {description[:MAX_ERROR_LENGTH]}")
    if not parameters.get("code"):
        raise Unavailable("the answer of the authorization server has no code; begin again with `mcpist login`")
    return parameters["code"]


def _request_tokens(http: ServerHttp, endpoints: ServerEndpoints, form: Mapping[str, str]) -> LoginTokens:
    now = datetime.now(UTC)
    response = http.send("POST", endpoints.token, form=form)
    body = response.json()
    if response.status == 200:
        return _parse_tokens(body, now)
    if response.status in (400, 401) and body.get("error") in ("invalid_grant", "invalid_client"):
        raise NotSignedIn(f"the access to {endpoints.issuer} has ended: `mcpist login {endpoints.issuer}` begins anew")
    description = str(body.get("error_description") or body.get("detail") or body.get("error") or response.status)
    raise Unavailable(f"{endpoints.issuer} gives no token: {description[:MAX_ERROR_LENGTH]}")


def _parse_tokens(body: Mapping[str, Any], now: datetime) -> LoginTokens:
    try:
        access, refresh = Secret(str(body["access_token"])), Secret(str(body["refresh_token"]))
        ends = now + timedelta(seconds=min(int(body["expires_in"]), 86_400))
        return LoginTokens(access, refresh, ends, str(body.get("scope", "")))
    except (KeyError, TypeError, ValueError):
        raise Unavailable("the token endpoint does not answer as MCPist's does") from None
