"""OAuth apps at vendors, at a server."""

from collections.abc import Mapping, Sequence

import msgspec

from broker.connections.oauth_client_store import OAuthClient
from cli.client.admin_api import AdminApiClient, parse_remaining_accounts
from cli.client.roles import fetch_role
from core.directory.account_revocation import RevocationResult
from core.errors import NotFound
from core.secret import Secret


class _RegisteredView(msgspec.Struct, frozen=True):
    redirect_uri: str


class OAuthClientTestResult(msgspec.Struct, frozen=True):
    """Result of testing a client; `message` is for people."""

    outcome: str
    cause: str
    message: str


def fetch_oauth_clients(api: AdminApiClient) -> list[OAuthClient]:
    """Fetch all of them, by provider."""
    return list(api.iterate("/oauth-clients", OAuthClient))


def register_oauth_client(
    api: AdminApiClient,
    provider: str,
    role: str | None,
    client_id: str,
    secret: Secret | None,
    auth_method: str,
    settings: Mapping[str, str] | None,
) -> str:
    """Register one; the redirect URI that it has to have."""
    body = {
        "provider": provider,
        "role_id": None if role is None else str(fetch_role(api, role).id),
        "client_id": client_id,
        "client_secret": None if secret is None else secret.reveal(),
        "auth_method": auth_method,
        "settings": settings,
    }
    missing = "there is no such provider; `mcpist provider list` shows them"
    response = api.change("PUT", "/oauth-clients", body, missing=missing)
    return msgspec.convert(response.json(), _RegisteredView).redirect_uri


def check_oauth_client(api: AdminApiClient, provider: str, role: str | None) -> OAuthClientTestResult:
    """Ask the provider whether it takes a client.

    Raises:
        NotFound: there is none for that provider, or for that role.
    """
    oauth_client = _find_oauth_client(api, provider, role)
    response = api.change("POST", "/oauth-clients/{}/test", {}, str(oauth_client.id))
    return msgspec.convert(response.json(), OAuthClientTestResult)


def remove_oauth_client(api: AdminApiClient, provider: str, role: str | None) -> Sequence[RevocationResult]:
    """Remove an OAuth client; return the connected accounts that stay active at the vendor.

    Raises:
        NotFound: there is none for that provider, or for that role.
    """
    oauth_client = _find_oauth_client(api, provider, role)
    return parse_remaining_accounts(api.delete("/oauth-clients/{}", str(oauth_client.id)))


def _find_oauth_client(api: AdminApiClient, provider: str, role: str | None) -> OAuthClient:
    role_id = None if role is None else fetch_role(api, role).id
    for oauth_client in fetch_oauth_clients(api):
        if (oauth_client.provider, oauth_client.role_id) == (provider, role_id):
            return oauth_client
    raise NotFound("there is no such OAuth app; `mcpist oauth-client list` shows them")
