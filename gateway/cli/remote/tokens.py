"""API tokens at a server: a person makes them for themselves, after a new sign-in."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from broker.identity.api_tokens import ApiToken
from core.errors import Forbidden
from core.known_clients import ResultText
from core.secret import Secret
from gateway.cli.remote.api import Api
from gateway.cli.remote.me import me
from gateway.cli.remote.people import user_of


class _Made(msgspec.Struct):
    id: str
    token: str


def create_token(
    api: Api,
    user: str | None,
    name: str,
    scopes: Sequence[str],
    read_only: bool,
    expires_at: datetime | None,
    result_text: ResultText | None,
) -> tuple[str, Secret, str]:
    """Make a token; its id, the token, and whose it is.

    Raises:
        Forbidden: it shall be somebody else's.
    """
    mine = me(api).email
    if user is not None and user.lower() != mine:
        raise Forbidden(f"at a server people make tokens for themselves, and you are {mine}: leave out --user")
    body = {"name": name, "scopes": sorted(scopes), "read_only": read_only, "expires_at": expires_at}
    if result_text is not None:  # a server of before it knows no such field
        body["result_text"] = result_text
    made, _ = api.make("/tokens", _Made, body)
    return made.id, Secret(made.token), mine


def tokens(api: Api, user: str | None) -> list[ApiToken]:
    """One's own tokens, or for administrators those of a user; newest first."""
    owner = None if user is None or user.lower() == me(api).email else str(user_of(api, user).id)
    return list(api.all("/tokens", ApiToken, user=owner))


def revoke_token(api: Api, token_id: str) -> None:
    """End a token."""
    api.delete(
        "/tokens/{}", token_id, missing=f"there is no live token {token_id[:100]}; `mcpist token list` shows them"
    )
