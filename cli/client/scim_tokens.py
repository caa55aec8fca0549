"""SCIM tokens of a tenant, at a server."""

from datetime import datetime
from uuid import UUID

import msgspec

from cli.client.admin_api import AdminApiClient
from core.secret import Secret


class ScimTokenEntry(msgspec.Struct, frozen=True):
    """A token without its secret."""

    id: UUID
    name: str
    created_at: datetime
    last_used_at: datetime | None


class _CreatedToken(msgspec.Struct):
    id: UUID
    token: str


def fetch_scim_tokens(api: AdminApiClient) -> list[ScimTokenEntry]:
    """Fetch all of them, newest first."""
    return list(api.iterate("/scim-tokens", ScimTokenEntry))


def create_scim_token(api: AdminApiClient, name: str) -> tuple[UUID, Secret]:
    """Make one; its id and its text."""
    created, _ = api.create("/scim-tokens", _CreatedToken, {"name": name})
    return created.id, Secret(created.token)


def remove_scim_token(api: AdminApiClient, token_id: str) -> None:
    """End one."""
    missing = "there is no such SCIM token; `mcpist scim-token list` shows them"
    api.delete("/scim-tokens/{}", token_id, missing=missing)
