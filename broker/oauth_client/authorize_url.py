"""Authorization URL that the browser is redirected to (RFC 6749 §4.1.1, RFC 7636)."""

import base64
import hashlib
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from broker.oauth_client.types import OAuthClientConfig
from broker.oauth_client.vendor_scopes import join_scopes
from broker.providers.schema import Provider
from broker.providers.templates import fill_parameters, fill_template, fill_url, resolve_settings
from core.errors import Invalid
from core.secret import Secret


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
    asked = dict(parse_qsl(parts.query, keep_blank_values=True)) | fill_parameters(oauth.authorize_params, values)
    asked |= {"response_type": "code", "client_id": client.client_id, "redirect_uri": redirect_uri, "state": state}
    if scope := join_scopes(oauth, scopes):
        asked["scope"] = scope
    if verifier is not None and oauth.pkce == "S256":
        asked |= {"code_challenge": compute_code_challenge(verifier), "code_challenge_method": "S256"}
    if login_hint:
        asked["login_hint"] = login_hint
    return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(asked), ""))


def get_expected_issuer(provider: Provider, client: OAuthClientConfig) -> str:
    """Return the required ``iss`` of an authorization response (RFC 9207); "" if it is unknown.

    Raises:
        Invalid: a setting of the client is missing or wrong.
    """
    return fill_template(provider.oauth.issuer, resolve_settings(provider, client.settings)) if provider.oauth else ""


def compute_code_challenge(verifier: Secret) -> str:
    """Compute the S256 challenge of a verifier (RFC 7636 §4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.reveal().encode()).digest()).decode().rstrip("=")
