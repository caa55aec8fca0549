"""The requests that a provider's data and an OAuth client make together. They hold secrets."""

import base64
from collections.abc import Mapping
from urllib.parse import quote_plus, urlencode

import orjson

from broker.providers.model import BodyForm, OAuth, Provider
from broker.providers.templates import filled_parameters, filled_url, settings_of
from broker.vendor_oauth.exchange import VendorClient
from broker.vendor_oauth.wire import Request
from core.errors import Invalid
from core.secret import Secret

_AUTH_METHODS = ("basic", "basic_raw", "post", "none", "nothing")


def code_request(
    provider: Provider, client: VendorClient, code: Secret, redirect_uri: str, verifier: Secret | None
) -> Request:
    """Redeem a code; `verifier` is left out where the provider knows no PKCE.

    Raises:
        Invalid: a setting of the client is missing or wrong.
    """
    oauth, values = _oauth(provider), settings_of(provider, client.settings)
    asked = {"grant_type": "authorization_code", "code": code.reveal(), "redirect_uri": redirect_uri}
    if verifier is not None and oauth.pkce != "none":
        asked["code_verifier"] = verifier.reveal()
    return _token_request(oauth, client, values, {**filled_parameters(oauth.code_params, values), **asked})


def refresh_request(provider: Provider, client: VendorClient, refresh: Secret) -> Request:
    """Present a refresh token.

    Raises:
        Invalid: a setting of the client is missing or wrong.
    """
    oauth, values = _oauth(provider), settings_of(provider, client.settings)
    asked = {"grant_type": "refresh_token", "refresh_token": refresh.reveal()}
    return _token_request(oauth, client, values, {**filled_parameters(oauth.refresh_params, values), **asked})


def revoke_request(
    provider: Provider, client: VendorClient, *, access: Secret, refresh: Secret | None
) -> Request | None:
    """End a grant; None where the provider has no way to.

    Raises:
        Invalid: a setting of the client is missing or wrong.
    """
    oauth, values = _oauth(provider), settings_of(provider, client.settings)
    revoke = oauth.revoke
    url = filled_url(revoke.url, values, client_id=client.client_id) if revoke else ""
    if revoke is None or not url:
        return None
    token, kind = (refresh, "refresh_token") if revoke.sends == "refresh" and refresh else (access, "access_token")
    fields = {revoke.field: token.reveal()}
    if revoke.hint:
        fields["token_type_hint"] = kind
    auth = revoke.auth or client.auth_method or oauth.client_auth
    return _request(url, client, auth, revoke.body, fields, oauth.token_headers, method=revoke.method)


def _oauth(provider: Provider) -> OAuth:
    if provider.oauth is None:
        raise Invalid(f"{provider.id} has keys and no OAuth server")
    return provider.oauth


def _token_request(oauth: OAuth, client: VendorClient, values: Mapping[str, str], fields: dict[str, str]) -> Request:
    url = filled_url(oauth.token_url, values)
    return _request(url, client, client.auth_method or oauth.client_auth, oauth.body, fields, oauth.token_headers)


def _request(
    url: str,
    client: VendorClient,
    auth: str,
    form: BodyForm,
    fields: dict[str, str],
    more_headers: Mapping[str, str],
    *,
    method: str = "POST",
) -> Request:
    headers, own = _client_authentication(client, auth)
    content_type, body = _body(form, {**fields, **own})
    headers |= {**more_headers, "Content-Type": content_type}
    return Request("DELETE" if method == "DELETE" else "POST", url, headers, body)


def _client_authentication(client: VendorClient, auth: str) -> tuple[dict[str, str], dict[str, str]]:
    """What proves our client, as headers and as fields (RFC 6749 §2.3.1)."""
    if auth not in _AUTH_METHODS:
        raise Invalid(f"a client authenticates by one of {', '.join(_AUTH_METHODS[:-1])}")
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


def _body(form: BodyForm, fields: Mapping[str, str]) -> tuple[str, bytes]:
    if form == "json":
        return "application/json", orjson.dumps(fields)
    return "application/x-www-form-urlencoded", urlencode(fields).encode()
