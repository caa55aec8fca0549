"""Mandates at a server: what works in people's absence."""

from datetime import datetime
from uuid import UUID

import msgspec

from cli.client.admin_api import AdminApiClient
from cli.client.users import resolve_owner_query


class MandateRow(msgspec.Struct, frozen=True):
    """A user's permission to use tools in their absence."""

    id: UUID
    user_email: str
    purpose: str
    title: str
    tools: tuple[str, ...]
    client: str
    created_at: datetime
    consented_at: datetime | None
    expires_at: datetime
    last_used_at: datetime | None


def fetch_mandates(api: AdminApiClient, user: str | None, *, all_owners: bool) -> list[MandateRow]:
    """Fetch live mandates, newest first: one's own, those of a user, or all of the tenant."""
    return list(api.iterate("/mandates", MandateRow, **resolve_owner_query(api, user, all_owners=all_owners)))


def revoke_mandate(api: AdminApiClient, mandate_id: UUID) -> None:
    """Revoke a mandate: what works by it ends within a second."""
    missing = "there is no such live mandate; `mcpist mandate list` shows them"
    api.delete("/mandates/{}", str(mandate_id), missing=missing)
