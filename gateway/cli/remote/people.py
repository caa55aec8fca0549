"""Users, their roles and the allow list at a server; named as a person names them, by address and name."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from core.directory.allow_list import AllowListEntry, checked_entry
from core.directory.farewell import Goodbye
from core.directory.users import User, checked_email
from core.errors import Conflict, Invalid, NotFound
from core.secret import Secret
from gateway.cli.remote.api import Api
from gateway.cli.remote.removed import left
from gateway.cli.remote.roles import role_of


class _Link(msgspec.Struct):
    url: str
    expires_at: datetime


class _Entry(msgspec.Struct):
    entry: str


def users(api: Api) -> list[User]:
    """All of them, by address."""
    return list(api.all("/users", User))


def user_of(api: Api, email: str) -> User:
    """The user of an address.

    Raises:
        NotFound: there is none.
    """
    wanted = checked_email(email)
    for one in api.all("/users", User):
        if one.email == wanted:
            return one
    raise NotFound(f"there is no user {email}; `mcpist user list` shows them")


def create_user(api: Api, email: str, name: str, system_role: str, roles: tuple[str, ...]) -> User:
    """Make a user with roles, all of which are there.

    Raises:
        Conflict: the tenant has this user already.
        NotFound: a role does not exist.
    """
    given = [role_of(api, role) for role in roles]
    body = {"email": checked_email(email), "name": name, "system_role": system_role}
    made, new = api.make("/users", User, body)
    if not new:
        raise Conflict(f"there is a user {made.email} already")
    for role in given:
        api.change("PUT", "/users/{}/roles/{}", None, str(made.id), str(role.id))
    return api.get("/users/{}", User, str(made.id))


def set_status(api: Api, email: str, status: str) -> None:
    """Suspend a user, or let them in again."""
    api.change("PATCH", "/users/{}", {"status": status}, str(user_of(api, email).id))


def remove_user(api: Api, email: str) -> Sequence[Goodbye]:
    """Delete a user; which of their accounts live on at vendors.

    Raises:
        Conflict: they are the tenant's last active administrator.
    """
    return left(api.delete("/users/{}", str(user_of(api, email).id), missing=f"there is no user {email} any more"))


def assign_role(api: Api, email: str, role: str) -> None:
    """Give a user a role."""
    api.change("PUT", "/users/{}/roles/{}", None, str(user_of(api, email).id), str(role_of(api, role).id))


def unassign_role(api: Api, email: str, role: str) -> None:
    """Take a role from a user."""
    api.change("DELETE", "/users/{}/roles/{}", None, str(user_of(api, email).id), str(role_of(api, role).id))


def link(api: Api, email: str) -> tuple[str, Secret]:
    """A link that signs a user in, and whom."""
    user = user_of(api, email)
    if user.status != "active":
        raise Invalid(f"{user.email} is suspended; `mcpist user resume {user.email}` lets them in again")
    made, _ = api.make("/users/{}/sign-in-link", _Link, {}, str(user.id))
    return user.email, Secret(made.url)


def entries(api: Api) -> list[AllowListEntry]:
    """The allow list."""
    return list(api.all("/allow-list", AllowListEntry))


def add_entry(api: Api, entry: str) -> str:
    """Let an address or a domain in; the entry as it is stored."""
    answer = api.change("PUT", "/allow-list/{}", None, checked_entry(entry))
    return msgspec.json.decode(answer.body, type=_Entry).entry


def remove_entry(api: Api, entry: str) -> str:
    """Take an entry away."""
    stored = checked_entry(entry)
    missing = f"the allow list has no entry {stored}; `mcpist allow list` shows them"
    api.delete("/allow-list/{}", stored, missing=missing)
    return stored
