"""Grants at a server: the clients that people have let in."""

from datetime import datetime
from uuid import UUID

import msgspec

from cli.client.admin_api import AdminApiClient
from cli.client.users import resolve_owner_query


class GrantRow(msgspec.Struct, frozen=True):
    """Access that a user has granted to an OAuth client."""

    id: UUID
    kind: str
    client_id: str
    client_name: str
    user_email: str
    scopes: tuple[str, ...]
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime


def fetch_grants(api: AdminApiClient, user: str | None, *, all_owners: bool) -> list[GrantRow]:
    """Fetch live grants, newest first: one's own, those of a user, or all of the tenant."""
    query = resolve_owner_query(api, user, all_owners=all_owners)
    return list(api.iterate("/oauth/grants", GrantRow, **query))


def revoke_grant(api: AdminApiClient, grant_id: UUID) -> None:
    """Revoke a grant: its tokens end within a second."""
    missing = "there is no such live grant; `mcpist grant list` shows them"
    api.delete("/oauth/grants/{}", str(grant_id), missing=missing)
