"""Roles by groups and domains, at a server."""

from cli.client.admin_api import AdminApiClient
from cli.client.roles import fetch_role
from core.directory.role_mappings import MappingKind, RoleMapping


def fetch_role_mappings(api: AdminApiClient) -> list[RoleMapping]:
    """Fetch all of them, the oldest first."""
    return list(api.iterate("/role-mappings", RoleMapping))


def add_role_mapping(api: AdminApiClient, role: str, kind: MappingKind, provider: str, value: str) -> RoleMapping:
    """Map a group or a domain to a role."""
    body = {"kind": kind, "provider": provider, "value": value, "role_id": str(fetch_role(api, role).id)}
    return api.create("/role-mappings", RoleMapping, body)[0]


def remove_role_mapping(api: AdminApiClient, mapping_id: str) -> None:
    """Remove a mapping."""
    missing = "there is no such mapping; `mcpist role-mapping list` shows them"
    api.delete("/role-mappings/{}", mapping_id, missing=missing)
