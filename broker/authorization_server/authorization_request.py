"""Authorization requests: what a client asks a person for, checked before anybody is shown anything (RFC 6749 §4.1.1).

Until client and redirect URI are known to belong together, no answer leaves this server: whoever made up the link would
get it. From then on every answer, refusals too, goes to the client, with `state` as it came and `iss` (RFC 9207).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, Protocol
from urllib.parse import quote, urlencode

from broker.authorization_server.authorization_codes import is_challenge
from broker.authorization_server.client_document_reports import UnusableCause, UnusableClientDocument
from broker.authorization_server.client_registry import AUTHORIZATION_CODE, Client
from broker.authorization_server.consents import parse_scope_parameter, restrict_to_client, restrict_to_role
from broker.authorization_server.errors import OAuthError
from broker.authorization_server.redirect_uris import is_redirect_allowed
from core.protected_resource import is_resource_form
from core.scopes import format_scopes

MAX_STATE_LENGTH = 2_000
MAX_CLIENT_ID_LENGTH = 2_000
MAX_REQUEST_LENGTH = 7_900
"""Of the whole request as it is carried through the sign-in, written out in characters of a URL."""
SIGNED_IN_SINCE = "signed_in_since"
"""Ours, in seconds since 1970: a request that has been to the sign-in and comes back must not send there again. Who
writes it into a request of their own could as well leave `prompt` and `max_age` out of it."""
MAX_AUTHENTICATION_AGE = 10 * 365 * 86_400
_SECONDS = re.compile(r"[0-9]{1,12}")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)(.*)", re.DOTALL)


UntrustedReason = Literal[
    "unknown_client",
    "redirect_uri",
    "no_redirect_uri",
    "client_request",
    "client_document_off",
    "client_document_away",
    "client_document_wrong",
]
# Refused and unreachable are one: whether a name leads into our own network is not for strangers to find out.
_UNUSABLE: Mapping[UnusableCause, tuple[UntrustedReason, int]] = {
    "form": ("unknown_client", 400),
    "off": ("client_document_off", 400),
    "host": ("client_document_off", 400),
    "refused": ("client_document_away", 503),
    "unreachable": ("client_document_away", 503),
    "wrong": ("client_document_wrong", 400),
}


class UntrustedRedirect(Exception):
    """Error that is shown to the person only, because the redirect URI cannot be trusted.

    `key` is the name of a message (``problem.<key>.…`` of broker/web/locales), `words` fill its placeholders.
    """

    def __init__(self, key: UntrustedReason, status: int = 400, **words: str) -> None:
        super().__init__(key)
        self.key: UntrustedReason = key
        self.status = status
        self.words = words


class ClientLookup(Protocol):
    """Find clients; raises as :meth:`broker.authorization_server.client_registry.ClientRegistry.find` does."""

    async def find(self, client_id: str) -> Client | None: ...


@dataclass(frozen=True, slots=True)
class RedirectTarget:
    """Redirect URI that the response of an authorization request is sent to."""

    client: Client
    redirect_uri: str
    state: str | None

    def build_response_url(self, issuer: str, parameters: Mapping[str, str]) -> str:
        """Build the URL that returns `parameters` to the client."""
        query = {**parameters, **({} if self.state is None else {"state": self.state}), "iss": issuer}
        separator = "" if self.redirect_uri.endswith(("?", "&")) else "&" if "?" in self.redirect_uri else "?"
        return self.redirect_uri + separator + urlencode(query, quote_via=quote)

    def build_error_url(self, issuer: str, error: OAuthError) -> str:
        """Build the URL that returns an error to the client."""
        return self.build_response_url(issuer, error.as_json())


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A request that may be put before a person. `scopes` are those that the client may have; `prompt` is what OpenID
    Connect Core §3.1.2.1 calls so: "none" never asks, "consent" always does. Who signed in before `signed_in_since` has
    to sign in again: that is what became of its `max_age` and of "login".
    """

    target: RedirectTarget
    scopes: frozenset[str]
    resource: str
    challenge: str
    prompt: Literal["", "none", "consent"]
    signed_in_since: datetime | None = None

    @property
    def client(self) -> Client:
        return self.target.client

    def build_query(self) -> str:
        """The request as a query of our own making: the same for the same request, and nothing that was not checked."""
        parameters = {
            "response_type": "code",
            "client_id": self.client.id,
            "redirect_uri": self.target.redirect_uri,
            "scope": format_scopes(self.scopes),
            "resource": self.resource,
            "code_challenge": self.challenge,
            "code_challenge_method": "S256",
        }
        if self.target.state is not None:
            parameters["state"] = self.target.state
        if self.prompt:
            parameters["prompt"] = self.prompt
        if self.signed_in_since is not None:
            parameters[SIGNED_IN_SINCE] = str(int(self.signed_in_since.timestamp()))
        return urlencode(parameters, quote_via=quote)

    def accepts_sign_in_at(self, authenticated_at: datetime) -> bool:
        """Check whether a sign-in at the given time satisfies the request (`max_age`, `prompt`)."""
        return self.signed_in_since is None or authenticated_at >= self.signed_in_since

    def narrow_to_role(self, system_role: str) -> "AuthorizationRequest":
        """Return the request with the scopes that a user of that role may grant.

        Raises:
            OAuthError: invalid_scope.
        """
        return replace(self, scopes=restrict_to_role(self.scopes, system_role))


class AuthorizationRequestParser:
    """Reads authorization requests. `resource` is the only one that there are tokens for."""

    def __init__(self, clients: ClientLookup, resource: str) -> None:
        self._clients = clients
        self._resource = resource

    async def resolve_target(self, parameters: Mapping[str, str]) -> RedirectTarget:
        """Resolve the client and the redirect URI that the response may be sent to.

        Raises:
            UntrustedRedirect: nowhere.
            core.errors.LimitReached: too many documents of clients were asked for lately.
        """
        present = drop_empty_parameters(parameters)
        client_id, redirect_uri = present.get("client_id", ""), present.get("redirect_uri", "")
        client = await self._find_client(client_id) if 0 < len(client_id) <= MAX_CLIENT_ID_LENGTH else None
        if client is None:
            raise UntrustedRedirect("unknown_client")
        if not redirect_uri:
            raise UntrustedRedirect("no_redirect_uri")
        if not is_redirect_allowed(client.redirect_uris, redirect_uri):
            raise UntrustedRedirect("redirect_uri", uri=redirect_uri)
        state = present.get("state")
        if state is not None and len(state) > MAX_STATE_LENGTH:
            raise UntrustedRedirect("client_request", detail=f"state is longer than {MAX_STATE_LENGTH} characters")
        return RedirectTarget(client, redirect_uri, state)

    async def _find_client(self, client_id: str) -> Client | None:
        try:
            return await self._clients.find(client_id)
        except UnusableClientDocument as unusable:
            key, status = _UNUSABLE[unusable.cause]
            raise UntrustedRedirect(key, status, host=unusable.host) from None

    def parse_request(
        self, target: RedirectTarget, parameters: Mapping[str, str], now: datetime
    ) -> AuthorizationRequest:
        """Parse and check the rest of the request; `now` is the time of the request.

        Raises:
            OAuthError: for the client to read.
        """
        present = drop_empty_parameters(parameters)
        _check_response_type(present)
        if AUTHORIZATION_CODE not in target.client.grant_types:
            raise OAuthError("unauthorized_client", "this client is not registered for authorization_code")
        challenge = _parse_challenge(present)
        resource = validate_resource(present.get("resource"), self._resource)
        scopes = restrict_to_client(parse_scope_parameter(present.get("scope")), target.client.scopes)
        prompt = present.get("prompt", "").split(" ", 3)
        since = _parse_signed_in_since(present, prompt, now)
        request = AuthorizationRequest(target, scopes, resource, challenge, _parse_prompt(prompt), since)
        if len(request.build_query()) > MAX_REQUEST_LENGTH:
            raise OAuthError("invalid_request", f"the request is longer than {MAX_REQUEST_LENGTH} characters")
        return request


def drop_empty_parameters(parameters: Mapping[str, str]) -> Mapping[str, str]:
    """The parameters without those that are empty, which count as left out (RFC 6749 §3.1)."""
    return {name: value for name, value in parameters.items() if value}


def validate_resource(requested: str | None, expected: str) -> str:
    """Our resource, if a client names that or another form of it, or if it names none (RFC 8707 §2).

    Scheme and host may be written in any case (RFC 3986 §6.2.2.1); everything else is compared as it is.

    Raises:
        OAuthError: invalid_target.
    """
    if not requested:
        return expected
    match = _URL.fullmatch(requested)
    named = f"{match[1].lower()}://{match[2].lower()}{match[3]}" if match else ""
    if named != expected and not (named.startswith(expected) and is_resource_form(named.removeprefix(expected))):
        raise OAuthError("invalid_target", f"resource must be {expected}")
    return expected


def _check_response_type(parameters: Mapping[str, str]) -> None:
    for name in ("request", "request_uri"):
        if name in parameters:  # RFC 9101; unsigned parameters beside it must not count in its place
            raise OAuthError(f"{name}_not_supported", "send the parameters in the query")
    if "response_type" not in parameters:
        raise OAuthError("invalid_request", "response_type is missing")
    if parameters["response_type"] != "code":
        raise OAuthError("unsupported_response_type", "response_type must be code")
    if parameters.get("response_mode", "query") != "query":
        raise OAuthError("invalid_request", "response_mode must be query")


def _parse_challenge(parameters: Mapping[str, str]) -> str:
    challenge = parameters.get("code_challenge", "")
    if not challenge:
        raise OAuthError("invalid_request", "code_challenge is missing: PKCE is required (RFC 7636)")
    if parameters.get("code_challenge_method") != "S256":
        raise OAuthError("invalid_request", "code_challenge_method must be S256")
    if not is_challenge(challenge):
        raise OAuthError("invalid_request", "code_challenge must be 43 characters of base64url (S256)")
    return challenge


def _parse_prompt(words: list[str]) -> Literal["", "none", "consent"]:
    if "none" in words:
        if len(words) > 1:
            raise OAuthError("invalid_request", "prompt=none must not be combined with other values")
        return "none"
    return "consent" if "consent" in words else ""


def _parse_signed_in_since(parameters: Mapping[str, str], prompt: list[str], now: datetime) -> datetime | None:
    """Return the latest time that the parameters require."""
    seconds = [_parse_seconds(parameters, SIGNED_IN_SINCE)] if SIGNED_IN_SINCE in parameters else []
    if "max_age" in parameters:
        seconds.append(int(now.timestamp()) - min(_parse_seconds(parameters, "max_age"), MAX_AUTHENTICATION_AGE))
    if "login" in prompt:
        seconds.append(int(now.timestamp()))
    return datetime.fromtimestamp(min(max(seconds), int(now.timestamp())), UTC) if seconds else None


def _parse_seconds(parameters: Mapping[str, str], name: str) -> int:
    if not _SECONDS.fullmatch(parameters[name]):
        raise OAuthError("invalid_request", f"{name} must be a whole number of seconds")
    return int(parameters[name])
