"""Requests to a vendor's OAuth endpoints, built from provider data and an OAuth client. They contain secrets."""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from urllib.parse import parse_qsl, quote_plus, urlencode, urlsplit, urlunsplit

import orjson

from broker.oauth_client.client_assertion import PRIVATE_KEY_JWT, build_client_assertion
from broker.oauth_client.types import OAuthClientConfig
from broker.oauth_client.vendor_http import VendorRequest
from broker.oauth_client.vendor_scopes import join_scopes
from broker.providers.schema import BodyForm, OAuthServer, Provider
from broker.providers.templates import fill_parameters, fill_template, fill_url, resolve_settings
from core.errors import Invalid
from core.secret import Secret

_AUTH_METHODS = ("basic", "basic_raw", "post", PRIVATE_KEY_JWT, "none", "nothing")


def build_code_request(
    provider: Provider,
    client: OAuthClientConfig,
    code: Secret,
    redirect_uri: str,
    verifier: Secret | None,
    *,
    now: datetime,
) -> VendorRequest:
    """Build the request that exchanges a code; `verifier` is left out where the provider has no PKCE. `now` dates what
    is signed.

    Raises:
        Invalid: a setting of the client is missing or wrong.
    """
    oauth, values = _require_oauth(provider), resolve_settings(provider, client.settings)
    form = {"grant_type": "authorization_code", "code": code.reveal(), "redirect_uri": redirect_uri}
    if verifier is not None and oauth.pkce != "none":
        form["code_verifier"] = verifier.reveal()
    return _build_token_request(oauth, client, values, {**fill_parameters(oauth.code_params, values), **form}, now)


def build_refresh_request(
    provider: Provider, client: OAuthClientConfig, refresh: Secret, *, now: datetime
) -> VendorRequest:
    """Build the request that presents a refresh token. `now` dates what is signed.

    Raises:
        Invalid: a setting of the client is missing or wrong.
    """
    oauth, values = _require_oauth(provider), resolve_settings(provider, client.settings)
    form = {"grant_type": "refresh_token", "refresh_token": refresh.reveal()}
    return _build_token_request(oauth, client, values, {**fill_parameters(oauth.refresh_params, values), **form}, now)


def build_revocation_request(
    provider: Provider, client: OAuthClientConfig, *, access: Secret, refresh: Secret | None, now: datetime
) -> VendorRequest | None:
    """Build the request that revokes a grant; None where the provider has no endpoint for it. `now` dates what is
    signed.

    Raises:
        Invalid: a setting of the client is missing or wrong.
    """
    oauth, values = _require_oauth(provider), resolve_settings(provider, client.settings)
    revoke = oauth.revoke
    url = fill_url(revoke.url, values, client_id=client.client_id) if revoke else ""
    if revoke is None or not url:
        return None
    token, kind = (refresh, "refresh_token") if revoke.sends == "refresh" and refresh else (access, "access_token")
    fields = {revoke.field: token.reveal()}
    if revoke.hint:
        fields["token_type_hint"] = kind
    auth = revoke.auth or client.auth_method or oauth.client_auth
    proof = _authenticate_client(client, auth, fill_url(oauth.token_url, values), now)
    return _build_request(url, proof, revoke.body, fields, oauth.token_headers, method=revoke.method)


def _require_oauth(provider: Provider) -> OAuthServer:
    if provider.oauth is None:
        raise Invalid(f"provider {provider.id} supports keys only, not OAuth")
    return provider.oauth


def _build_token_request(
    oauth: OAuthServer, client: OAuthClientConfig, values: Mapping[str, str], fields: dict[str, str], now: datetime
) -> VendorRequest:
    url = fill_url(oauth.token_url, values)
    proof = _authenticate_client(client, client.auth_method or oauth.client_auth, url, now)
    return _build_request(url, proof, oauth.body, fields, oauth.token_headers)


_ClientProof = tuple[dict[str, str], dict[str, str]]
"""Headers and form fields by which the client proves itself."""


def _build_request(
    url: str,
    proof: _ClientProof,
    form: BodyForm,
    fields: dict[str, str],
    more_headers: Mapping[str, str],
    *,
    method: str = "POST",
) -> VendorRequest:
    headers, own = proof
    content_type, body = _encode_body(form, {**fields, **own})
    headers = {**headers, **more_headers, "Content-Type": content_type}
    return VendorRequest("DELETE" if method == "DELETE" else "POST", url, headers, body)


def _authenticate_client(client: OAuthClientConfig, auth: str, token_url: str, now: datetime) -> _ClientProof:
    """Authenticate a request (RFC 6749 §2.3.1, RFC 7523 §2.2)."""
    if auth not in _AUTH_METHODS:
        raise Invalid(f"the client authentication method must be one of {', '.join(_AUTH_METHODS[:-1])}")
    if auth == "nothing":
        return {}, {}
    if auth == "none":
        return {}, {"client_id": client.client_id}
    if client.secret is None:
        raise Invalid("the OAuth client has no secret")
    if auth == PRIVATE_KEY_JWT:
        return {}, build_client_assertion(client.client_id, client.secret, token_url, now)
    user, password = client.client_id, client.secret.reveal()
    if "\n" in password:  # a private key, stored when the client proved itself by one: it is never sent anywhere
        raise Invalid("what is stored is a private key, and this way to authenticate needs a secret")
    if auth == "post":
        return {}, {"client_id": user, "client_secret": password}
    if auth == "basic":
        user, password = quote_plus(user), quote_plus(password)
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}, {}


def _encode_body(form: BodyForm, fields: Mapping[str, str]) -> tuple[str, bytes]:
    if form == "json":
        return "application/json", orjson.dumps(fields)
    return "application/x-www-form-urlencoded", urlencode(fields).encode()


def build_authorize_url(
    provider: Provider,
    client: OAuthClientConfig,
    *,
    redirect_uri: str,
    state: str,
    scopes: Iterable[str],
    verifier: Secret | None,
    login_hint: str = "",
) -> str:
    """Build the authorization URL with all its parameters.

    `scopes` are those of :func:`broker.oauth_client.vendor_scopes.collect_scopes_to_request`.

    Raises:
        Invalid: a setting of the client is missing or wrong, or the provider has no OAuth server.
    """
    oauth = provider.oauth
    if oauth is None:
        raise Invalid(f"provider {provider.id} supports keys only, not OAuth")
    values = resolve_settings(provider, client.settings)
    parts = urlsplit(fill_url(oauth.authorize_url, values))
    query = dict(parse_qsl(parts.query, keep_blank_values=True)) | fill_parameters(oauth.authorize_params, values)
    query |= {"response_type": "code", "client_id": client.client_id, "redirect_uri": redirect_uri, "state": state}
    if scope := join_scopes(oauth, scopes):
        query["scope"] = scope
    if verifier is not None and oauth.pkce == "S256":
        query |= {"code_challenge": compute_code_challenge(verifier), "code_challenge_method": "S256"}
    if login_hint:
        query["login_hint"] = login_hint
    return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(query), ""))


def build_install_url(provider: Provider, client: OAuthClientConfig, *, state: str) -> str:
    """Build the URL of the page that installs the vendor's app and authorizes it in one step.

    Raises:
        Invalid: a setting of the client is missing or wrong, or there is no such page.
    """
    values = resolve_settings(provider, client.settings)
    url = fill_url(provider.oauth.install_url or "", values) if provider.oauth else ""
    if not url:
        raise Invalid(f"provider {provider.id} has no page that installs its app")
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True)) | {"state": state}
    return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(query), ""))


def get_expected_issuer(provider: Provider, client: OAuthClientConfig) -> str:
    """Return the required ``iss`` of an authorization response (RFC 9207); "" if it is unknown.

    Raises:
        Invalid: a setting of the client is missing or wrong.
    """
    return fill_template(provider.oauth.issuer, resolve_settings(provider, client.settings)) if provider.oauth else ""


def compute_code_challenge(verifier: Secret) -> str:
    """Compute the S256 challenge of a verifier (RFC 7636 §4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.reveal().encode()).digest()).decode().rstrip("=")
