"""OAuth apps at vendors, at a server."""

from collections.abc import Mapping, Sequence

import msgspec

from broker.connect.oauth_clients import OAuthClient
from core.directory.farewell import Goodbye
from core.errors import NotFound
from core.secret import Secret
from gateway.cli.remote.api import Api
from gateway.cli.remote.removed import left
from gateway.cli.remote.roles import role_of


class _Made(msgspec.Struct, frozen=True):
    redirect_uri: str


def oauth_clients(api: Api) -> list[OAuthClient]:
    """All of them, by provider."""
    return list(api.all("/oauth-clients", OAuthClient))


def register(
    api: Api,
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
        "role_id": None if role is None else str(role_of(api, role).id),
        "client_id": client_id,
        "client_secret": None if secret is None else secret.reveal(),
        "auth_method": auth_method,
        "settings": settings,
    }
    missing = "there is no such provider; `mcpist provider list` shows them"
    answer = api.change("PUT", "/oauth-clients", body, missing=missing)
    return msgspec.convert(answer.json(), _Made).redirect_uri


def remove(api: Api, provider: str, role: str | None) -> Sequence[Goodbye]:
    """Forget one; which of the accounts that it has connected live on at their vendor.

    Raises:
        NotFound: there is none for that provider, or for that role.
    """
    role_id = None if role is None else role_of(api, role).id
    for one in oauth_clients(api):
        if (one.provider, one.role_id) == (provider, role_id):
            return left(api.delete("/oauth-clients/{}", str(one.id)))
    raise NotFound("there is no such OAuth app; `mcpist oauth-client list` shows them")
