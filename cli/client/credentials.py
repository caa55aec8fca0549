"""Credentials at a server: one's own, and for administrators those that roles share."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from broker.connections.api_keys import PastedKey
from broker.disconnect.disconnect_service import DisconnectResult
from cli.client.admin_api import AdminApiClient
from cli.client.me import fetch_profile
from cli.client.roles import fetch_role
from core.errors import Forbidden, Invalid, NotFound


class RemoteCredential(msgspec.Struct, frozen=True):
    """All that may be shown of a credential."""

    id: UUID
    module: str
    type: str
    provider: str
    kind: str
    owner: str
    account: str
    state: str
    cause: str
    created_at: datetime
    updated_at: datetime
    last_used_at: datetime | None


class _StoredView(msgspec.Struct, frozen=True):
    module: str
    account: str
    replaced: bool
    previous_account: str | None


def fetch_credentials(api: AdminApiClient, module: str | None = None) -> list[RemoteCredential]:
    """Everybody's, for an administrator; else one's own and those that one's roles share."""
    administers = fetch_profile(api).system_role == "admin"
    found = api.iterate("/credentials", RemoteCredential, all_owners="true" if administers else None)
    return [one for one in found if module in (None, one.module)]


def check_owner(api: AdminApiClient, user: str | None) -> None:
    """People give their own keys.

    Raises:
        Forbidden: it shall be somebody else's.
    """
    mine = fetch_profile(api).email
    if user is not None and user.lower() != mine:
        raise Forbidden(f"at a server people give their own keys, and you are {mine}: they can do it at /connect")


def store_credential(
    api: AdminApiClient,
    module: str,
    user: str | None,
    role: str | None,
    pasted: PastedKey,
    *,
    test: bool,
    replace_account: bool,
) -> Mapping[str, Any]:
    """Store a key, which the server has checked at the vendor; what is printed.

    Raises:
        Invalid: the vendor shall not be asked.
    """
    if not test:
        raise Invalid("at a server the vendor is always asked: leave out --no-test")
    check_owner(api, user)
    role_id = None if role is None else str(fetch_role(api, role).id)
    body = {
        "secret": pasted.secret.reveal(),
        "username": pasted.user,
        "provider": pasted.provider,
        "role_id": role_id,
        "allow_account_change": replace_account,
    }
    missing = f"there is no service {module[:100]!r} that takes a key, for you or that role"
    answer = api.change("PUT", "/services/{}/credential", body, module, missing=missing)
    stored = msgspec.convert(answer.json(), _StoredView)
    return {
        "module": stored.module,
        "owner": user or f"role {role}",
        "account": stored.account,
        "tested": True,
        "replaced": stored.replaced,
        "previous_account": stored.previous_account,
    }


def remove_credential(api: AdminApiClient, module: str, user: str | None, role: str | None) -> DisconnectResult:
    """End a credential; whether the vendor of the account was told.

    Raises:
        NotFound: there is none.
    """
    wanted = ("shared", role) if user is None else ("personal", user.lower())
    for one in fetch_credentials(api, module):
        if (one.kind, one.owner) == wanted:
            told = api.delete("/credentials/{}", str(one.id)).json()
            return DisconnectResult((module,), told["revocation"], str(told["manage_url"]), one.provider, one.account)
    raise NotFound(f"there is no such credential for {module[:63]!r}; `mcpist credential list` shows them")
