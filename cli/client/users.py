"""Users, their roles, browser sessions and the allow list at a server; identified by address and name."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from broker.identity.browser_sessions import SessionEntry
from cli.client.admin_api import AdminApiClient, parse_remaining_accounts
from cli.client.me import fetch_profile
from cli.client.roles import fetch_role
from core.directory.account_revocation import RevocationResult
from core.directory.allow_list import AllowListEntry, normalize_entry
from core.directory.users import User, normalize_email
from core.errors import Conflict, Invalid, NotFound
from core.secret import Secret


class _SignInLinkView(msgspec.Struct):
    url: str
    expires_at: datetime


class _EntryView(msgspec.Struct):
    entry: str


def fetch_users(api: AdminApiClient) -> list[User]:
    """Fetch all of them, by address."""
    return list(api.iterate("/users", User))


def fetch_user(api: AdminApiClient, email: str) -> User:
    """Fetch the user of an address.

    Raises:
        NotFound: there is none.
    """
    normalized = normalize_email(email)
    for user in api.iterate("/users", User):
        if user.email == normalized:
            return user
    raise NotFound(f"there is no user {email}; `mcpist user list` shows them")


def resolve_user(api: AdminApiClient, email: str | None) -> User:
    """Return the named user, else the tenant's only administrator.

    Raises:
        NotFound: the tenant has no such user.
        Invalid: none was named, and there is not exactly one administrator; or the user is suspended.
    """
    user = fetch_user(api, email) if email is not None else _get_only_administrator(fetch_users(api))
    _refuse_suspended(user)
    return user


def resolve_owner_query(api: AdminApiClient, user: str | None, *, all_owners: bool) -> dict[str, str]:
    """Return the query for lists of what belongs to somebody: one's own, a user's or everybody's. The operator, who is
    no user, gets everybody's where none is named.

    Raises:
        Invalid: a user and everybody.
        NotFound: there is no such user.
    """
    if user is not None and all_owners:
        raise Invalid("--all goes without --user")
    if user is not None:
        own = not api.is_operator and normalize_email(user) == fetch_profile(api).email
        return {} if own else {"user": str(fetch_user(api, user).id)}
    return {"all_owners": "true"} if all_owners or api.is_operator else {}


def create_user(api: AdminApiClient, email: str, name: str, system_role: str, roles: tuple[str, ...]) -> User:
    """Make a user with roles, all of which are there.

    Raises:
        Conflict: the tenant has this user already.
        NotFound: a role does not exist.
    """
    role_records = [fetch_role(api, role) for role in roles]
    body = {"email": normalize_email(email), "name": name, "system_role": system_role}
    user, new = api.create("/users", User, body)
    if not new:
        raise Conflict(f"there is a user {user.email} already")
    for role in role_records:
        api.change("PUT", "/users/{}/roles/{}", None, str(user.id), str(role.id))
    return api.get("/users/{}", User, str(user.id))


def set_status(api: AdminApiClient, email: str, status: str) -> None:
    """Suspend a user, or let them in again."""
    api.change("PATCH", "/users/{}", {"status": status}, str(fetch_user(api, email).id))


def change_user(api: AdminApiClient, email: str, changes: Mapping[str, str]) -> User:
    """Change a user's fields; the user as they are now.

    Raises:
        Conflict: the tenant's last active administrator would be none any more.
    """
    user = fetch_user(api, email)
    api.change("PATCH", "/users/{}", changes, str(user.id))
    return api.get("/users/{}", User, str(user.id))


def fetch_model_view_of_user(api: AdminApiClient, email: str) -> dict[str, Any]:
    """Fetch what a model is shown for a user, by all of their roles, and its cost in tokens."""
    return api.get("/users/{}/model-view", dict[str, Any], str(fetch_user(api, email).id))


def remove_user(api: AdminApiClient, email: str) -> Sequence[RevocationResult]:
    """Delete a user; return the accounts that stay active at vendors.

    Raises:
        Conflict: they are the tenant's last active administrator.
    """
    return parse_remaining_accounts(
        api.delete("/users/{}", str(fetch_user(api, email).id), missing=f"there is no user {email}")
    )


def assign_role(api: AdminApiClient, email: str, role: str) -> None:
    """Give a user a role."""
    api.change("PUT", "/users/{}/roles/{}", None, str(fetch_user(api, email).id), str(fetch_role(api, role).id))


def unassign_role(api: AdminApiClient, email: str, role: str) -> None:
    """Take a role from a user."""
    api.change("DELETE", "/users/{}/roles/{}", None, str(fetch_user(api, email).id), str(fetch_role(api, role).id))


def request_sign_in_link(api: AdminApiClient, email: str) -> tuple[str, Secret]:
    """Request a sign-in link; return the user's address and the link."""
    user = resolve_user(api, email)
    link, _ = api.create("/users/{}/sign-in-link", _SignInLinkView, {}, str(user.id))
    return user.email, Secret(link.url)


def fetch_allow_list(api: AdminApiClient) -> list[AllowListEntry]:
    """Fetch the allow list."""
    return list(api.iterate("/allow-list", AllowListEntry))


def add_entry(api: AdminApiClient, entry: str) -> str:
    """Let an address or a domain in; the entry as it is stored."""
    response = api.change("PUT", "/allow-list/{}", None, normalize_entry(entry))
    return msgspec.json.decode(response.body, type=_EntryView).entry


def remove_entry(api: AdminApiClient, entry: str) -> str:
    """Take an entry away."""
    normalized = normalize_entry(entry)
    missing = f"the allow list has no entry {normalized}; `mcpist allow list` shows them"
    api.delete("/allow-list/{}", normalized, missing=missing)
    return normalized


def _get_only_administrator(users: Sequence[User]) -> User:
    administrators = [user for user in users if user.system_role == "admin"]
    if len(administrators) == 1:
        return administrators[0]
    emails = ", ".join(user.email for user in administrators[:10]) or "none"
    raise Invalid(f"the tenant has not exactly one administrator ({emails}); choose a user with --user EMAIL")


def _refuse_suspended(user: User) -> None:
    if user.status != "active":
        raise Invalid(f"{user.email} is suspended; `mcpist user resume {user.email}` lets them in again")


def fetch_sessions(api: AdminApiClient, user: str | None) -> tuple[str, list[SessionEntry]]:
    """Return the owner and the live sessions, newest first."""
    if api.is_operator:
        owner = resolve_user(api, user)
    else:
        profile = fetch_profile(api)
        if user is None or user.lower() == profile.email:
            return profile.email, list(api.iterate("/sessions", SessionEntry))
        owner = fetch_user(api, user)
    return owner.email, list(api.iterate("/sessions", SessionEntry, user=str(owner.id)))


def end_all_sessions(api: AdminApiClient, user: str | None) -> None:
    """End all of one's own browser sessions, or those of a user."""
    owner = resolve_user(api, user) if api.is_operator or user is not None else None
    api.delete("/sessions", user=None if owner is None else str(owner.id))


def end_session(api: AdminApiClient, session_id: str) -> None:
    """End a session at once."""
    api.delete("/sessions/{}", session_id, missing="there is no such live session; `mcpist session list` shows them")
