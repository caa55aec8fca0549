"""Requests to a vendor's OAuth endpoints, built from provider data and an OAuth client. They contain secrets."""

import base64
from collections.abc import Mapping
from urllib.parse import quote_plus, urlencode

import orjson

from broker.oauth_client.types import OAuthClientConfig
from broker.oauth_client.vendor_http import VendorRequest
from broker.providers.schema import BodyForm, OAuthServer, Provider
from broker.providers.templates import fill_parameters, fill_url, resolve_settings
from core.errors import Invalid
from core.secret import Secret

_AUTH_METHODS = ("basic", "basic_raw", "post", "none", "nothing")


def build_code_request(
    provider: Provider, client: OAuthClientConfig, code: Secret, redirect_uri: str, verifier: Secret | None
) -> VendorRequest:
    """Build the request that exchanges a code; `verifier` is left out where the provider has no PKCE.

    Raises:
        Invalid: a setting of the client is missing or wrong.
    """
    oauth, values = _require_oauth(provider), resolve_settings(provider, client.settings)
    asked = {"grant_type": "authorization_code", "code": code.reveal(), "redirect_uri": redirect_uri}
    if verifier is not None and oauth.pkce != "none":
        asked["code_verifier"] = verifier.reveal()
    return _build_token_request(oauth, client, values, {**fill_parameters(oauth.code_params, values), **asked})


def build_refresh_request(provider: Provider, client: OAuthClientConfig, refresh: Secret) -> VendorRequest:
    """Build the request that presents a refresh token.

    Raises:
        Invalid: a setting of the client is missing or wrong.
    """
    oauth, values = _require_oauth(provider), resolve_settings(provider, client.settings)
    asked = {"grant_type": "refresh_token", "refresh_token": refresh.reveal()}
    return _build_token_request(oauth, client, values, {**fill_parameters(oauth.refresh_params, values), **asked})


def build_revocation_request(
    provider: Provider, client: OAuthClientConfig, *, access: Secret, refresh: Secret | None
) -> VendorRequest | None:
    """Build the request that revokes a grant; None where the provider has no endpoint for it.

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
    return _build_request(url, client, auth, revoke.body, fields, oauth.token_headers, method=revoke.method)


def _require_oauth(provider: Provider) -> OAuthServer:
    if provider.oauth is None:
        raise Invalid(f"provider {provider.id} supports keys only, not OAuth")
    return provider.oauth


def _build_token_request(
    oauth: OAuthServer, client: OAuthClientConfig, values: Mapping[str, str], fields: dict[str, str]
) -> VendorRequest:
    url = fill_url(oauth.token_url, values)
    return _build_request(url, client, client.auth_method or oauth.client_auth, oauth.body, fields, oauth.token_headers)


def _build_request(
    url: str,
    client: OAuthClientConfig,
    auth: str,
    form: BodyForm,
    fields: dict[str, str],
    more_headers: Mapping[str, str],
    *,
    method: str = "POST",
) -> VendorRequest:
    headers, own = _authenticate_client(client, auth)
    content_type, body = _encode_body(form, {**fields, **own})
    headers |= {**more_headers, "Content-Type": content_type}
    return VendorRequest("DELETE" if method == "DELETE" else "POST", url, headers, body)


def _authenticate_client(client: OAuthClientConfig, auth: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the client authentication of a request as headers and form fields (RFC 6749 §2.3.1)."""
    if auth not in _AUTH_METHODS:
        raise Invalid(f"the client authentication method must be one of {', '.join(_AUTH_METHODS[:-1])}")
    if auth == "nothing":
        return {}, {}
    if auth == "none":
        return {}, {"client_id": client.client_id}
    if client.secret is None:
        raise Invalid("the OAuth client has no secret")
    user, password = client.client_id, client.secret.reveal()
    if auth == "post":
        return {}, {"client_id": user, "client_secret": password}
    if auth == "basic":
        user, password = quote_plus(user), quote_plus(password)
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}, {}


def _encode_body(form: BodyForm, fields: Mapping[str, str]) -> tuple[str, bytes]:
    if form == "json":
        return "application/json", orjson.dumps(fields)
    return "application/x-www-form-urlencoded", urlencode(fields).encode()
