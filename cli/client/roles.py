"""Roles at a server."""

from collections.abc import Mapping, Sequence
from typing import Any

from cli.client.admin_api import AdminApiClient, parse_remaining_accounts
from core.directory.account_revocation import RevocationResult
from core.directory.roles import RoleRecord, validate_role
from core.directory.users import User
from core.errors import Conflict, NotFound
from core.permissions import parse_permission


def fetch_roles(api: AdminApiClient) -> list[RoleRecord]:
    """Fetch the tenant's roles, the highest priority first."""
    return list(api.iterate("/roles", RoleRecord))


def fetch_role(api: AdminApiClient, name: str) -> RoleRecord:
    """Fetch the role of a name.

    Raises:
        NotFound: there is none.
    """
    for role in api.iterate("/roles", RoleRecord):
        if role.name == name:
            return role
    raise NotFound(f"there is no role {name[:100]!r}; `mcpist role list` shows them")


def fetch_role_members(api: AdminApiClient, role: RoleRecord) -> list[str]:
    """Fetch the addresses of those who have a role."""
    return [user.email for user in api.iterate("/roles/{}/users", User, str(role.id))]


def fetch_model_view(api: AdminApiClient, name: str) -> dict[str, Any]:
    """Fetch what a model is shown for somebody who has this role alone, and its cost in tokens."""
    return api.get("/roles/{}/model-view", dict[str, Any], str(fetch_role(api, name).id))


def create_role(api: AdminApiClient, name: str, priority: int, tool_exposure: str | None = None) -> None:
    """Make a role without permissions.

    Raises:
        Conflict: there is one of that name.
    """
    validate_role(name, priority)
    body: dict[str, str | int] = {"name": name, "priority": priority}
    if tool_exposure is not None:  # a server of before it knows no such field
        body["tool_exposure"] = tool_exposure
    _, new = api.create("/roles", RoleRecord, body)
    if not new:
        raise Conflict(f"there is a role {name!r} already")


def change_role(api: AdminApiClient, name: str, changes: Mapping[str, str | int | None]) -> RoleRecord:
    """Change a role's name, priority or exposure of tools; the role as it is now.

    Raises:
        Conflict: there is one of the new name.
    """
    role = fetch_role(api, name)
    api.change("PATCH", "/roles/{}", changes, str(role.id))
    return api.get("/roles/{}", RoleRecord, str(role.id))


def delete_role(api: AdminApiClient, name: str) -> Sequence[RevocationResult]:
    """Delete a role; return its shared accounts that stay active at vendors."""
    role = fetch_role(api, name)
    return parse_remaining_accounts(api.delete("/roles/{}", str(role.id), missing=f"there is no role {name[:100]!r}"))


def grant(api: AdminApiClient, name: str, effect: str, permission: str, *, allow_unknown: bool = False) -> None:
    """Add a permission to what a role allows or denies; one that matches no tool there only if `allow_unknown`."""
    body = {"add": {effect: [parse_permission(permission)]}, "allow_unknown": allow_unknown}
    api.change("PATCH", "/roles/{}/permissions", body, str(fetch_role(api, name).id))


def revoke(api: AdminApiClient, name: str, permission: str) -> None:
    """Take a permission out of what a role allows and denies.

    Raises:
        NotFound: it has no such permission.
    """
    parsed, role = parse_permission(permission), fetch_role(api, name)
    if parsed not in (*role.allow, *role.deny):
        raise NotFound(f"role {name!r} has no permission {parsed}")
    body = {"remove": {"allow": [parsed], "deny": [parsed]}}
    api.change("PATCH", "/roles/{}/permissions", body, str(role.id))
