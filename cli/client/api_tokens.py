"""API tokens: a person makes them for themselves, after a new sign-in; the operator for a user."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from broker.identity.api_tokens import ApiToken
from cli.client.admin_api import AdminApiClient
from cli.client.me import fetch_profile
from cli.client.users import fetch_user, resolve_user
from core.errors import Forbidden
from core.known_clients import ToolResultFormat
from core.secret import Secret


class _CreatedToken(msgspec.Struct):
    id: str
    token: str


def create_token(
    api: AdminApiClient,
    user: str | None,
    name: str,
    scopes: Sequence[str],
    read_only: bool,
    expires_at: datetime | None,
    tool_result_format: ToolResultFormat | None,
    result_tokens: int | None = None,
    tool_exposure: str | None = None,
) -> tuple[str, Secret, str]:
    """Create a token; return its id, the token and its owner's address.

    Raises:
        Forbidden: it is for another user.
    """
    body: dict[str, Any] = {"name": name, "scopes": sorted(scopes), "read_only": read_only, "expires_at": expires_at}
    if api.is_operator:
        owner = resolve_user(api, user)
        email, body["user_id"] = owner.email, str(owner.id)
    else:
        email = fetch_profile(api).email
        if user is not None and user.lower() != email:
            raise Forbidden(f"at a server people make tokens for themselves, and you are {email}: leave out --user")
    if tool_result_format is not None:  # a server of before it knows no such field
        body["tool_result_format"] = tool_result_format
    if result_tokens is not None:  # the same
        body["result_tokens"] = result_tokens
    if tool_exposure is not None:  # the same
        body["tool_exposure"] = tool_exposure
    created, _ = api.create("/tokens", _CreatedToken, body)
    return created.id, Secret(created.token), email


def fetch_tokens(api: AdminApiClient, user: str | None) -> list[ApiToken]:
    """Return one's own tokens, or for administrators those of a user; newest first.

    The operator gets those of all users where none is named.
    """
    if api.is_operator:
        query = {"all_owners": "true"} if user is None else {"user": str(fetch_user(api, user).id)}
        return list(api.iterate("/tokens", ApiToken, **query))
    owner = None if user is None or user.lower() == fetch_profile(api).email else str(fetch_user(api, user).id)
    return list(api.iterate("/tokens", ApiToken, user=owner))


def revoke_token(api: AdminApiClient, token_id: str) -> None:
    """End a token."""
    api.delete(
        "/tokens/{}", token_id, missing=f"there is no live token {token_id[:100]}; `mcpist token list` shows them"
    )
